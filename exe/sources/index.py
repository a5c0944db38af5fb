"""`pypi:NAME[==VERSION]`: an artefact of the package index, cached so that a second build needs no network.

The cache, below the folder that the caller names:

    artefacts/<sha256>/<file name>                        as downloaded
    index/<name>/<version or newest>-<interpreter>.json   {"file", "sha256", "url"}: what a requirement led to
    unpacked/<sha256>/tree/, unpacked/<sha256>/seen.json  its Python and metadata files; what was left out
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from packaging.utils import canonicalize_name

from exe.errors import SourceError
from exe.records import Package, Rejection

from . import metadata
from .archives import Hostile, Unpacked, unpack
from .fetch import Fetched, fetch
from .files import Options, choose, license_texts
from .folder import license_rejection, no_files, read_folder
from .licenses import read_license

_INTERPRETER = f"cp{sys.version_info[0]}{sys.version_info[1]}-{sysconfig.get_platform()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Artefact:
    file: str
    sha256: str
    url: str | None


def from_index(
    name: str, version: str | None, *, cache: Path, offline: bool, options: Options
) -> list[Package | Rejection]:
    """The package at `version`, or at the newest one that fits this interpreter.

    A pinned version that is in the cache is read from there; without a version the index is asked, unless `offline`, when
    the version is the one that it named last. Raises SourceError where the artefact cannot be had.
    """
    cache.mkdir(parents=True, exist_ok=True)
    entry = cache / "index" / name / f"{version or 'newest'}-{_INTERPRETER}.json"
    artefact = _cached(cache, entry) if version is not None or offline else None
    if artefact is None:
        if offline:
            wanted = name if version is None else f"{name}=={version}"
            raise SourceError(f"pypi:{wanted}: not in the cache, and the network may not be used")
        artefact = _download(name, version, cache, entry)
    requirement = f"pypi:{name}" if version is None else f"pypi:{name}=={version}"
    try:
        tree, seen = _unpacked(cache, artefact)
    except Hostile as hostile:
        return [Rejection(subject=name, stage="scrape", reason=hostile.reason, detail=hostile.detail)]
    if artefact.file.endswith(".whl"):
        results = _read_wheel(tree, seen, name, requirement, options)
    else:
        results = _read_sdist(tree, seen, name, requirement, options)
    return [_stamped(result, artefact, seen) for result in results] + _left_out(name, seen)


def _stamped(result: Package | Rejection, artefact: _Artefact, seen: Unpacked) -> Package | Rejection:
    if isinstance(result, Rejection):
        return result
    return replace(result, url=artefact.url, sha256=artefact.sha256, released=seen.newest)


def _left_out(name: str, seen: Unpacked) -> list[Package | Rejection]:
    details = {"not-regular": "a link or a special file in the archive", "too-large": "larger than any Python file"}
    return [
        Rejection(subject=f"{name}:{path}", stage="scrape", reason=reason, detail=details[reason])
        for path, reason in seen.left_out
    ]


def _cached(cache: Path, entry: Path) -> _Artefact | None:
    """What the requirement led to before, where the artefact is still there and still the same."""
    try:
        artefact = _Artefact(**json.loads(entry.read_text("utf-8")))
        data = (cache / "artefacts" / artefact.sha256 / artefact.file).read_bytes()
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return None
    return artefact if hashlib.sha256(data).hexdigest() == artefact.sha256 else None


def _download(name: str, version: str | None, cache: Path, entry: Path) -> _Artefact:
    with tempfile.TemporaryDirectory(prefix="download-", dir=cache) as scratch:
        fetched: Fetched = fetch(name, version, Path(scratch))
        digest = hashlib.sha256(fetched.path.read_bytes()).hexdigest()
        artefact = _Artefact(file=fetched.path.name, sha256=digest, url=fetched.url)
        folder = cache / "artefacts" / digest
        folder.mkdir(parents=True, exist_ok=True)
        os.replace(fetched.path, folder / artefact.file)
        _remember(entry, artefact, Path(scratch))
        if version is None:
            _remember(
                entry.with_name(f"{_version_of(artefact.file, name)}-{_INTERPRETER}.json"), artefact, Path(scratch)
            )
    return artefact


def _remember(entry: Path, artefact: _Artefact, scratch: Path) -> None:
    entry.parent.mkdir(parents=True, exist_ok=True)
    draft = scratch / "entry.json"
    draft.write_text(json.dumps(asdict(artefact), sort_keys=True), "utf-8")
    os.replace(draft, entry)


def _version_of(file: str, name: str) -> str:
    """The version in an artefact's file name: name-VERSION-tags.whl, or name-VERSION.tar.gz."""
    if file.endswith(".whl"):
        return file.split("-")[1]
    stem = file
    for suffix in (".tar.gz", ".tgz", ".tar.bz2", ".zip"):
        stem = stem.removesuffix(suffix)
    return stem[len(name) + 1 :] or "0"


def _unpacked(cache: Path, artefact: _Artefact) -> tuple[Path, Unpacked]:
    """The unpacked tree of an artefact, made whole in a folder of its own and then moved into place."""
    final = cache / "unpacked" / artefact.sha256
    if not (final / "seen.json").is_file():
        final.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=final.parent))
        try:
            (draft / "tree").mkdir()
            seen = unpack(cache / "artefacts" / artefact.sha256 / artefact.file, draft / "tree")
            (draft / "seen.json").write_text(json.dumps(asdict(seen), sort_keys=True), "utf-8")
            try:
                draft.rename(final)
            except OSError:
                if not (final / "seen.json").is_file():  # else another process was first, with the same bytes
                    raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    raw = json.loads((final / "seen.json").read_text("utf-8"))
    seen = Unpacked(
        written=tuple(raw["written"]),
        compiled=tuple(raw["compiled"]),
        left_out=tuple((path, reason) for path, reason in raw["left_out"]),
        newest=raw["newest"],
    )
    return final / "tree", seen


def _read_wheel(tree: Path, seen: Unpacked, name: str, requirement: str, options: Options) -> list[Package | Rejection]:
    own = [path for path in seen.written if path.split("/")[0].endswith(".dist-info")]
    found = [path for path in own if path.endswith(".dist-info/METADATA") and path.count("/") == 1]
    if len(found) != 1:
        detail = f"{len(found)} METADATA files in the wheel, one is wanted"
        return [Rejection(subject=name, stage="scrape", reason="metadata", detail=detail)]
    told = metadata.from_core((tree / found[0]).read_bytes())
    if not told.name or not told.version or canonicalize_name(told.name) != name:
        detail = f"METADATA says {told.name!r} {told.version!r}"
        return [Rejection(subject=name, stage="scrape", reason="metadata", detail=detail)]
    stated = read_license(told.license_expression, told.classifiers, told.license, license_texts(tree, own))
    refused = license_rejection(name, stated.expression, stated.reason, options)
    if refused is not None:
        return [refused]
    chosen = choose(name, tree, [*seen.written, *seen.compiled], options)
    if not chosen.files:
        return [no_files(name), *chosen.notes]
    package = Package(
        name=name,
        version=told.version,
        spec=requirement,
        root=str(tree),
        files=chosen.files,
        license=stated.expression,
        repository=metadata.repository(told.urls),
    )
    return [package, *chosen.notes]


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
