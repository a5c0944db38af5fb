"""What a statement needs as soon as it runs, by itself and by the functions that it calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from exe.analysis.targets import Slot
from exe.inline.reading import UnitReading


def binding(readings: Iterable[UnitReading]) -> dict[Slot, list[UnitReading]]:
    """The units that bind each global."""
    units: dict[Slot, list[UnitReading]] = {}
    for reading in readings:
        for bound in reading.unit.binds:
            units.setdefault(Slot(reading.unit.module.name, bound), []).append(reading)
    return units


def needed_at_once(reading: UnitReading, units: Mapping[Slot, list[UnitReading]]) -> tuple[set[Slot], set[str]]:
    """Globals read when a unit runs: by itself, and by the functions that it calls; modules that those import."""
    found: set[Slot] = set(reading.demands.now)
    imported: set[str] = set()
    called: list[Slot] = list(reading.demands.called_now)
    seen: set[Slot] = set()
    while called:
        slot = called.pop()
        if slot in seen:
            continue
        seen.add(slot)
        for inner in units.get(slot, ()):
            found |= inner.demands.later
            called += inner.demands.called_later
            imported |= inner.imported_later
    return found, imported
