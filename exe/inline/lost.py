"""Globals that a program has to do without: what binds them cannot be taken over.

A table that is read from a file beside the package, a flag that tells whether a library is there: as long as only bodies that calls run
ask for such a global, the program is made without it, and a call that comes to ask is found out when it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from exe.analysis.scopes import ImportNode
from exe.analysis.targets import Foreign, Slot
from exe.inline.annotations import Assumed
from exe.inline.dynamic import piece_key
from exe.inline.libstate import shown
from exe.inline.reading import UnitReading
from exe.inline.result import Hazard, Refused

Lost = Mapping[Slot | Foreign, Refused]
"""Globals that nothing in the program binds, tables of `sys` that lack an entry, and why."""


_Node = ast.Name | ImportNode


def at_once(reading: UnitReading, lost: Lost, assumed: Assumed) -> Refused | None:
    """Why a statement cannot be taken over that needs such a global when it runs; None where it does not."""
    return next((lost[one] for one, key, _ in _uses(reading, lost, assumed) if key is None), None)


def later(reading: UnitReading, lost: Lost, assumed: Assumed, name_of: Callable[[Slot], str]) -> Iterator[Hazard]:
    """The hazards in a statement's functions that ask for such a global, by the names that the program has for them."""
    module = reading.unit.module.name
    for one, key, node in _uses(reading, lost, assumed):
        if key is None:
            continue
        why, named = lost[one], one.name if isinstance(one, Slot) else one.dotted
        name = name_of(one) if isinstance(one, Slot) else ""
        at = name or (node.id if isinstance(node, ast.Name) else "")
        yield Hazard(why.reason, f"{why}, for {named} at {module}:{node.lineno}", module, key, name=name, at=at)


def _uses(reading: UnitReading, lost: Lost, assumed: Assumed) -> Iterator[tuple[Slot | Foreign, str | None, _Node]]:
    """The uses of such things: which, the function that they are in (None: they run with the statement), the place."""
    if isinstance(reading.unit.node, ast.Import | ast.ImportFrom) or lost.keys().isdisjoint(reading.named):
        return
    for use, found in reading.uses:
        target = found.target
        shows = shown(target, found.text(use)) if isinstance(target, Foreign) else (target,)
        one = next((one for one in shows if isinstance(one, Slot | Foreign) and one in lost), None)
        if one is not None and assumed.evaluates(reading.unit, use, found):
            yield one, piece_key(use.scope) if use.deferred else None, use.node
    for entry in reading.imports:
        if entry.how == "assign" and isinstance(entry.target, Slot) and entry.target in lost:
            yield entry.target, piece_key(entry.scope), entry.node
