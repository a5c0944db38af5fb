"""What a worker needs of this machine's file system: the interpreter, its standard library, the C library. Nothing else."""

from __future__ import annotations

import functools
import json
import os
import struct
import subprocess
import sys
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_LIBRARIES = ("ld-", "ld.", "ld64", "libc.", "libc-", "libm.", "libm-", "libpython", "libdl", "libpthread", "libgcc_s")
_TOP_LINKS = ("/lib", "/lib64", "/lib32", "/libx32")
_PT_INTERP = 3
_ASKED_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Absolute paths on the host; a sandbox shows each of them under the same name, read-only."""

    executable: str
    home: str  # for PYTHONHOME
    folders: tuple[str, ...]  # to bind: standard library and shared libraries
    links: tuple[tuple[str, str], ...]  # (link, target) of a merged /usr
    hidden: tuple[str, ...]  # folders below those that must look empty
    library_path: str  # for LD_LIBRARY_PATH: without /proc, $ORIGIN does not resolve
    package: str  # the folder that holds the package `exe`


def find(python: str | None = None) -> Layout:
    """Look at the running interpreter, or at another one by its path. Works for system, pyenv and virtual-environment Pythons.

    Raises LookupError, in one line, where `python` is no CPython that can be asked.
    """
    return _own() if python is None else _other(os.path.abspath(python))


@functools.cache
def _other(python: str) -> Layout:
    """The other interpreter runs this very file."""
    command = [python, "-I", "-S", "-B", os.path.abspath(__file__)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_ASKED_SECONDS, check=True, cwd="/", env={})
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise LookupError(f"{python}: no Python that tells where it lies ({type(error).__name__})") from None
    found = {name: _frozen(value) for name, value in found.items()}
    return Layout(**found)


def _frozen(value: Any) -> Any:
    """Lists of JSON as the tuples that they were."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _own() -> Layout:
    executable = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    bases = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    names = ("stdlib", "platstdlib")
    standard = {
        os.path.realpath(sysconfig.get_path(name, vars={**bases, "installed_base": sys.base_prefix})) for name in names
    }
    loader = _interpreter_of(executable)
    libraries = {str(Path(path).parent) for path in _mapped_libraries()}
    private = os.path.join(sys.base_exec_prefix, "lib")
    if sys.base_exec_prefix not in ("/", "/usr", "/usr/local") and os.path.isdir(private):
        libraries.add(os.path.realpath(private))
    if loader is not None:
        libraries.add(os.path.dirname(os.path.realpath(loader)))
    libraries |= {path for path in ("/usr" + folder for folder in libraries) if os.path.isdir(path)}
    links = tuple((link, os.readlink(link)) for link in _TOP_LINKS if os.path.islink(link))
    folders = set(standard) | libraries
    if loader is not None:
        folders.add(os.path.realpath(os.path.dirname(loader)))
        if not any(loader.startswith(link + "/") for link, _ in links):
            folders.add(os.path.dirname(loader))
    hidden = {os.path.join(folder, name) for folder in standard for name in ("site-packages", "dist-packages", "test")}
    return Layout(
        executable=executable,
        home=f"{sys.base_prefix}:{sys.base_exec_prefix}",
        folders=_outermost(folders),
        links=links,
        hidden=tuple(sorted(path for path in hidden if os.path.isdir(path))),
        library_path=":".join(sorted(libraries)),
        package=str(Path(__file__).resolve().parents[2]),
    )


def _outermost(folders: set[str]) -> tuple[str, ...]:
    return tuple(sorted(f for f in folders if not any(f != g and f.startswith(g.rstrip("/") + "/") for g in folders)))


def _mapped_libraries() -> set[str]:
    """The C library and its like as this very process has them mapped."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return set()
    paths = {line.split(None, 5)[5] for line in lines if len(line.split(None, 5)) == 6}
    return {path for path in paths if path.startswith("/") and os.path.basename(path).startswith(_LIBRARIES)}


def _interpreter_of(executable: str) -> str | None:
    """The dynamic loader that an ELF file names (its PT_INTERP), None for a static or foreign file."""
    with open(executable, "rb") as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            return None
        offset, size, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
        file.seek(offset)
        table = file.read(size * count)
        for index in range(count):
            kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", table, index * size)
            if kind == _PT_INTERP:
                file.seek(start)
                return file.read(length).rstrip(b"\0").decode()
    return None


if __name__ == "__main__":
    print(json.dumps(asdict(_own())))
