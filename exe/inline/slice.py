"""What a function needs: the backward slice of a timeline, closed over reads, bindings and mutations."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from exe.analysis import static
from exe.analysis.imports import Imported, star_source
from exe.analysis.targets import Foreign, ModuleRef, Slot, Target
from exe.analysis.units import Unit
from exe.inline.annotations import Assumed
from exe.inline.changes import chain_root
from exe.inline.closure import Closure, Closures
from exe.inline.codecnames import asked
from exe.inline.deadstores import dead_stores
from exe.inline.effects import Effects, effects_in, touched_by
from exe.inline.libstate import TABLES
from exe.inline.lost import Lost, at_once
from exe.inline.members import Members
from exe.inline.modulenames import asks_functions, looks_up, tells
from exe.inline.order import Timeline
from exe.inline.reading import Reader, UnitReading
from exe.inline.result import Hazard, Refused

_EVIDENTLY: Final = 1.1
"""How far over the limit a slice is as written that need not become a program to tell."""

_OMISSIONS: Final = 20
"""How often statements that need what was left out may be left out too."""

_ROUNDS: Final = 5
"""How often the closure is taken anew: annotations turn out to be read, earlier definitions to be dead."""


@dataclass(eq=False)
class Slice:
    """The units that a program is made of, in order, with everything resolved."""

    timeline: Timeline
    entry: Slot
    readings: list[UnitReading]
    hazards: dict[UnitReading, tuple[Hazard, ...]]
    foreign: Set[Foreign]
    late: list[str]
    assumed: Assumed
    slicer: Slicer
    namespaces: dict[ModuleRef, dict[str, Target]]
    lost: Lost

    @cached_property
    def library(self) -> frozenset[str]:
        """The dotted names of what it uses of libraries, as long as they are written; of what escapes, the module's or member's own."""
        used = {found.target for reading in self.readings for _, found in reading.uses}
        texts = {text for reading in self.readings for text in reading.library}
        texts.update(one.dotted for one in self.foreign if one not in used)
        texts.update(
            one.dotted for members in self.namespaces.values() for one in members.values() if isinstance(one, Foreign)
        )
        for reading in self.readings:
            if isinstance(reading.unit.node, ast.Import | ast.ImportFrom):
                given = [self.resolve_import(one) for one in reading.unit.binds.values() if one is not None]
                texts.update(one.dotted for one in given if isinstance(one, Foreign))
        return frozenset(texts)

    @cached_property
    def shows_modules(self) -> bool:
        """Whether the module of a class can become text in the program."""
        if any(reading.shows_module for reading in self.readings) or any(map(tells, self.library)):
            return True
        tests = {test for reading in self.readings for test in reading.module_tests}
        modules = {"__main__", "program", *(reading.unit.module.name for reading in self.readings)}
        return any(test is None or any(one.startswith(test) for one in modules) for test in tests)

    @cached_property
    def asks_functions(self) -> bool:
        """Whether a function may be asked for its module."""
        return any(reading.reads_module for reading in self.readings) or any(map(asks_functions, self.library))

    @cached_property
    def looks_up(self) -> bool:
        """Whether a module may be looked up by the name that a class has."""
        return any(map(looks_up, self.library))

    def star_gives(self, unit: Unit, name: str) -> bool:
        """Whether an import gives a name: a star import in a circle gives only what is bound by then."""
        return self.slicer.star_gives(unit, name)

    def resolve_import(self, imported: Imported) -> Target:
        """What an import gives on this timeline."""
        return self.slicer.import_target(imported.module, imported.attribute)


class Slicer(Reader):
    """Closes the needs of functions over one timeline. What it learns of units is kept for the next function."""

    @cached_property
    def touchers(self) -> dict[Slot | Foreign, list[int]]:
        """Positions of the units that change a global, or the state of a library."""
        found: dict[Slot | Foreign, list[int]] = {}
        for position, unit in enumerate(self.timeline.units):
            for touched in touched_by(self.project, unit):
                found.setdefault(touched, []).append(position)
        for alias, original in self._aliases():
            if alias in found:
                found[original] = sorted({*found.get(original, ()), *found[alias]})
        return found

    @cached_property
    def named(self) -> frozenset[Foreign]:
        """What is registered with the standard library under a name."""
        found = {one for one in self.touchers if isinstance(one, Foreign) and one.module == "codecs" and one.attribute}
        return frozenset(found)

    def asked_by_name(self, unit: Unit) -> Set[Foreign]:
        """What of `named` a statement may ask for."""
        return asked(unit, self.named) if self.named else self.named

    @property
    def effects(self) -> Effects:
        """What calling a function changes."""
        return effects_in(self.project)

    def star_gives(self, unit: Unit, name: str) -> bool:
        """Whether an import gives a name: a star import in a circle gives only what is bound by then."""
        imported = unit.binds[name]
        if imported is None or star_source(unit.module, unit.node) is None:
            return True
        target = self.import_target(imported.module, imported.attribute)
        binders = self.timeline.binders.get(target) if isinstance(target, Slot) else None
        return binders is None or binders[0] < self.timeline.position[unit]

    def _aliases(self) -> list[tuple[Slot, Slot]]:
        """(alias, original) of the globals that stand for (a part of) another one, later ones first."""
        pairs: list[tuple[Slot, Slot]] = []
        for unit in self.timeline.units:
            node = unit.node
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.For):
                root = chain_root(node.iter if isinstance(node, ast.For) else node.value)
                use = next((one for one in unit.names.uses if one.node is root), None) if root is not None else None
                if use is not None:
                    target = self.resolve(unit, use).target
                    if isinstance(target, Slot):
                        pairs += [(Slot(unit.module.name, name), target) for name in unit.binds]
            elif isinstance(node, ast.Import | ast.ImportFrom):
                pairs += self._copies(unit)
        return pairs[::-1]

    def _copies(self, unit: Unit) -> Iterator[tuple[Slot, Slot]]:
        """The variables of its own that an import binds, with what they are copies of."""
        for name, imported in unit.binds.items():
            own = Slot(unit.module.name, name)
            if imported is not None and imported.attribute is not None and self.target(own.module, own.name) == own:
                target = self.import_target(imported.module, imported.attribute)
                if isinstance(target, Slot) and target != own:
                    yield own, target

    @cached_property
    def subclasses(self) -> dict[Slot, list[int]]:
        """Positions of the classes that derive from a class of the project."""
        found: dict[Slot, list[int]] = {}
        for position, unit in enumerate(self.timeline.units):
            if isinstance(unit.node, ast.ClassDef):
                for base in unit.node.bases:
                    text = static.dotted(base)
                    target = self.project.dotted(unit.module.name, text) if text else None
                    bases = [target] if isinstance(target, Slot) else self._of_variable(unit, text or "")
                    for one in bases:
                        found.setdefault(one, []).append(position)
        return found

    def _of_variable(self, unit: Unit, text: str) -> list[Slot]:
        """What a base may be that is an attribute of a variable: everything of that name."""
        first, _, last = text.rpartition(".")
        if not first or not isinstance(self.project.target(unit.module.name, first.partition(".")[0]), Slot):
            return []
        return [Slot(name, last) for name in self.timeline.loaded if last in self.project.table(name).binders]

    # ---- closure ----------------------------------------------------------------------------------------------------

    @cached_property
    def members(self) -> Members:
        """What classes can do without; shared by all timelines of a project."""
        known: Members = self.project.cache.setdefault("members", Members(self.project))
        return known

    @cached_property
    def closures(self) -> Closures:
        """The parts that globals come with, on this timeline."""
        return Closures(self)

    def close(self, entry: Slot, roots: Iterable[Slot], mentions: Collection[str] | None, characters: int) -> Slice:
        """The slice for an entry and further roots.

        `mentions` are names of methods that the caller will ask for, None to keep all methods. What evidently has more than
        so many characters is not closed any further. Raises Refused.
        """
        assumed = Assumed()
        excluded: frozenset[int] = frozenset()
        wanted = frozenset((entry, *roots))
        named = None if mentions is None else frozenset(mentions)
        omitted: dict[int, Refused] = {}
        for _ in range(_ROUNDS):
            closure, readings, lost = self._without(wanted, named, assumed, excluded, omitted)
            written = sum(reading.length for reading in readings)
            if written > characters * _EVIDENTLY:
                raise Refused("too-large", f"{written} characters as written")
            found = assumed.found(readings, closure.foreign)
            dead = dead_stores(self.timeline, closure.selected, self._reading_at, closure.touches)
            if found == assumed and not dead:
                break
            assumed |= found
            excluded |= dead
        late = sorted(closure.late)
        hazards = {reading: tuple(reading.hazards) for reading in readings if reading.hazards}
        by_position = {self.timeline.position[reading.unit]: reading for reading in readings}
        for position, one in sorted(closure.hazards):
            reading = by_position[position]
            hazards[reading] = (*hazards.get(reading, ()), one)
        return Slice(
            self.timeline, entry, readings, hazards, closure.foreign, late, found, self, closure.objects(), lost
        )

    def _without(
        self,
        wanted: Set[Slot],
        named: Set[str] | None,
        assumed: Assumed,
        excluded: frozenset[int],
        omitted: dict[int, Refused],
    ) -> tuple[Closure, list[UnitReading], Lost]:
        """The closure without what cannot be taken over, its statements, and the globals that it then has to do without.

        `omitted` are the units left out, and why: those that follow are added. Raises Refused where it cannot do without them.
        """
        for _ in range(_OMISSIONS):
            closure = self.closures.close(wanted, named, assumed, excluded.union(omitted))
            lost: dict[Slot | Foreign, Refused] = dict(closure.lost.items())
            for position, refusal in (omitted | closure.refused).items():
                module = self.timeline.units[position].module.name
                lost.update((Slot(module, name), refusal) for name in self.timeline.units[position].binds)
            for slot in sorted(wanted):
                if slot in lost:
                    raise lost[slot]
            for position in sorted(omitted):
                tables = closure.touched(position) - lost.keys()
                if closure.tells(position) or not tables.issubset(TABLES):
                    raise omitted[position]
                lost.update(dict.fromkeys(tables, omitted[position]))
            new = dict(closure.refused)
            readings: list[UnitReading] = []
            for position in sorted(closure.selected - new.keys()):
                reading = self._pruned(position, closure)
                why = (at_once(reading, lost, assumed) or self._copied(reading.unit, lost, closure)) if lost else None
                if why is None:
                    readings.append(reading)
                else:
                    new[position] = why
            if not new:
                self._check_namespaces(closure, lost)
                return closure, readings, lost
            omitted |= new
        raise next(iter(omitted.values()))

    def _copied(self, unit: Unit, lost: Lost, closure: Closure) -> Refused | None:
        """Why an import gives nothing to a variable of its own that is needed."""
        for name, imported in unit.binds.items():
            if imported is not None and closure.needs(Slot(unit.module.name, name)):
                target = self.import_target(imported.module, imported.attribute)
                if isinstance(target, Slot) and target in lost:
                    return lost[target]
        return None

    def _check_namespaces(self, closure: Closure, lost: Lost) -> None:
        """Raises Refused where the object for a module would lack an attribute."""
        for members in closure.namespaces.values():
            for target in members.values():
                if isinstance(target, Slot) and target in lost:
                    raise lost[target]

    def _pruned(self, position: int, closure: Closure) -> UnitReading:
        """The reading of a selected unit, of a class without the methods that nobody came to mention."""
        whole = self.reading(self.timeline.units[position])
        unit = whole.unit
        split = self.members.split(whole)
        dropped = frozenset(name for name in split.members if (position, name) not in closure.taken)
        if not dropped:
            return whole
        nodes = [node for name in sorted(dropped) for node in split.nodes[name]]
        pruned = self.members.pruned(unit, dropped, nodes)
        self.timeline.position[pruned] = position
        return self.reading(pruned)

    def _reading_at(self, position: int) -> UnitReading | None:
        unit = self.timeline.units[position]
        return None if isinstance(unit.node, ast.Import | ast.ImportFrom) else self.reading(unit)
