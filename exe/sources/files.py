"""Which Python files of a package are read, their common hash, and a note for every one that is left out."""

from __future__ import annotations

import hashlib
import stat
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files as resources
from pathlib import Path, PurePosixPath

from exe.records import Rejection

from .licenses import permissive, read_license, recognise
from .metadata import from_core

_COMPILED = (".so", ".pyd", ".dylib", ".dll")
_LICENSES = ("licen[cs]e*", "copying*", "unlicense*", "*.license", "mit-license*")
_LARGEST_LICENSE = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a scrape takes and leaves.

    `max_file_bytes` bounds one Python file. `allow_licenses` are SPDX identifiers accepted besides the permissive
    ones, or package names whose licence the caller vouches for. `environment`: whether what the package requires is
    locked and read as well.
    """

    max_file_bytes: int = 4_000_000
    allow_licenses: frozenset[str] = frozenset()
    environment: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The files of a package that are read: posix paths below its root, sorted; their sha256; notes on the others.

    `compiled` are its extension modules.
    """

    files: tuple[str, ...]
    compiled: tuple[str, ...]
    sha256: str
    notes: tuple[Rejection, ...]


@lru_cache(maxsize=1)
def folder_names() -> dict[str, tuple[str, ...]]:
    """The lists of `exe/data/folders.toml`."""
    raw = tomllib.loads(resources("exe").joinpath("data/folders.toml").read_text("utf-8"))
    return {key: tuple(names) for key, names in raw.items()}


def is_test(path: str) -> bool:
    """Whether a file is a test, by its own name or that of a folder it lies in."""
    *folders, name = path.split("/")
    names = folder_names()
    return any(folder in names["tests"] for folder in folders) or any(
        fnmatchcase(name, pattern) for pattern in names["test_files"]
    )


def vendored_copy(path: str) -> str | None:
    """The path of the copied project that a file belongs to ("pip/_vendor/idna"), None outside vendored folders."""
    parts = path.split("/")
    for index, part in enumerate(parts[:-1]):
        if part in folder_names()["vendored"]:
            copy = "/".join(parts[: index + 2])
            return None if copy.endswith("/__init__.py") else copy
    return None


def is_license(path: str) -> bool:
    """Whether a file is a licence text, by its name."""
    name = path.rsplit("/", 1)[-1].lower()
    return not name.endswith(".py") and any(fnmatchcase(name, pattern) for pattern in _LICENSES)


def choose(package: str, root: Path, paths: Iterable[str], options: Options) -> Chosen:
    """Of `paths` (all files of a package, posix, below `root`) the Python files to read.

    Left out, each with a note: tests, files that no import can reach, vendored projects without a permissive licence
    of their own beside them, files over the size limit, files that are not regular (links among them). Compiled
    modules are noted, for what they do cannot be read.
    """
    ordered = sorted(set(paths))
    notes = _Notes(package)
    licensed: dict[str, bool] = {}
    kept: list[str] = []
    digest = hashlib.sha256()
    for path in ordered:
        if path.endswith(_COMPILED):
            notes.many("compiled", path)
            continue
        if not path.endswith(".py"):
            continue
        if not _importable(path):
            notes.many("not-importable", path)
            continue
        if is_test(path):
            notes.many("tests", path)
            continue
        copy = vendored_copy(path)
        if copy is not None and copy not in licensed:
            licensed[copy] = _own_license(root, copy, ordered)
        if copy is not None and not licensed[copy]:
            notes.many("vendored", path)
            continue
        data = read_regular(root / path, options.max_file_bytes)
        if isinstance(data, Refusal):
            notes.one(path, data.reason, data.detail)
            continue
        kept.append(path)
        digest.update(f"{path}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    compiled = tuple(path for path in ordered if path.endswith(_COMPILED))
    return Chosen(files=tuple(kept), compiled=compiled, sha256=digest.hexdigest(), notes=notes.rejections())


def _importable(path: str) -> bool:
    *folders, name = path.split("/")
    return all(part.isidentifier() for part in (*folders, name.removesuffix(".py")))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file is not read."""

    reason: str
    detail: str


def read_regular(path: Path, limit: int) -> bytes | Refusal:
    """The bytes of a regular file (not of a link) of at most `limit` bytes."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return Refusal("not-regular", "a link or a special file")
        if status.st_size > limit:
            return Refusal("too-large", f"{status.st_size:,} bytes, the limit is {limit:,}")
        return path.read_bytes()
    except OSError as error:
        return Refusal("unreadable", error.strerror or type(error).__name__)


def license_texts(root: Path, paths: Iterable[str]) -> list[str]:
    """The texts of the licence files among `paths`; what cannot be read counts for nothing."""
    texts: list[str] = []
    for path in paths:
        if is_license(path):
            data = read_regular(root / path, _LARGEST_LICENSE)
            if isinstance(data, bytes):
                texts.append(data.decode("utf-8", "replace"))
    return texts


def _own_license(root: Path, copy: str, paths: list[str]) -> bool:
    """Whether a vendored project carries a permissive licence of its own.

    Looked for inside its folder, in a `*.dist-info` beside it, and in the licence folder of the vendoring package.
    """
    folder, _, name = copy.rpartition("/")
    name = name.removesuffix(".py")
    for path in paths:
        if path.startswith(f"{folder}/{name}") and path.endswith(".dist-info/METADATA"):
            data = read_regular(root / path, _LARGEST_LICENSE)
            if isinstance(data, bytes):
                told = from_core(data)
                stated = read_license(told.license_expression, told.classifiers, told.license)
                if permissive(stated.expression):
                    return True
    inside = [
        p
        for p in paths
        if p.startswith(f"{folder}/{name}/") or f"/{folder}/{name}/" in p or p.startswith(f"{folder}/{name}.")
    ]
    return any(permissive(recognise(text)) for text in license_texts(root, inside))


@dataclass(slots=True)
class _Notes:
    """Collects why files are left out: single ones by name, kinds of them by number and first example."""

    package: str
    singles: list[Rejection] = field(default_factory=list)
    kinds: dict[str, list[str]] = field(default_factory=dict)

    def one(self, path: str, reason: str, detail: str) -> None:
        """Note one file."""
        subject = f"{self.package}:{PurePosixPath(path)}"
        self.singles.append(Rejection(subject=subject, stage="scrape", reason=reason, detail=detail))

    def many(self, reason: str, path: str) -> None:
        """Note one file of a kind."""
        self.kinds.setdefault(reason, []).append(path)

    def rejections(self) -> tuple[Rejection, ...]:
        """All notes, those on kinds last."""
        summed = [
            Rejection(
                subject=self.package,
                stage="scrape",
                reason=reason,
                detail=f"{len(paths)} file{'s' * (len(paths) > 1)} left out, the first is {paths[0]}",
            )
            for reason, paths in sorted(self.kinds.items())
        ]
        return (*self.singles, *summed)
