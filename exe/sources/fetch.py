"""One artefact from the package index, through pip: a wheel, else an sdist of which no code is run.

pip is the client, so that its own settings hold (index, credentials, certificates, proxies, PIP_* variables). Given an
sdist, pip would go on to run its build backend for metadata; `_ONLY_FETCH` keeps it from that in two ways: pip ends at
the moment at which it would open the complete, hash-checked archive, and an audit hook (PEP 578) forbids the process to
start any other, which is the only way in which pip runs a backend.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from packaging.utils import canonicalize_name

from exe.errors import SourceError

from .pip import LOG, check_reached, one_line, public_address, run_pip

_STOPPED = 77
_DOWNLOAD = ("download", "--no-deps")

_ONLY_FETCH = """\
import os, runpy, sys, tarfile, zipfile

def stop(archive, *args, **kwargs):
    name = archive if isinstance(archive, (str, os.PathLike)) else archive.name
    with open(REPORT, "w", encoding="utf-8") as file:
        file.write(os.fspath(name))
    os._exit(77)

def forbid(event, args):
    if event in FORBIDDEN:
        raise PermissionError("no other process may be started while an sdist is fetched")

FORBIDDEN = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"}
REPORT = sys.argv.pop(1)
sys.addaudithook(forbid)
tarfile.open = tarfile.TarFile.open = zipfile.ZipFile = stop
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A downloaded file and the address it came from, without credentials; None where that is a local file."""

    path: Path
    url: str | None


def fetch(name: str, version: str | None, into: Path) -> Fetched:
    """Download a wheel of `name`, or its sdist where no wheel fits, into the folder `into`.

    Raises SourceError, in one line: pip is missing, the index cannot be reached, or it has no such package or version;
    StorageError where the disk is full.
    """
    requirement = name if version is None else f"{name}=={version}"
    with tempfile.TemporaryDirectory(prefix="exe-fetch-", dir=into) as scratch:
        work = Path(scratch)
        log = work / LOG
        wheels_only = [*_DOWNLOAD, "--only-binary", ":all:", "--dest", str(work / "wheel"), requirement]
        done = run_pip(wheels_only, about=f"pypi:{requirement}", work=work)
        wheels = sorted((work / "wheel").glob("*.whl")) if done.returncode == 0 else []
        if wheels:
            return _keep(wheels[0], into, log)
        check_reached(requirement, done, log)
        wheels_told = done.stderr
        log.unlink(missing_ok=True)
        report = work / "archive"
        report.touch()
        sdists_only = [*_DOWNLOAD, "--no-binary", ":all:", "--dest", str(work / "sdist"), requirement]
        tool = (sys.executable, "-c", _ONLY_FETCH, str(report))
        done = run_pip(sdists_only, about=f"pypi:{requirement}", work=work, tool=tool)
        told = report.read_text("utf-8")
        if done.returncode == _STOPPED and told:
            return _keep(Path(told), into, log)
        check_reached(requirement, done, log)
        raise SourceError(_not_there(requirement, name, wheels_told, done.stderr))


def _keep(archive: Path, into: Path, log: Path) -> Fetched:
    """Move (or, from a local index, copy) the archive out of the scratch folder."""
    target = into / archive.name
    if into in archive.parents:
        os.replace(archive, target)
    else:
        target.write_bytes(archive.read_bytes())
    return Fetched(path=target, url=_address(archive.name, log))


def _address(file: str, log: Path) -> str | None:
    """Where pip found the file, by its log; without user, password, query and fragment."""
    for url in re.findall(r"Found link (\S+) \(from", log.read_text("utf-8", "replace")):
        if urlsplit(url).path.rsplit("/", 1)[-1] == file and (address := public_address(url)) is not None:
            return address
    return None


def _not_there(requirement: str, name: str, *told: str) -> str:
    """What is missing, by what pip said when it looked for wheels and then for sdists."""
    known = [re.findall(r"\(from versions: (.*?)\)", text, re.DOTALL) for text in told]
    if known[-1]:
        for versions in (versions for found in known for versions in found):
            if versions.strip() not in {"", "none"}:
                newest = versions.split(",")[-1].strip()
                return f"pypi:{requirement}: no such version for this Python; the newest one is {newest}"
        return f"pypi:{requirement}: the index has no package {canonicalize_name(name)} for this Python"
    last = [line for line in told[-1].splitlines() if line.strip()]
    return f"pypi:{requirement}: pip could not download it: {one_line(last[-1]) if last else 'no reason given'}"
