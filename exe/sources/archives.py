"""Unpacking wheels and sdists from strangers: every member is checked, only Python files and metadata are written.

Nothing of an archive is executed, no link is ever created, and what is produced is counted while it is produced, since
the sizes that an archive declares may be lies.
"""

from __future__ import annotations

import bz2
import datetime
import gzip
import io
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, cast

from .files import is_license


class Hostile(Exception):
    """An archive that no honest tool writes, or that is too large to be read. `reason` is a slug."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on one archive. Sizes in bytes; `ratio` is unpacked to packed, judged from `ratio_from` on."""

    members: int = 100_000
    total: int = 4_000_000_000
    written: int = 1_000_000_000
    file: int = 64_000_000
    ratio: int = 150
    ratio_from: int = 100_000_000
    name: int = 1024
    part: int = 255
    depth: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """What `unpack` saw: posix names written and merely seen (compiled modules), members left out, newest time stamp."""

    written: tuple[str, ...]
    compiled: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]  # (name, reason): links, special files, oversized Python files
    newest: str | None  # ISO 8601 date


Kind = Literal["file", "folder", "link", "special"]

# Dates that build tools write where they have none: the zip and Unix epochs, flit's, poetry's and hatchling's constants.
_CONSTANT_DATES = frozenset({"1970-01-01", "1980-01-01", "1980-02-01", "2016-01-01", "2020-02-02"})
_METADATA = frozenset({"METADATA", "PKG-INFO", "pyproject.toml", "setup.cfg"})
_COMPILED = (".so", ".pyd", ".dylib", ".dll")


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    kind: Kind
    size: int
    date: str | None
    handle: zipfile.ZipInfo | tarfile.TarInfo


