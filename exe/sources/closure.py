"""What a distribution stands on: its requirements, theirs, and so on, as far as they are installed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

Find = Callable[[str], Distribution | None]
"""A distribution by its normalised name, None where it is not installed."""


def installed_closure(name: str) -> tuple[str, ...]:
    """Normalised names of all distributions that `name` needs, sorted, itself left out; empty where it is not installed.

    Of `name` every extra counts, since nothing records which were asked for; of the others those that something asks for.
    """
    here = str(canonicalize_name(name))
    root = _installed(here)
    if root is None:
        return ()
    asked = needed(root.requires or (), {"", *(root.metadata.get_all("Provides-Extra") or [])})
    found, _ = closure(asked, _installed)
    return tuple(each for each in found if each != here)


def closure(asked: Iterable[Requirement], find: Find) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Normalised names of what `asked` needs, itself included: those that `find` knows, and those that it does not."""
    seen: dict[str, set[str]] = {}
    missing: set[str] = set()
    waiting = list(asked)
    while waiting:
        requirement = waiting.pop()
        name, extras = str(canonicalize_name(requirement.name)), {"", *requirement.extras}
        before = seen.get(name, set())
        if name in missing or (name in seen and extras <= before):
            continue
        found = find(name)
        if found is None:
            missing.add(name)
            continue
        seen[name] = before | extras
        waiting += needed(found.requires or (), seen[name])
    return tuple(sorted(seen)), tuple(sorted(missing))


def needed(requires: Iterable[str], extras: Iterable[str] = ("",)) -> Iterator[Requirement]:
    """The requirements that hold on this platform, for a distribution with these extras of its own."""
    chosen = tuple(extras)
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue  # it names nothing that could be looked up
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in chosen):
            yield requirement


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
