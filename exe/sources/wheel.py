"""Reading an unpacked wheel: its METADATA, its licence, its Python files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from packaging.utils import canonicalize_name

from exe.records import Package, Rejection

from . import metadata
from .archives import Unpacked
from .files import Options, choose, license_texts
from .folder import license_rejection, no_files
from .licenses import read_license
from .metadata import Metadata


def told(tree: Path, seen: Unpacked, name: str) -> Metadata | Rejection:
    """The METADATA of a wheel that is to be of the project `name`."""
    found = [path for path in _own(seen) if path.endswith(".dist-info/METADATA") and path.count("/") == 1]
    if len(found) != 1:
        detail = f"{len(found)} METADATA files in the wheel, one is wanted"
        return Rejection(subject=name, stage="scrape", reason="metadata", detail=detail)
    stated = metadata.from_core((tree / found[0]).read_bytes())
    if not stated.name or not stated.version or canonicalize_name(stated.name) != name:
        detail = f"METADATA says {stated.name!r} {stated.version!r}"
        return Rejection(subject=name, stage="scrape", reason="metadata", detail=detail)
    return stated


def _own(seen: Unpacked) -> list[str]:
    return [path for path in seen.written if path.split("/")[0].endswith(".dist-info")]


def read_wheel(
    tree: Path, seen: Unpacked, name: str, requirement: str, options: Options
) -> tuple[Package | Rejection, tuple[Rejection, ...]]:
    """The package in a wheel, `barred` where it may not be used, and notes on what is left out of it."""
    stated = told(tree, seen, name)
    if isinstance(stated, Rejection):
        return stated, ()
    assert stated.version is not None
    texts = license_texts(tree, _own(seen))
    licence = read_license(stated.license_expression, stated.classifiers, stated.license, texts)
    refused = license_rejection(name, licence.expression, licence.reason, options)
    package = Package(
        name=name,
        version=stated.version,
        spec=requirement,
        root=str(tree),
        files=tuple(path for path in seen.written if path.endswith(".py")),
        license=licence.expression,
        repository=metadata.repository(stated.urls),
        compiled=seen.compiled,
        barred=refused,
    )
    if refused is not None:
        return package, ()
    chosen = choose(name, tree, [*seen.written, *seen.compiled], options)
    return replace(package, files=chosen.files, barred=None if chosen.files else no_files(name)), chosen.notes
