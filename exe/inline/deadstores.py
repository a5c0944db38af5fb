"""Dead stores: earlier definitions of a name that is bound again before anything can read them.

A definition is dead when it does nothing but bind that one name, the next one replaces it whatever happens, and no
statement from the one to the other reads the name: not by itself, and not through a function that it might call.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection, Iterator
from typing import Final

from exe.analysis.scopes import Reading
from exe.analysis.targets import Builtin, Foreign, Slot
from exe.inline.order import Timeline
from exe.inline.reading import UnitReading

_MAKERS: Final = frozenset(
    ["bool", "bytes", "dict", "float", "frozenset", "int", "list", "object", "range", "set", "str", "tuple"]
)
_FOREIGN_MAKERS: Final = ("re.compile", "collections.", "typing.", "decimal.Decimal", "fractions.Fraction", "types.")


def dead_stores(
    timeline: Timeline,
    selected: Collection[int],
    read: Callable[[int], UnitReading | None],
    touches: Callable[[int], bool],
) -> set[int]:
    """Positions among `selected` that are dead.

    `read` gives the reading of a unit, None for imports; `touches` tells whether a unit changes anything that is needed.
    """
    found: set[int] = set()
    bound: dict[Slot, list[int]] = {}
    for position in sorted(selected):
        unit = timeline.units[position]
        for name in unit.binds:
            bound.setdefault(Slot(unit.module.name, name), []).append(position)
    for slot, positions in bound.items():
        for first, second in itertools.pairwise(positions):
            one, two = read(first), read(second)
            if one is None or two is None or not _only_binds(one, slot) or touches(first):
                continue
            if _replaces(two, slot) and not _may_read(slot, first, second, selected, read):
                found.add(first)
    return found


def _only_binds(reading: UnitReading, slot: Slot) -> bool:
    node = reading.unit.node
    if list(reading.unit.binds) != [slot.name]:
        return False
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return not node.decorator_list and all(
                map(_literal, [*node.args.defaults, *filter(None, node.args.kw_defaults)])
            )
        case ast.Assign(targets=[ast.Name()], value=value):
            return _makes_only(reading, value)
        case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
            return _makes_only(reading, value)
        case _:
            return False


def _literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.Name)


def _makes_only(reading: UnitReading, value: ast.expr) -> bool:
    """Whether a value is made without doing anything to what is there."""
    makers = set(_makers(reading))
    for node in ast.walk(value):
        match node:
            case ast.Call(func=func) if id(func) not in makers:
                return False
            case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr() | ast.Subscript() | ast.BinOp():
                return False
            case ast.comprehension():
                return False
            case _:
                pass
    return True


def _makers(reading: UnitReading) -> Iterator[int]:
    """Ids of the expressions that name a built-in or standard-library thing whose call only makes something."""
    for use, found in reading.uses:
        top = use.attributes[-1] if use.attributes else use.node
        match found.target:
            case Builtin(name=name) if name in _MAKERS and not use.attributes:
                yield id(top)
            case Foreign(dotted=dotted):
                text = ".".join([dotted, *(attribute.attr for attribute in use.attributes[found.used :])])
                if text.startswith(_FOREIGN_MAKERS):
                    yield id(top)
            case _:
                pass


def _replaces(reading: UnitReading, slot: Slot) -> bool:
    """Whether a unit binds the name whatever happens, and does not read it first."""
    match reading.unit.node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            pass
        case ast.Assign(targets=targets) if any(isinstance(one, ast.Name) and one.id == slot.name for one in targets):
            pass
        case ast.AnnAssign(target=ast.Name(), value=ast.expr()):
            pass
        case _:
            return False
    return not any(
        found.target == slot and not use.deferred and use.context == "load" and use.reading is not Reading.NEVER
        for use, found in reading.uses
    )


def _may_read(
    slot: Slot, first: int, second: int, selected: Collection[int], read: Callable[[int], UnitReading | None]
) -> bool:
    calls = False
    between = [position for position in sorted(selected) if first < position <= second]
    for position in between:
        reading = read(position)
        if reading is None:
            return True  # an import: what it copies is not looked into
        calls = calls or any(use.called and not use.deferred for use, _ in reading.uses)
        if position != second and any(found.target == slot for _, found in reading.uses):
            return True
    if not calls:
        return False
    earlier = [read(position) for position in selected if position <= second]
    return any(
        found.target == slot and use.deferred
        for reading in earlier
        if reading is not None
        for use, found in reading.uses
    )
