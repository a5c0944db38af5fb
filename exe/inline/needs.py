"""What a part of a unit needs evaluated, and what in it cannot be relied on: told of the part alone, once for all programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from exe.analysis.project import Project
from exe.analysis.scopes import Reading, Use
from exe.analysis.targets import Builtin, Foreign, Missing, ModuleRef, Slot
from exe.inline.annotations import Assumed, names_nothing
from exe.inline.dynamic import hazard, piece_key
from exe.inline.libstate import shown
from exe.inline.members import Part
from exe.inline.namespaces import member_names
from exe.inline.reading import Resolved, UnitReading, there
from exe.inline.result import Hazard, Refused
from exe.inline.tables import made_empty

LITERAL_DUNDERS: Final = ("__name__", "__package__")


class Bare(NamedTuple):
    """A global that is a table of which nobody asks what others put in it."""

    slot: Slot


Wanted = Slot | Foreign | ModuleRef | Bare


@dataclass(frozen=True, slots=True)
class Needs:
    """What has to be there for a part, each once, the state of libraries that shows, and the hazards in bodies that only calls run."""

    wanted: tuple[Wanted, ...]
    state: frozenset[Foreign]
    hazards: tuple[Hazard, ...]


def needs_of(project: Project, reading: UnitReading, part: Part, assumed: Assumed) -> Needs:
    """The needs of a part of a unit under an assumption about annotations. Raises Refused for what loading cannot do without."""
    wanted: dict[Wanted, None] = {}
    state: set[Foreign] = set()
    hazards: dict[Hazard, None] = {}
    for entry in part.imports:
        if entry.how == "assign" and isinstance(entry.target, Slot | ModuleRef):
            wanted[entry.target] = None
    binds_empty = made_empty(reading.unit.node) is not None
    for use, found in part.uses:
        if binds_empty and use.context == "store" and isinstance(found.target, Slot):
            continue  # whoever wanted the table has said how
        if not assumed.evaluates(reading.unit, use, found) or names_nothing(reading.unit, use, found):
            continue
        hindrance = _hindrance(project, reading, use, found)
        if hindrance is not None:
            hazards[hindrance] = None
        escapes = hindrance is not None and isinstance(found.target, ModuleRef)
        if isinstance(found.target, Slot) and _only_written(project, reading, use, found, assumed):
            wanted[Bare(found.target)] = None
        elif isinstance(found.target, Slot | Foreign | ModuleRef) and not escapes:
            wanted[found.target] = None
        if isinstance(found.target, Foreign) and hindrance is None:
            state.update(shown(found.target, found.text(use)))
    return Needs(tuple(wanted), frozenset(state), tuple(hazards))


def _only_written(project: Project, reading: UnitReading, use: Use, found: Resolved, assumed: Assumed) -> bool:
    """Whether a use puts something in a table, made by its own module, that is nothing but a table."""
    if id(use.node) not in reading.puts and (assumed.classes or id(use.node) not in reading.guards):
        return False
    target = found.target
    if not isinstance(target, Slot) or target != Slot(reading.unit.module.name, use.name) or not use.deferred:
        return False
    table = project.table(target.module)
    units = table.binders.get(target.name, [])
    if len(units) != 1 or target.name in table.declared:
        return False
    kind = made_empty(units[0].node)
    return kind is dict or (kind is list and bool(use.attributes))  # an item of a list may not be there


def _hindrance(project: Project, reading: UnitReading, use: Use, found: Resolved) -> Hazard | None:
    """What stands in the way of a use where a call comes to it. Raises Refused where it stands in the way of loading."""
    target, where = found.target, f"{reading.unit.module.name}:{use.node.lineno}"
    match target:
        case Slot():
            if found.used and use.context != "load" and found.used == len(use.attributes) and use.deferred:
                return _later(reading, use, "module-attribute-assigned", f"{target.module}.{target.name} at {where}")
        case Foreign(known=True) if there(target):
            return hazard(project, reading.unit, use, target, found.used)
        case Foreign():
            return _later(reading, use, project.why_missing(target.dotted), f"{target.dotted} at {where}")
        case ModuleRef(name=name):
            try:
                member_names(project, name)
                if use.context != "load":
                    raise Refused("module-escapes", f"an attribute of {name} is assigned")
            except Refused as refusal:
                return _later(reading, use, refusal.reason, f"{refusal} at {where}")
        case Builtin() if use.reading is Reading.NONE:
            return hazard(project, reading.unit, use, target, found.used)
        case Missing(name=name, reason="module-attribute"):
            if name not in LITERAL_DUNDERS or use.context != "load":
                return _later(reading, use, "module-attribute", f"{name} at {where}")
        case Missing(name=name, reason=reason):
            told = project.why_missing(name) if reason == "unresolved-import" else reason
            return _later(reading, use, told, f"{name} at {where}")
    return None


def _later(reading: UnitReading, use: Use, reason: str, detail: str) -> Hazard:
    """What is wrong with a use counts where it runs with the unit; in a body of its own, where that is reached."""
    key = piece_key(use.scope) if use.deferred else None
    if key is None:
        raise Refused(reason, detail)
    return Hazard(reason, detail, reading.unit.module.name, key, use.name, use.name)
