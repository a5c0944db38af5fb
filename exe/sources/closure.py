"""What an installed distribution stands on: its requirements, theirs, and so on, as far as they are installed here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name


def installed_closure(name: str) -> tuple[str, ...]:
    """Normalised names of all distributions that `name` needs, sorted, itself left out; empty where it is not installed.

    Of `name` every extra counts, since nothing records which were asked for; of the others those that something asks for.
    """
    here = str(canonicalize_name(name))
    root = _installed(here)
    if root is None:
        return ()
    seen: dict[str, set[str]] = {here: {"", *(root.metadata.get_all("Provides-Extra") or [])}}
    waiting: list[str] = [here]
    while waiting:
        current = waiting.pop()
        found = _installed(current)
        if found is None:
            del seen[current]
            continue
        for needed, extras in _requirements(found, seen[current]):
            before = seen.get(needed, set())
            if needed not in seen or not extras <= before:
                seen[needed] = before | extras
                waiting.append(needed)
    return tuple(sorted(set(seen) - {here}))


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _requirements(found: Distribution, extras: Iterable[str]) -> Iterator[tuple[str, set[str]]]:
    """(normalised name, extras) of what a distribution requires on this platform, with these extras of its own."""
    for text in found.requires or []:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue  # it names nothing that could be looked up
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            yield canonicalize_name(requirement.name), {"", *requirement.extras}
