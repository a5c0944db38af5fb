"""Globals that a program has to do without: what binds them cannot be taken over.

A table that is read from a file beside the package, a flag that tells whether a library is there: as long as only bodies that calls run
ask for such a global, the program is made without it, and a call that comes to ask is found out when it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from exe.analysis.targets import Slot
from exe.inline.annotations import Assumed
from exe.inline.dynamic import piece_key
from exe.inline.reading import UnitReading
from exe.inline.result import Hazard, Refused

Lost = Mapping[Slot, Refused]
"""Globals that nothing in the program binds, and why."""


def at_once(reading: UnitReading, lost: Lost, assumed: Assumed) -> Refused | None:
    """Why a statement cannot be taken over that needs such a global when it runs; None where it does not."""
    return next((lost[slot] for slot, key, _ in _uses(reading, lost, assumed) if key is None), None)


def later(reading: UnitReading, lost: Lost, assumed: Assumed, name_of: Callable[[Slot], str]) -> Iterator[Hazard]:
    """The hazards in a statement's functions that ask for such a global, by the names that the program has for them."""
    module = reading.unit.module.name
    for slot, key, line in _uses(reading, lost, assumed):
        if key is not None:
            name, why = name_of(slot), lost[slot]
            yield Hazard(why.reason, f"{why}, for {slot.name} at {module}:{line}", module, key, name=name, at=name)


def _uses(reading: UnitReading, lost: Lost, assumed: Assumed) -> Iterator[tuple[Slot, str | None, int]]:
    """The uses of such globals: which, the function that they are in (None: they run with the statement), the line."""
    if isinstance(reading.unit.node, ast.Import | ast.ImportFrom):
        return
    for use, found in reading.uses:
        target = found.target
        if isinstance(target, Slot) and target in lost and assumed.evaluates(reading.unit, use, found):
            yield target, piece_key(use.scope) if use.deferred else None, use.node.lineno
    for entry in reading.imports:
        if entry.how == "assign" and isinstance(entry.target, Slot) and entry.target in lost:
            yield entry.target, piece_key(entry.scope), entry.node.lineno
