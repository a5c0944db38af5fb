"""`pypi:NAME[==VERSION]`: an artefact of the package index, cached so that a second build needs no network."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from packaging.utils import canonicalize_name

from exe.errors import SourceError
from exe.records import Package, Rejection

from . import cache as store
from . import metadata
from .archives import Hostile, Unpacked
from .cache import Artefact
from .environment import of_sdist, of_wheel
from .fetch import fetch
from .files import Options
from .folder import read_folder
from .wheel import read_wheel


def from_index(
    name: str, version: str | None, *, cache: Path, offline: bool, options: Options
) -> list[Package | Rejection]:
    """The package at `version`, or at the newest one that fits this interpreter, with its locked environment.

    A pinned version that is in the cache is read from there; without a version the index is asked, unless `offline`, when
    the version is the one that it named last. Raises SourceError where the artefact cannot be had; an environment that
    cannot be had is a Rejection beside the package.
    """
    cache.mkdir(parents=True, exist_ok=True)
    where = store.entry(cache, name, version or "newest")
    artefact = store.recall(cache, where) if version is not None or offline else None
    if artefact is None:
        if offline:
            wanted = name if version is None else f"{name}=={version}"
            raise SourceError(f"pypi:{wanted}: not in the cache, and the network may not be used")
        artefact = _download(name, version, cache)
    requirement = f"pypi:{name}" if version is None else f"pypi:{name}=={version}"
    try:
        tree, seen = store.unpacked(cache, artefact)
    except Hostile as hostile:
        return [Rejection(subject=name, stage="scrape", reason=hostile.reason, detail=hostile.detail)]
    found, notes = _read(artefact, tree, seen, requirement, options, name)
    notes += _left_out(name, seen)
    if isinstance(found, Rejection) or found.barred is not None:
        return [found if isinstance(found, Rejection) else found.barred or found, *notes]
    package = replace(found, url=artefact.url, sha256=artefact.sha256, released=seen.newest)
    if options.environment:
        environment, more = _environment(package, artefact, cache, offline, options)
        package, notes = replace(package, environment=environment), (*notes, *more)
    return [package, *notes]


def _read(artefact: Artefact, tree: Path, seen: Unpacked, spec: str, options: Options, name: str) -> _Read:
    if artefact.file.endswith(".whl"):
        return read_wheel(tree, seen, name, spec, options)
    first, *notes = _read_sdist(tree, seen, name, spec, options)
    return first, tuple(note for note in notes if isinstance(note, Rejection))


_Read = tuple[Package | Rejection, tuple[Rejection, ...]]


def _environment(
    package: Package, artefact: Artefact, cache: Path, offline: bool, options: Options
) -> tuple[tuple[Package, ...], tuple[Rejection, ...]]:
    if artefact.file.endswith(".whl"):
        return of_wheel(package, artefact, cache=cache, offline=offline, options=options)
    return (), of_sdist(package)


def _left_out(name: str, seen: Unpacked) -> tuple[Rejection, ...]:
    details = {"not-regular": "a link or a special file in the archive", "too-large": "larger than any Python file"}
    return tuple(
        Rejection(subject=f"{name}:{path}", stage="scrape", reason=reason, detail=details[reason])
        for path, reason in seen.left_out
    )


def _download(name: str, version: str | None, cache: Path) -> Artefact:
    with tempfile.TemporaryDirectory(prefix="download-", dir=cache) as scratch:
        fetched = fetch(name, version, Path(scratch))
        artefact = store.keep(cache, fetched.path, fetched.url)
    store.remember(store.entry(cache, name, version or "newest"), asdict(artefact))
    if version is None:
        store.remember(store.entry(cache, name, _version_of(artefact.file, name)), asdict(artefact))
    return artefact


def _version_of(file: str, name: str) -> str:
    """The version in an artefact's file name: name-VERSION-tags.whl, or name-VERSION.tar.gz."""
    if file.endswith(".whl"):
        return file.split("-")[1]
    stem = file
    for suffix in (".tar.gz", ".tgz", ".tar.bz2", ".zip"):
        stem = stem.removesuffix(suffix)
    return stem[len(name) + 1 :] or "0"


def _read_sdist(tree: Path, seen: Unpacked, name: str, requirement: str, options: Options) -> list[Package | Rejection]:
    tops = sorted({path.split("/")[0] for path in seen.written})
    if len(tops) != 1 or not (tree / tops[0] / "PKG-INFO").is_file():
        detail = "an sdist is one folder with PKG-INFO in it"
        return [Rejection(subject=name, stage="scrape", reason="metadata", detail=detail)]
    told = metadata.from_core((tree / tops[0] / "PKG-INFO").read_bytes())
    if not told.name or not told.version or canonicalize_name(told.name) != name:
        detail = f"PKG-INFO says {told.name!r} {told.version!r}"
        return [Rejection(subject=name, stage="scrape", reason="metadata", detail=detail)]
    return read_folder(tree / tops[0], requirement, told, options)
