"""`installed:NAME`, `installed:*`: distributions of the running environment, by their RECORD; nothing is imported."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from exe.errors import SourceError
from exe.records import Package, Rejection

from . import metadata
from .closure import closure, needed
from .files import Options, choose, license_texts
from .folder import Environment, license_rejection, no_environment, no_files
from .licenses import read_license

OURSELVES = "execution-eval"


def from_environment(name: str, options: Options, path: Iterable[str] | None = None) -> list[Package | Rejection]:
    """One distribution by name, or all of them ("" or "*") sorted by name.

    `path` is where to look, `sys.path` if not given. Where one name is found twice the first on the path counts, as it
    does for imports. Our own distribution is passed over. Raises SourceError where `name` is not installed.
    """
    every = list(distributions(path=list(path)) if path is not None else distributions())
    found = _by_name(every)
    results: list[Package | Rejection] = []
    if name in {"", "*"}:
        for distribution in every:
            if not _own_name(distribution):
                where = Path(str(distribution.locate_file("."))).name
                results.append(_rejection("unnamed", "metadata", f"a distribution in {where} has no name"))
        for key in sorted(found):
            if key != OURSELVES:
                results += _usable(key, found[key], options, found)
        return results
    key = canonicalize_name(name)
    if key == OURSELVES:
        return [_rejection(key, "own-project", "this project does not examine itself")]
    if key not in found:
        raise SourceError(f"installed:{name}: not installed in this environment; try pypi:{name}, or pip install it")
    return _usable(key, found[key], options, found)


def _rejection(name: str, reason: str, detail: str) -> Rejection:
    return Rejection(subject=name, stage="scrape", reason=reason, detail=detail)


def installed_environment(
    name: str, requires: Iterable[str], options: Options, found: Mapping[str, Distribution] | None = None
) -> Environment:
    """What of a package's requirements, and of theirs, is installed: in the running environment, or among `found`."""
    asked = list(needed(requires))
    if not asked:
        return (), ()
    there = _by_name(distributions()) if found is None else found
    names, missing = closure(asked, there.get)
    packages = tuple(_dependency(each, there[each], options) for each in names if each != name)
    return packages, tuple(no_environment(name, f"{each} is not installed") for each in missing)


def _by_name(found: Iterable[Distribution]) -> dict[str, Distribution]:
    """By normalised name; of one name the first."""
    known: dict[str, Distribution] = {}
    for distribution in found:
        if name := _own_name(distribution):
            known.setdefault(canonicalize_name(name), distribution)
    return known


def _own_name(distribution: Distribution) -> str | None:
    return distribution.metadata["Name"] if distribution.metadata is not None else None


def _dependency(name: str, distribution: Distribution, options: Options) -> Package:
    found, _ = _read(name, distribution, options)
    if isinstance(found, Package):
        return found
    spec, version = f"installed:{name}", distribution.version or "0"
    return Package(name=name, version=version, spec=spec, root="", files=(), barred=found)


def _usable(
    name: str, distribution: Distribution, options: Options, found: Mapping[str, Distribution]
) -> list[Package | Rejection]:
    """A package with its environment and the notes on it, or why it is not used."""
    package, notes = _read(name, distribution, options)
    if isinstance(package, Rejection) or package.barred is not None:
        return [package if isinstance(package, Rejection) else package.barred or package, *notes]
    if options.environment:
        environment, more = installed_environment(name, distribution.requires or (), options, found)
        package, notes = replace(package, environment=environment), (*notes, *more)
    return [package, *notes]


def _read(name: str, distribution: Distribution, options: Options) -> tuple[Package | Rejection, tuple[Rejection, ...]]:
    """A distribution as a package, `barred` where it may not be used, and notes on what is left out of it."""
    record = distribution.read_text("RECORD")
    if record is None:
        return _rejection(name, "no-record", "installed without a list of its files (RECORD)"), ()
    if _editable(distribution):
        return _rejection(name, "editable", "an editable install; name its folder with path: instead"), ()
    text = distribution.read_text("METADATA") or ""
    told = metadata.from_core(text.encode("utf-8", "surrogateescape"))
    if not told.version:
        return _rejection(name, "metadata", "METADATA names no version"), ()
    root = Path(str(distribution.locate_file(""))).resolve()
    try:
        paths = _recorded(record)
    except csv.Error as error:
        return _rejection(name, "metadata", f"RECORD cannot be read: {error}"), ()
    own = [path for path in paths if path.split("/")[0].endswith(".dist-info")]
    stated = read_license(told.license_expression, told.classifiers, told.license, license_texts(root, own))
    refused = license_rejection(name, stated.expression, stated.reason, options)
    chosen = choose(name, root, paths, options)
    package = Package(
        name=name,
        version=told.version,
        spec=f"installed:{name}",
        root=str(root),
        files=chosen.files,
        license=stated.expression,
        repository=metadata.repository(told.urls),
        sha256=chosen.sha256,
        compiled=chosen.compiled,
        barred=refused or (None if chosen.files else no_files(name)),
    )
    return package, () if refused else chosen.notes


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