def unpack(archive: Path, into: Path, limits: Limits | None = None) -> Unpacked:
    """Write the Python and metadata files of `archive` (.whl, .zip, .tar.gz, .tar.bz2) below the empty folder `into`.

    Raises Hostile where any member has an absolute, climbing or absurd name, is encrypted or doubled, or where the
    archive is a bomb (count, size, ratio) or damaged. Links and special files are left out and listed.
    """
    limits = limits or Limits()
    try:
        with _opened(archive, limits) as (members, read):
            return _write(members, read, into, limits, archive.stat().st_size)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, UnicodeError) as error:
        raise Hostile("damaged-archive", f"{archive.name} cannot be read: {error}") from error
    except (RecursionError, NotImplementedError, ValueError, OverflowError) as error:
        raise Hostile("damaged-archive", f"{archive.name} is not a sound archive: {type(error).__name__}") from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise Hostile("clashing-names", f"{archive.name} holds one name twice: {Path(error.filename).name}") from error
    except (gzip.BadGzipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # ours: disk full, no permission
        raise Hostile("damaged-archive", f"{archive.name} cannot be decompressed: {error}") from error


_Opened = tuple[Iterator[_Member], "_Reader"]


class _Reader:
    """Opens the bytes of a member of either kind of archive."""

    def __init__(self, archive: zipfile.ZipFile | tarfile.TarFile) -> None:
        self._archive = archive

    def __call__(self, member: _Member) -> IO[bytes]:
        if isinstance(self._archive, zipfile.ZipFile):
            return self._archive.open(cast(zipfile.ZipInfo, member.handle))
        stream = self._archive.extractfile(cast(tarfile.TarInfo, member.handle))
        assert stream is not None  # only asked for files
        return stream


@contextmanager
def _opened(archive: Path, limits: Limits) -> Iterator[_Opened]:
    with archive.open("rb") as raw:
        magic = raw.read(4)
    packed = archive.stat().st_size
    if magic[:2] == b"PK":
        with zipfile.ZipFile(archive) as opened:
            yield _zip_members(opened), _Reader(opened)
    elif magic[:2] == b"\x1f\x8b" or magic[:3] == b"BZh":
        decompress = gzip.open if magic[:2] == b"\x1f\x8b" else bz2.open
        with (
            decompress(archive, "rb") as plain,
            tarfile.open(fileobj=cast(IO[bytes], _Bounded(plain, packed, limits)), mode="r|") as tar,
        ):
            yield _tar_members(tar), _Reader(tar)
    else:
        raise Hostile("unsupported-archive", f"{archive.name} is neither a zip nor a gzip or bzip2 tar file")


class _Bounded(io.RawIOBase):
    """A decompressed stream that refuses to grow beyond the limits, whatever headers say."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile | bz2.BZ2File, packed: int, limits: Limits) -> None:
        self._stream = stream
        self._left = min(limits.total, max(limits.ratio_from, packed * limits.ratio))

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            raise Hostile("damaged-archive", "asks for a read without bound")
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise Hostile("archive-bomb", "unpacks to more than an honest archive of its size")
        return data


def _zip_members(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for info in archive.infolist():
        if info.flag_bits & 1:
            raise Hostile("encrypted", f"{_show(info.orig_filename)} is encrypted")
        mode = info.external_attr >> 16
        kind: Kind = "folder" if info.is_dir() else "file"
        if stat.S_ISLNK(mode):
            kind = "link"
        elif stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
            kind = "special"
        year, month, day = info.date_time[:3]
        yield _Member(info.orig_filename, kind, info.file_size, f"{year:04}-{month:02}-{day:02}", info)


def _tar_members(archive: tarfile.TarFile) -> Iterator[_Member]:
    for info in archive:
        kind: Kind = "special"
        if info.issym() or info.islnk():
            kind = "link"
        elif info.isdir():
            kind = "folder"
        elif info.isreg() and not info.issparse():
            kind = "file"
        if info.size < 0:
            raise Hostile("damaged-archive", f"{_show(info.name)} has a negative size")
        date = None
        if 0 < info.mtime < 32_503_680_000:  # before the year 3000
            date = datetime.datetime.fromtimestamp(info.mtime, datetime.UTC).date().isoformat()
        yield _Member(info.name, kind, info.size, date, info)


def _write(members: Iterator[_Member], read: _Reader, into: Path, limits: Limits, packed: int) -> Unpacked:
    written: list[str] = []
    compiled: list[str] = []
    left_out: list[tuple[str, str]] = []
    newest = ""
    total = budget = 0
    for count, member in enumerate(members, start=1):
        if count > limits.members:
            raise Hostile("archive-bomb", f"more than {limits.members:,} members")
        name = checked_name(member.name, limits)
        total += member.size
        if total > limits.total or (total > limits.ratio_from and total > packed * limits.ratio):
            raise Hostile("archive-bomb", f"{total:,} bytes in an archive of {packed:,}")
        if member.date is not None and member.date > newest and member.date not in _CONSTANT_DATES:
            newest = member.date
        if member.kind in {"link", "special"}:
            if name.endswith(".py") or member.kind == "special":
                left_out.append((name, "not-regular"))
        elif member.kind == "file" and name.endswith(_COMPILED):
            compiled.append(_purelib(name))
        elif member.kind == "file" and _wanted(name):
            if member.size > limits.file:
                left_out.append((name, "too-large"))
                continue
            target = _purelib(name)
            budget += _copy(read, member, into / target, limits.file)
            if budget > limits.written:
                raise Hostile("archive-bomb", f"more than {limits.written:,} bytes of Python files")
            written.append(target)
    return Unpacked(
        written=tuple(sorted(written)),
        compiled=tuple(sorted(compiled)),
        left_out=tuple(left_out),
        newest=newest or None,
    )


def _copy(read: _Reader, member: _Member, target: Path, limit: int) -> int:
    """Write one member to a new file; bytes written. A file that grows past what it declared is a bomb."""
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with read(member) as source, target.open("xb") as file:
        while chunk := source.read(1 << 16):
            size += len(chunk)
            if size > limit:
                raise Hostile("archive-bomb", f"{_show(member.name)} grows beyond {limit:,} bytes")
            file.write(chunk)
    return size


def checked_name(name: str, limits: Limits) -> str:
    """The member's name as a relative posix path; Hostile where it would leave the folder or is absurd."""
    if re.search(r"[\x00-\x1f\x7f]", name) or "\\" in name:
        raise Hostile("absurd-name", f"a member is called {_show(name)}")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        raise Hostile("absolute-name", f"a member is called {_show(name)}")
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise Hostile("path-traversal", f"a member is called {_show(name)}")
    if (
        len(name) > limits.name
        or len(parts) > limits.depth
        or any(len(part.encode("utf-8", "replace")) > limits.part for part in parts)
    ):
        raise Hostile("absurd-name", f"a member's name has {len(name):,} characters in {len(parts)} parts")
    return "/".join(parts)


def _wanted(name: str) -> bool:
    """Python files, metadata and licences, under names that every file system can hold."""
    base = name.rsplit("/", 1)[-1]
    named = re.fullmatch(r"[\w .+@=,~!()\[\]-]+(/[\w .+@=,~!()\[\]-]+)*", name) is not None
    return named and (base.endswith(".py") or base in _METADATA or is_license(name))


def _purelib(name: str) -> str:
    """A wheel may keep modules under `name-version.data/purelib/`; installed, they lie at the top."""
    return re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", name)


def _show(name: str) -> str:
    return repr(name if len(name) <= 80 else name[:77] + "...")
