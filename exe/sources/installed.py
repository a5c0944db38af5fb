"""`installed:NAME`, `installed:*`: distributions of the running environment, by their RECORD; nothing is imported."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from exe.errors import SourceError
from exe.records import Package, Rejection

from . import metadata
from .files import Options, choose, license_texts
from .folder import license_rejection, no_files
from .licenses import read_license

OURSELVES = "execution-eval"


def from_environment(name: str, options: Options, path: Iterable[str] | None = None) -> list[Package | Rejection]:
    """One distribution by name, or all of them ("" or "*") sorted by name.

    `path` is where to look, `sys.path` if not given. Where one name is found twice the first on the path counts, as it
    does for imports. Our own distribution is passed over. Raises SourceError where `name` is not installed.
    """
    found: dict[str, Distribution] = {}
    results: list[Package | Rejection] = []
    for distribution in distributions(path=list(path)) if path is not None else distributions():
        own = distribution.metadata["Name"] if distribution.metadata is not None else None
        if not own:
            where = Path(str(distribution.locate_file("."))).name
            results.append(_rejection("unnamed", "metadata", f"a distribution in {where} has no name"))
            continue
        found.setdefault(canonicalize_name(own), distribution)
    if name in {"", "*"}:
        for key in sorted(found):
            if key != OURSELVES:
                results += _read(key, found[key], options)
        return results
    key = canonicalize_name(name)
    if key == OURSELVES:
        return [_rejection(key, "own-project", "this project does not examine itself")]
    if key not in found:
        raise SourceError(f"installed:{name}: not installed in this environment; try pypi:{name}, or pip install it")
    return _read(key, found[key], options)


def _rejection(name: str, reason: str, detail: str) -> Rejection:
    return Rejection(subject=name, stage="scrape", reason=reason, detail=detail)


def _read(name: str, distribution: Distribution, options: Options) -> list[Package | Rejection]:
    record = distribution.read_text("RECORD")
    if record is None:
        return [_rejection(name, "no-record", "installed without a list of its files (RECORD)")]
    if _editable(distribution):
        return [_rejection(name, "editable", "an editable install; name its folder with path: instead")]
    text = distribution.read_text("METADATA") or ""
    told = metadata.from_core(text.encode("utf-8", "surrogateescape"))
    if not told.version:
        return [_rejection(name, "metadata", "METADATA names no version")]
    root = Path(str(distribution.locate_file(""))).resolve()
    try:
        paths = _recorded(record)
    except csv.Error as error:
        return [_rejection(name, "metadata", f"RECORD cannot be read: {error}")]
    own = [path for path in paths if path.split("/")[0].endswith(".dist-info")]
    stated = read_license(told.license_expression, told.classifiers, told.license, license_texts(root, own))
    refused = license_rejection(name, stated.expression, stated.reason, options)
    if refused is not None:
        return [refused]
    chosen = choose(name, root, paths, options)
    if not chosen.files:
        return [no_files(name), *chosen.notes]
    package = Package(
        name=name,
        version=told.version,
        spec=f"installed:{name}",
        root=str(root),
        files=chosen.files,
        license=stated.expression,
        repository=metadata.repository(told.urls),
        sha256=chosen.sha256,
    )
    return [package, *chosen.notes]


def _editable(distribution: Distribution) -> bool:
    text = distribution.read_text("direct_url.json")
    if text is None:
        return False
    try:
        told = json.loads(text)
    except ValueError:
        return False
    return isinstance(told, dict) and bool((told.get("dir_info") or {}).get("editable"))


def _recorded(record: str) -> list[str]:
    """Paths of RECORD that lie below site-packages; scripts and data elsewhere are not modules."""
    paths = [row[0] for row in csv.reader(record.splitlines()) if row]
    return [path for path in paths if path and not path.startswith("/") and ".." not in path.split("/")]
