"""The locked environment of a wheel: what it requires, transitively and without extras, read like the wheel itself.

pip resolves it once, then the lock is kept in the cache. Code of a dependency is only used under a licence that would let
the package itself in; one without, or one that cannot be read, stays in the lock and is `barred`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path

from exe.errors import SourceError
from exe.records import Package, Rejection

from . import cache as store
from . import wheel
from .archives import Hostile
from .cache import Artefact
from .closure import needed
from .files import Options
from .folder import Environment, no_environment
from .resolve import Pin, download, resolve


def of_wheel(package: Package, artefact: Artefact, *, cache: Path, offline: bool, options: Options) -> Environment:
    """What the wheel of a package requires; nothing, with the reason, where it cannot be resolved or had."""
    tree, seen = store.unpacked(cache, artefact)
    told = wheel.told(tree, seen, package.name)
    if isinstance(told, Rejection) or not any(needed(told.requires)):
        return (), ()
    where = store.entry(cache, package.name, package.version, "lock.json")
    try:
        pins = _recall(where, artefact)
        if pins is None:
            if offline:
                raise SourceError("not locked yet, and the network may not be used")
            with tempfile.TemporaryDirectory(prefix="lock-", dir=cache) as scratch:
                pins = resolve(cache / "artefacts" / artefact.sha256 / artefact.file, Path(scratch))
            store.remember(where, {"sha256": artefact.sha256, "packages": [asdict(pin) for pin in pins]})
        _obtain(pins, cache, offline)
    except SourceError as error:
        return (), (no_environment(package.name, str(error)),)
    return tuple(_locked(cache, pin, options) for pin in pins), ()


def of_sdist(package: Package) -> tuple[Rejection, ...]:
    """An sdist is never built, so that its requirements are not known for sure."""
    return (no_environment(package.name, "only an sdist, whose requirements pip would have to build it for"),)


def _recall(where: Path, artefact: Artefact) -> tuple[Pin, ...] | None:
    """The lock that was made for the same artefact before."""
    try:
        found = json.loads(where.read_text("utf-8"))
        return tuple(Pin(**row) for row in found["packages"]) if found["sha256"] == artefact.sha256 else None
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError):
        return None


def _artefact(pin: Pin) -> Artefact:
    return Artefact(file=pin.file, sha256=pin.sha256, url=pin.url)


def _obtain(pins: Iterable[Pin], cache: Path, offline: bool) -> None:
    """Take into the cache what is not there yet. Raises SourceError."""
    wanted = [pin for pin in pins if pin.small and not store.is_kept(cache, _artefact(pin))]
    if wanted and offline:
        raise SourceError(f"{wanted[0].file} is not in the cache, and the network may not be used")
    with tempfile.TemporaryDirectory(prefix="download-", dir=cache) as scratch:
        for pin, path in download(wanted, Path(scratch)).items():
            store.keep(cache, path, pin.url)
            where = store.entry(cache, pin.name, pin.version)
            if not where.exists():
                store.remember(where, asdict(_artefact(pin)))


@lru_cache(maxsize=512)
def _locked(cache: Path, pin: Pin, options: Options) -> Package:
    """One package of a lock; read once for all that require it, since a hash names its content."""
    spec = f"pypi:{pin.name}=={pin.version}"
    bare = Package(name=pin.name, version=pin.version, spec=spec, root="", files=(), url=pin.url, sha256=pin.sha256)
    if not pin.small:
        size = "of unknown size" if pin.size is None else f"of {pin.size:,} bytes"
        barred = Rejection(subject=pin.name, stage="scrape", reason="too-large", detail=f"a wheel {size} is not read")
        return replace(bare, barred=barred)
    try:
        tree, seen = store.unpacked(cache, _artefact(pin))
    except Hostile as hostile:
        barred = Rejection(subject=pin.name, stage="scrape", reason=hostile.reason, detail=hostile.detail)
        return replace(bare, barred=barred)
    found, _ = wheel.read_wheel(tree, seen, pin.name, spec, options)
    if isinstance(found, Rejection):
        return replace(bare, barred=found)
    return replace(found, url=pin.url, sha256=pin.sha256, released=seen.newest)
