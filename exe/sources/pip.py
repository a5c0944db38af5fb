"""pip as a process of its own: one way to run it, and what its complaints mean."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from exe.errors import SourceError, StorageError

PIP: Final = (sys.executable, "-m", "pip")
LOG: Final = "pip.log"
"""The file in the working folder that pip's log goes to."""

_SECONDS = 900  # for one command; pip has shorter limits of its own for a silent connection


def run_pip(
    arguments: Sequence[str], *, about: str, work: Path, tool: Sequence[str] = PIP
) -> subprocess.CompletedProcess[str]:
    """Run a pip command in the folder `work`, which gets its log and its scratch files.

    Raises SourceError, which says what it was `about`, where pip does not come to an end.
    """
    scratch = work / "tmp"
    scratch.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(scratch), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUTF8": "1"}
    try:
        return subprocess.run(
            [*tool, *arguments, "--no-input", "--progress-bar", "off", "--log", str(work / LOG)],
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
        raise SourceError(f"{about}: pip did not finish within {_SECONDS} s; try again") from None


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The first error that pip told: the later ones say that it failed."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return one_line((errors or lines[-1:] or [f"pip ended with status {done.returncode} and gave no reason"])[0])


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


def public_address(url: str) -> str | None:
    """A URL without user, password, query and fragment; None where it is no address of the web."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        return None
    return str(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")))


def one_line(text: str) -> str:
    """A message of others as one short line without credentials."""
    flat = re.sub(r"//[^/@\s]+@", "//", " ".join(text.split()))
    return flat if len(flat) <= 160 else flat[:157] + "..."
