"""What a wheel requires, as pip resolves it for the running interpreter: wheels only, pinned by hash; nothing is run.

`pip install --dry-run --report` reads the metadata of wheels and installs nothing; `--only-binary :all:` keeps it from
building an sdist. What it chose is then downloaded in one go, each file checked against its hash by pip and once more here.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name

from exe.errors import SourceError

from .fetch import check_reached, one_line, public_address, run_pip

_TOOL = (sys.executable, "-m", "pip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One package of a lock. `url` is None where the wheel came from a local folder."""

    name: str  # normalised
    version: str
    file: str
    sha256: str
    url: str | None


def resolve(wheel: Path, scratch: Path) -> tuple[Pin, ...]:
    """What `wheel` requires, and what that requires, sorted by name. `scratch` is an existing folder.

    Raises SourceError where pip finds no solution made of wheels, or does not reach the index.
    """
    with tempfile.TemporaryDirectory(prefix="resolve-", dir=scratch) as folder:
        work = Path(folder)
        log, report = work / "pip.log", work / "report.json"
        command = ["install", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--quiet"]
        command += ["--target", str(work / "nowhere"), "--report", str(report), str(wheel)]
        done = run_pip([*_TOOL], command, work, log)
        if done.returncode != 0 or not report.is_file():
            check_reached(wheel.name, done, log)
            raise SourceError(f"{wheel.name}: {_complaint(done)}")
        rows = json.loads(report.read_text("utf-8"))["install"]
    pins = [_pin(row) for row in rows]
    itself = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return tuple(sorted((pin for pin in pins if pin.sha256 != itself), key=lambda pin: pin.name))


def _pin(row: Any) -> Pin:
    found, told = row["download_info"], row["metadata"]
    sha256 = found.get("archive_info", {}).get("hashes", {}).get("sha256")
    if sha256 is None:
        raise SourceError(f"{told['name']} {told['version']}: the index names no sha256 for it")
    return Pin(
        name=canonicalize_name(told["name"]),
        version=told["version"],
        file=unquote(urlsplit(found["url"]).path.rsplit("/", 1)[-1]),
        sha256=sha256,
        url=public_address(found["url"]),
    )


def download(pins: Iterable[Pin], into: Path) -> dict[Pin, Path]:
    """The wheels of `pins` as files in the folder `into`. Raises SourceError where one cannot be had with that hash."""
    wanted = tuple(pins)
    if not wanted:
        return {}
    lines = [f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n" for pin in wanted]
    listed, log = into / "requirements.txt", into / "pip.log"
    listed.write_text("".join(lines), "utf-8")
    command = ["download", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--dest", str(into)]
    command.append(f"--requirement={listed}")
    done = run_pip([*_TOOL], command, into, log)
    if done.returncode != 0:
        check_reached(wanted[0].name, done, log)
        raise SourceError(f"{', '.join(pin.name for pin in wanted)}: {_complaint(done)}")
    found = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in sorted(into.glob("*.whl"))}
    if lost := [pin.file for pin in wanted if pin.sha256 not in found]:
        raise SourceError(f"{lost[0]}: pip downloaded something else")
    return {pin: found[pin.sha256] for pin in wanted}


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The first error that pip told: the later ones say that it failed."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return one_line((errors or lines[-1:] or ["pip gave no reason"])[0])
