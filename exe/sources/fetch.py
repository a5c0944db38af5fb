"""One artefact from the package index, through pip: a wheel, else an sdist of which no code is run.

pip is the client, so that its own settings hold (index, credentials, certificates, proxies, PIP_* variables). Given an
sdist, pip would go on to run its build backend for metadata; `_ONLY_FETCH` keeps it from that in two ways: pip ends at
the moment at which it would open the complete, hash-checked archive, and an audit hook (PEP 578) forbids the process to
start any other, which is the only way in which pip runs a backend.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from packaging.utils import canonicalize_name

from exe.errors import SourceError, StorageError

_SECONDS = 900  # for one artefact; pip has shorter limits of its own for a silent connection
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
        log = work / "pip.log"
        tool = [sys.executable, "-m", "pip"]
        done = run_pip(
            tool, [*_DOWNLOAD, "--only-binary", ":all:", "--dest", str(work / "wheel"), requirement], work, log
        )
        wheels = sorted((work / "wheel").glob("*.whl")) if done.returncode == 0 else []
        if wheels:
            return _keep(wheels[0], into, log)
        check_reached(requirement, done, log)
        wheels_told = done.stderr
        log.unlink(missing_ok=True)
        report = work / "archive"
        report.touch()
        tool = [sys.executable, "-c", _ONLY_FETCH, str(report)]
        done = run_pip(
            tool, [*_DOWNLOAD, "--no-binary", ":all:", "--dest", str(work / "sdist"), requirement], work, log
        )
        told = report.read_text("utf-8")
        if done.returncode == _STOPPED and told:
            return _keep(Path(told), into, log)
        check_reached(requirement, done, log)
        raise SourceError(_not_there(requirement, name, wheels_told, done.stderr))


def run_pip(tool: list[str], arguments: list[str], work: Path, log: Path) -> subprocess.CompletedProcess[str]:
    """Run pip with a command and its arguments, the last of which names what it is about, in the folder `work`.

    Raises SourceError where it does not come to an end.
    """
    scratch = work / "tmp"
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(scratch), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUTF8": "1"}
    try:
        return subprocess.run(
            [*tool, *arguments[:-1], "--no-input", "--progress-bar", "off", "--log", str(log), arguments[-1]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env=environment,
            cwd=work,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SourceError(f"pypi:{arguments[-1]}: pip did not finish within {_SECONDS} s; try again") from None


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


def public_address(url: str) -> str | None:
    """A URL without user, password, query and fragment; None where it is no address of the web."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        return None
    return str(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")))


def check_reached(requirement: str, done: subprocess.CompletedProcess[str], log: Path) -> None:
    """Raise where the failure is not the package's: SourceError for no pip or network, StorageError for a full disk."""
    if "No module named pip" in done.stderr:
        raise SourceError(f"pypi:{requirement}: this environment has no pip; run: python -m ensurepip")
    if "No space left on device" in done.stderr:
        raise StorageError(f"{log.parent.parent.parent}: no space left on the device")
    text = log.read_text("utf-8", "replace") if log.exists() else ""
    trouble = re.search(r"Could not fetch URL (\S+): (.+?)(?: - skipping)?$", text, re.MULTILINE)
    if trouble and not re.search(r"\b40[34]\b|\b410\b", trouble[2]):
        host = urlsplit(trouble[1]).hostname or "the index"
        raise SourceError(f"pypi:{requirement}: cannot reach {host}: {one_line(trouble[2])}")
    if re.search(r"NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|SSLError", text + done.stderr):
        raise SourceError(f"pypi:{requirement}: the connection to the index failed; check the network and try again")


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


def one_line(text: str) -> str:
    """A message of others as one short line without credentials."""
    flat = re.sub(r"//[^/@\s]+@", "//", " ".join(text.split()))
    return flat if len(flat) <= 160 else flat[:157] + "..."
