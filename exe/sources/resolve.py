"""What a wheel requires, as pip resolves it for the running interpreter: wheels only, pinned by hash; nothing is run.

`pip install --dry-run --report` reads the metadata of wheels and installs nothing; `--only-binary :all:` keeps it from
building an sdist. What it chose is then downloaded in one go, each file checked against its hash by pip and once more here.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import Request, url2pathname, urlopen

from packaging.utils import canonicalize_name

from exe.errors import SourceError

from .pip import LOG, check_reached, complaint, public_address, run_pip

LARGEST = 30_000_000
"""Bytes of the largest wheel that is read for its code; larger ones are compiled libraries, models and the like."""

_SECONDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One package of a lock. `url` is None where the wheel came from a local folder; `size` in bytes, None where not known."""

    name: str  # normalised
    version: str
    file: str
    sha256: str
    url: str | None
    size: int | None

    @property
    def small(self) -> bool:
        """Whether it is worth its download: what is larger, or compiled and of unknown size, is no code to be inlined."""
        pure = self.file.endswith("-none-any.whl")
        return pure if self.size is None else self.size <= LARGEST


def resolve(wheel: Path, scratch: Path) -> tuple[Pin, ...]:
    """What `wheel` requires, and what that requires, sorted by name. `scratch` is an existing folder.

    Raises SourceError where pip finds no solution made of wheels, or does not reach the index.
    """
    with tempfile.TemporaryDirectory(prefix="resolve-", dir=scratch) as folder:
        work = Path(folder)
        log, report = work / LOG, work / "report.json"
        command = ["install", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--quiet"]
        command += ["--target", str(work / "nowhere"), "--report", str(report), str(wheel)]
        done = run_pip(command, about=wheel.name, work=work)
        if done.returncode != 0 or not report.is_file():
            check_reached(wheel.name, done, log)
            raise SourceError(f"{wheel.name}: {complaint(done)}")
        rows = json.loads(report.read_text("utf-8"))["install"]
    with ThreadPoolExecutor(8) as pool:
        pins = [*pool.map(_pin, rows)]
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
        size=_size(found["url"]),
    )


def _size(url: str) -> int | None:
    """The bytes of a wheel as its server, or the file system, tells them; None where neither does."""
    parts = urlsplit(url)
    try:
        if parts.scheme == "file":
            return Path(url2pathname(parts.path)).stat().st_size
        with urlopen(Request(url, method="HEAD"), timeout=_SECONDS) as reply:
            return int(reply.headers["Content-Length"])
    except (OSError, ValueError, TypeError):
        return None


def download(pins: Iterable[Pin], into: Path) -> dict[Pin, Path]:
    """The wheels of `pins` as files in the folder `into`. Raises SourceError where one cannot be had with that hash."""
    wanted = tuple(pins)
    if not wanted:
        return {}
    lines = [f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n" for pin in wanted]
    listed, log = into / "requirements.txt", into / LOG
    listed.write_text("".join(lines), "utf-8")
    command = ["download", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--dest", str(into)]
    command += ["--requirement", str(listed)]
    done = run_pip(command, about=wanted[0].name, work=into)
    if done.returncode != 0:
        check_reached(wanted[0].name, done, log)
        raise SourceError(f"{', '.join(pin.name for pin in wanted)}: {complaint(done)}")
    found = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in sorted(into.glob("*.whl"))}
    if lost := [pin.file for pin in wanted if pin.sha256 not in found]:
        raise SourceError(f"{lost[0]}: pip downloaded something else")
    return {pin: found[pin.sha256] for pin in wanted}
