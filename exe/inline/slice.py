"""What a function needs: the backward slice of a timeline, closed over reads, bindings and mutations."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from exe.analysis import static
from exe.analysis.imports import Imported, star_source
from exe.analysis.scopes import Reading, Use
from exe.analysis.targets import Builtin, Foreign, Missing, ModuleRef, Slot, Target
from exe.analysis.units import Unit, lookup_in
from exe.inline.annotations import Assumed, names_nothing
from exe.inline.changes import chain_root
from exe.inline.codecnames import asked
from exe.inline.deadstores import dead_stores
from exe.inline.dynamic import hazard, piece_key
from exe.inline.effects import Effects, effects_in, touched_by
from exe.inline.members import Members, Part, unmangled
from exe.inline.modulenames import looks_up, tells
from exe.inline.namespaces import member_names
from exe.inline.order import Timeline
from exe.inline.reading import Reader, Resolved, UnitReading, there
from exe.inline.result import Hazard, Refused

_ROUNDS: Final = 5
"""How often the closure is taken anew: annotations turn out to be read, earlier definitions to be dead."""

RELATED: Final = {"copy": ("copyreg",), "pickle": ("copyreg",)}
"""Standard-library modules whose state shows through another one."""

LITERAL_DUNDERS: Final = ("__name__", "__package__")


Wanted = Slot | Foreign | ModuleRef


@dataclass(eq=False)
class Slice:
    """The units that a program is made of, in order, with everything resolved."""

    timeline: Timeline
    entry: Slot
    readings: list[UnitReading]
    foreign: dict[Foreign, None]
    late: list[str]
    assumed: Assumed
    slicer: Slicer
    namespaces: dict[ModuleRef, dict[str, Target]]

    @cached_property
    def shows_modules(self) -> bool:
        """Whether the module of a class can become text in the program."""
        return any(reading.shows_module for reading in self.readings) or any(map(tells, self.foreign))

    @cached_property
    def reads_modules(self) -> bool:
        """Whether the module of a function, or of anything, is asked for, or a module looked up by its name."""
        asked = any(reading.reads_module for reading in self.readings)
        return asked or any(tells(one) or looks_up(one) for one in self.foreign)

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

    def close(self, entry: Slot, roots: Iterable[Slot], mentions: Collection[str] | None = ()) -> Slice:
        """The slice for an entry and further roots.

        `mentions` are names of methods that the caller will ask for, None to keep all methods. Raises Refused.
        """
        assumed = Assumed()
        excluded: set[int] = set()
        for _ in range(_ROUNDS):
            closure = _Closure(self, assumed, excluded)
            closure.mention(mentions)
            for slot in (entry, *roots):
                closure.need(slot)
            closure.run()
            readings = [self._pruned(position, closure) for position in sorted(closure.selected)]
            found = assumed.found(readings, closure.foreign)
            dead = dead_stores(self.timeline, closure.selected, self._reading_at, closure.touches)
            if found == assumed and not dead:
                break
            assumed |= found
            excluded |= dead
        late = sorted(closure.late)
        return Slice(self.timeline, entry, readings, closure.foreign, late, found, self, closure.namespaces)

    def _pruned(self, position: int, closure: _Closure) -> UnitReading:
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
        reading = self.reading(pruned)
        assert isinstance(unit.node, ast.ClassDef)
        gone = {f"{unit.node.name}.{name}" for name in dropped}
        reading.hazards = {one: None for one in whole.hazards if one.key not in gone}
        return reading

    def _reading_at(self, position: int) -> UnitReading | None:
        unit = self.timeline.units[position]
        return None if isinstance(unit.node, ast.Import | ast.ImportFrom) else self.reading(unit)


class _Closure:
    def __init__(self, slicer: Slicer, assumed: Assumed, excluded: Set[int] = frozenset()) -> None:
        self.slicer = slicer
        self.timeline = slicer.timeline
        self.assumed = assumed
        self.selected: set[int] = set()
        self.excluded = excluded
        self.foreign: dict[Foreign, None] = {}
        self.late: set[str] = set()
        self.namespaces: dict[ModuleRef, dict[str, Target]] = {}
        self._seen: set[Wanted] = set()
        self._queue: list[Wanted] = []
        self._work: list[tuple[int, str]] = []  # positions of units with the method to take in, "" for the rest
        self.taken: set[tuple[int, str]] = set()
        self._mentioned: set[str] | None = set()  # None: every name is
        self._waiting: dict[str, list[tuple[int, str]]] = {}  # methods by the name that has to be mentioned
        self._stores: dict[str, list[int]] = {}  # units that assign such an attribute of a class
        self.asks_subclasses = False

    def mention(self, names: Iterable[str] | None) -> None:
        """Takes in the methods of these names, of all classes, now and from now on; None for all names."""
        if self._mentioned is None:
            return
        if names is None:
            self._mentioned = None
            self._work += [one for waiting in self._waiting.values() for one in waiting]
            for position in [one for waiting in self._stores.values() for one in waiting]:
                self._add(position)
            return
        for name in names:
            if name not in self._mentioned:
                self._mentioned.add(name)
                self._work += self._waiting.pop(name, ())
                for position in self._stores.pop(name, ()):
                    self._add(position)

    def need(self, wanted: Wanted) -> None:
        if wanted not in self._seen:
            self._seen.add(wanted)
            self._queue.append(wanted)

    def touches(self, position: int) -> bool:
        """Whether a unit changes something that is needed, apart from what it binds."""
        return any(touched in self._seen for touched in touched_by(self.slicer.project, self.timeline.units[position]))

    def run(self) -> None:
        """Follows needs until there are no more."""
        while self._queue or self._work:
            self._drain()
            self._subclasses()
            self._submodules()

    def _drain(self) -> None:
        while self._queue or self._work:
            if self._work:
                self._select(*self._work.pop())
                continue
            wanted = self._queue.pop()
            if isinstance(wanted, ModuleRef):
                self._namespace(wanted)
                continue
            if isinstance(wanted, Slot):
                for position in self._binders(wanted):
                    self._add(position)
                    unit = self.timeline.units[position]
                    if isinstance(unit.node, ast.Import | ast.ImportFrom):
                        self._import_name(unit, wanted.name)
            for position in self.slicer.touchers.get(wanted, ()):
                name = self.slicer.members.stored(self.timeline.units[position], wanted)
                if name is None or self._mentioned is None or name in self._mentioned:
                    self._add(position)
                else:
                    self._stores.setdefault(name, []).append(position)

    def _namespace(self, module: ModuleRef) -> None:
        """A module used as a value needs all its names."""
        if module.name not in self.timeline.loaded:
            self.late.add(module.name)
            return
        members = self.namespaces[module] = {}
        for name in member_names(self.slicer.project, module.name):
            target = self.slicer.target(module.name, name)
            match target:
                case Foreign(known=True) if there(target):
                    self._foreign(target)
                case Slot() | ModuleRef():
                    self.need(target)
                case _:
                    raise Refused("module-escapes", f"{module.name}.{name} is not there")
            members[name] = target

    def _add(self, position: int) -> None:
        if position not in self.selected and position not in self.excluded:
            self.selected.add(position)
            self._work.append((position, ""))

    def _subclasses(self) -> None:
        """Where `__subclasses__` is asked, classes that nobody names count."""
        if self.asks_subclasses:
            for base, positions in self.slicer.subclasses.items():
                if base in self._seen:
                    for position in positions:
                        self._add(position)
                        node = self.timeline.units[position].node
                        if isinstance(node, ast.ClassDef):
                            self.need(Slot(self.timeline.units[position].module.name, node.name))

    def _submodules(self) -> None:
        """Loaded modules of a package that is used as a value, where an attribute of that name is asked for."""
        packages = [module for module in self.namespaces if self.slicer.project.table(module.name).module.is_package]
        if not packages:
            return
        asked: set[str] = set()
        for position in self.selected:
            asked |= self.slicer.reading(self.timeline.units[position]).attribute_names
        for module in packages:
            for loaded in self.timeline.loaded:
                parent, _, last = loaded.rpartition(".")
                if parent == module.name and last in asked and last not in self.namespaces[module]:
                    self.namespaces[module][last] = ModuleRef(loaded)
                    self.need(ModuleRef(loaded))

    def _binders(self, slot: Slot) -> list[int]:
        if slot.module not in self.timeline.loaded:
            self.late.add(slot.module)
            return []
        positions = self.timeline.binders.get(slot)
        if positions is None:
            if slot.name in self.slicer.project.table(slot.module).declared:
                return []
            raise Refused("unbound-name", f"{slot.module}.{slot.name}")
        if len(positions) > 1:
            given = [one for one in positions if self.slicer.star_gives(self.timeline.units[one], slot.name)]
            positions = given or positions
            real = [one for one in positions if not self._overload(self.timeline.units[one])]
            return real or positions
        return positions

    def _overload(self, unit: Unit) -> bool:
        if not isinstance(unit.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        for decorator in unit.node.decorator_list:
            text = static.dotted(decorator)
            if text is not None:
                found = lookup_in(self.slicer.project, self.slicer.project.table(unit.module.name), text)
                if found in ("typing.overload", "typing_extensions.overload"):
                    return True
        return False

    def _select(self, position: int, member: str = "") -> None:
        unit = self.timeline.units[position]
        if isinstance(unit.node, ast.Import | ast.ImportFrom) or (position, member) in self.taken:
            return
        self.taken.add((position, member))
        reading = self.slicer.reading(unit)
        self.asks_subclasses = self.asks_subclasses or reading.asks_subclasses
        split = self.slicer.members.split(reading)
        part = split.members[member] if member else split.core
        for wanted in self._needs(reading, part):
            if isinstance(wanted, Foreign):
                self._foreign(wanted)
            else:
                self.need(wanted)
        if not member:
            for wanted in self.slicer.asked_by_name(unit):
                self.need(wanted)
            for name in split.members:
                self._await(unit, position, name)
        self.mention(None if part.dynamic else part.mentions)

    def _await(self, unit: Unit, position: int, name: str) -> None:
        """Takes a method in as soon as something mentions it."""
        assert isinstance(unit.node, ast.ClassDef)
        spellings = list(unmangled(name, unit.node.name))
        if self._mentioned is None or not self._mentioned.isdisjoint(spellings):
            self._work.append((position, name))
            return
        for spelling in spellings:
            self._waiting.setdefault(spelling, []).append((position, name))

    def _needs(self, reading: UnitReading, part: Part) -> tuple[Wanted, ...]:
        """Everything that a part needs evaluated, computed once. Raises Refused where it needs what cannot be had."""
        known = part.needs.get(self.assumed)
        if known is None:
            wanted: dict[Wanted, None] = {}
            try:
                for entry in part.imports:
                    if entry.how == "assign" and isinstance(entry.target, Slot | ModuleRef):
                        wanted[entry.target] = None
                for use, found in part.uses:
                    if self.assumed.evaluates(reading.unit, use, found) and not names_nothing(reading.unit, use, found):
                        whole = self._require(reading, use, found)
                        if isinstance(found.target, Slot | Foreign) or (isinstance(found.target, ModuleRef) and whole):
                            wanted[found.target] = None
                known = tuple(wanted)
            except Refused as refusal:
                known = refusal
            part.needs[self.assumed] = known
        if isinstance(known, Refused):
            raise Refused(known.reason, str(known))
        return known

    def _import_name(self, unit: Unit, name: str) -> None:
        """An import that stands for a variable of its own: what it copies is needed."""
        target = unit.binds[name]
        if target is None:
            return
        found = self.slicer.import_target(target.module, target.attribute)
        match found:
            case Slot() | ModuleRef():
                self.need(found)
            case Foreign(known=True):
                self._foreign(found)
            case _:
                raise Refused(self.slicer.project.why_missing(f"{target.module}.{target.attribute}"), target.module)

    def _hazard(self, reading: UnitReading, use: Use, found: Resolved) -> None:
        one = hazard(self.slicer.project, reading.unit, use, found.target, found.used)
        if one is not None:
            reading.hazards[one] = None

    def _require(self, reading: UnitReading, use: Use, found: Resolved) -> bool:
        """Notes what stands in the way of a use, False where it does. Raises Refused where it is in the way of loading."""
        target, where = found.target, f"{reading.unit.module.name}:{use.node.lineno}"
        match target:
            case Slot():
                if found.used and use.context != "load" and found.used == len(use.attributes) and use.deferred:
                    self._refuse(reading, use, "module-attribute-assigned", f"{target.module}.{target.name} at {where}")
            case Foreign(known=True) if there(target):
                self._hazard(reading, use, found)
            case Foreign():
                reason = self.slicer.project.why_missing(target.dotted)
                self._refuse(reading, use, reason, f"{target.dotted} at {where}")
            case ModuleRef(name=name):
                try:
                    member_names(self.slicer.project, name)
                    if use.context != "load":
                        raise Refused("module-escapes", f"an attribute of {name} is assigned")
                except Refused as refusal:
                    self._refuse(reading, use, refusal.reason, f"{refusal} at {where}")
                    return False
            case Builtin() if use.reading is Reading.NONE:
                self._hazard(reading, use, found)
            case Missing(name=name, reason="module-attribute"):
                if name not in LITERAL_DUNDERS or use.context != "load":
                    self._refuse(reading, use, "module-attribute", f"{name} at {where}")
            case Missing(name=name, reason=reason):
                told = self.slicer.project.why_missing(name) if reason == "unresolved-import" else reason
                self._refuse(reading, use, told, f"{name} at {where}")
        return True

    def _refuse(self, reading: UnitReading, use: Use, reason: str, detail: str) -> None:
        """What is wrong with a use counts where it runs with the unit; in a body of its own, where that is reached."""
        key = piece_key(use.scope) if use.deferred else None
        if key is None:
            raise Refused(reason, detail)
        reading.hazards[Hazard(reason, detail, key, use.name, use.name)] = None

    def _foreign(self, target: Foreign) -> None:
        self.foreign[target] = None
        self.need(Foreign(target.module, None, True))
        for other in RELATED.get(target.module, ()):
            self.need(Foreign(other, None, True))
