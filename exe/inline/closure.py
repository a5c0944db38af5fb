"""What comes with a global: the least set of parts that is closed under needs, changes and the methods that are mentioned.

A closure only grows, so whatever it comes to need brings at least that thing's own closure. Those of things that many functions need
are taken over whole (`Closures`). Refusals are told by a closure without such help: which one comes first must not depend on what was
inlined before.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from exe.analysis import static
from exe.analysis.project import Project
from exe.analysis.targets import Foreign, ModuleRef, Slot, Target
from exe.analysis.units import Unit, lookup_in
from exe.inline.annotations import Assumed
from exe.inline.effects import touched_by
from exe.inline.libstate import all_shown
from exe.inline.members import COMMON, Part, Split, unmangled
from exe.inline.namespaces import member_names
from exe.inline.needs import Bare, Wanted, needs_of
from exe.inline.reading import UnitReading, there
from exe.inline.result import Hazard, Refused

if TYPE_CHECKING:
    from exe.inline.slice import Slicer

T = TypeVar("T")

_NO_LAST_WORD: Final = "dependency-needed"
"""The reason of what is there as soon as the dependencies are read as well."""

OFTEN: Final = 3
"""How many closures have to need a thing before its own is made to be taken over."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a part brings at once: needs, what it uses of libraries, methods with the names that have to be mentioned, and what
    it mentions itself.
    """

    wanted: frozenset[Wanted]
    foreign: frozenset[Foreign]
    awaits: tuple[tuple[str, tuple[str, ...]], ...]
    mentions: frozenset[str] | None  # None: every name
    asks_subclasses: bool
    hazards: tuple[Hazard, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a needed thing brings at once: units, units that change it by an attribute of that name, and further needs."""

    positions: tuple[int, ...] = ()
    stores: tuple[tuple[str, int], ...] = ()
    wanted: frozenset[Wanted] = frozenset()
    foreign: frozenset[Foreign] = frozenset()
    late: str | None = None


class Closures:
    """Closures over one timeline. Steps, expansions and closures of what is often needed are kept for the next function."""

    def __init__(self, slicer: Slicer) -> None:
        self.slicer = slicer
        self._steps: dict[tuple[Part, Assumed], Step | Refused] = slicer.project.cache.setdefault("steps", {})
        self._expansions: dict[Wanted, Expansion | Refused] = {}
        self._making = False
        self._asked: Counter[tuple[Wanted, Assumed, frozenset[int]]] = Counter()
        self._often: dict[tuple[Wanted, Assumed, frozenset[int]], Closure | None] = {}

    def close(
        self, wanted: Set[Wanted], mentions: Set[str] | None, assumed: Assumed, excluded: frozenset[int]
    ) -> Closure:
        """The closure of some needs and of methods that will be asked for. Raises Refused."""
        try:
            return self._closed(wanted, mentions, assumed, excluded, helped=True)
        except Refused:
            return self._closed(wanted, mentions, assumed, excluded, helped=False)

    def _closed(
        self,
        wanted: Set[Wanted],
        mentions: Set[str] | None,
        assumed: Assumed,
        excluded: frozenset[int],
        *,
        helped: bool,
    ) -> Closure:
        closure = Closure(self, assumed, excluded, helped=helped)
        closure.mention(mentions)
        closure.need(wanted)
        closure.run()
        return closure

    def often(self, wanted: Wanted, assumed: Assumed, excluded: frozenset[int]) -> Closure | None:
        """The closure of a thing that is often needed, None for any other and where there is none."""
        key = wanted, assumed, excluded
        if key in self._often or self._making:
            return self._often.get(key)
        self._asked[key] += 1
        if self._asked[key] <= OFTEN:
            return None
        self._making = True  # one after the other: things that need each other would be waited for in a circle
        try:
            found = self._closed({wanted}, frozenset(), assumed, excluded, helped=True)
        except Refused:
            found = None
        finally:
            self._making = False
        self._often[key] = found
        return found

    def step(self, position: int, member: str, assumed: Assumed) -> Step:
        """What a part brings; of a unit that is read alike on every timeline it is told once. Raises Refused."""
        reading = self.slicer.reading(self.slicer.timeline.units[position])
        split = self.slicer.members.split(reading)
        part = split.members[member] if member else split.core
        known = self._steps.get((part, assumed))
        if known is None:
            try:
                known = _step(self.slicer.project, reading, split, part, assumed)
            except Refused as refusal:
                known = refusal
            self._steps[part, assumed] = known
        if isinstance(known, Refused):
            raise Refused(known.reason, str(known))
        return known

    def expansion(self, wanted: Wanted) -> Expansion:
        """What a needed thing brings. Raises Refused."""
        known = self._expansions.get(wanted)
        if known is None:
            try:
                known = self._expansion(wanted)
            except Refused as refusal:
                known = refusal
            self._expansions[wanted] = known
        if isinstance(known, Refused):
            raise Refused(known.reason, str(known))
        return known

    def _expansion(self, wanted: Wanted) -> Expansion:
        units = self.slicer.timeline.units
        positions: list[int] = []
        stores: list[tuple[str, int]] = []
        further: set[Wanted] = set()
        late: str | None = None
        if isinstance(wanted, Slot):
            if wanted.module in self.slicer.timeline.loaded:
                positions += self._binders(wanted)
            else:
                late = wanted.module
            for position in positions:
                if isinstance(units[position].node, ast.Import | ast.ImportFrom):
                    further |= self._imported(units[position], wanted.name)
        if isinstance(wanted, Bare):
            return Expansion(tuple(self._binders(wanted.slot)))
        for position in self.slicer.touchers.get(wanted, ()) if not isinstance(wanted, ModuleRef) else ():
            name = self.slicer.members.stored(units[position], wanted)
            if name is None:
                positions.append(position)
            else:
                stores.append((name, position))
        foreign = frozenset(one for one in further if isinstance(one, Foreign))
        return Expansion(
            tuple(positions), tuple(stores), frozenset({*(further - foreign), *all_shown(foreign)}), foreign, late
        )

    def _imported(self, unit: Unit, name: str) -> Set[Wanted]:
        """An import that stands for a variable of its own: what it copies is needed."""
        imported = unit.binds[name]
        if imported is None:
            return frozenset()
        found = self.slicer.import_target(imported.module, imported.attribute)
        match found:
            case Slot() | ModuleRef() | Foreign(known=True):
                return {found}
            case _:
                raise Refused(
                    self.slicer.project.why_missing(f"{imported.module}.{imported.attribute}"), imported.module
                )

    def _binders(self, slot: Slot) -> list[int]:
        positions = self.slicer.timeline.binders.get(slot)
        if positions is None:
            if slot.name in self.slicer.project.table(slot.module).declared:
                return []
            raise Refused("unbound-name", f"{slot.module}.{slot.name}")
        if len(positions) > 1:
            units = self.slicer.timeline.units
            given = [one for one in positions if self.slicer.star_gives(units[one], slot.name)]
            positions = given or positions
            real = [one for one in positions if not self._overload(units[one])]
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


def _step(project: Project, reading: UnitReading, split: Split, part: Part, assumed: Assumed) -> Step:
    needs = needs_of(project, reading, part, assumed)
    foreign = frozenset(one for one in needs.wanted if isinstance(one, Foreign))
    wanted = {*(one for one in needs.wanted if not isinstance(one, Foreign)), *needs.state}
    awaits: list[tuple[str, tuple[str, ...]]] = []
    if part is split.core and split.members:
        assert isinstance(reading.unit.node, ast.ClassDef)
        awaits = [(name, tuple(unmangled(name, reading.unit.node.name))) for name in split.members]
    mentions = None if part.dynamic else part.mentions
    return Step(frozenset(wanted), foreign, tuple(awaits), mentions, reading.asks_subclasses, needs.hazards)


class Closure:
    """One closure. `taken` are positions of units with the methods that are in, "" standing for the rest of a unit."""

    def __init__(self, closures: Closures, assumed: Assumed, excluded: frozenset[int], *, helped: bool) -> None:
        self.assumed = assumed
        self.selected: set[int] = set()
        self.late: set[str] = set()
        self.foreign: set[Foreign] = set()
        self.hazards: set[tuple[int, Hazard]] = set()  # with the position of the unit
        self.namespaces: dict[ModuleRef, dict[str, Target]] = {}
        self.refused: dict[int, Refused] = {}  # units that cannot be taken over
        self.lost: dict[Slot, Refused] = {}  # globals for which there are no units
        self._closures = closures
        self._slicer = closures.slicer
        self._excluded = excluded
        self._helped = helped
        self._seen: set[Wanted] = set()
        self._covered: set[Wanted] = set()  # things whose closures have been taken over
        self._queue: list[Wanted] = []
        self._work: list[tuple[int, str]] = []  # positions of units with the method to take in, "" for the rest
        self.taken: set[tuple[int, str]] = set()
        self._mentioned: set[str] | None = set()  # None: every name is
        self._waiting: dict[str, set[tuple[int, str]]] = {}  # methods by the name that has to be mentioned
        self._stores: dict[str, set[int]] = {}  # units that assign such an attribute of a class
        self._members: dict[str, set[ModuleRef]] = {}  # modules as values that have such an attribute
        self._asks_subclasses = False

    def mention(self, names: Set[str] | None) -> None:
        """Takes in the methods of these names, of all classes, now and from now on; None for all names."""
        if self._mentioned is None:
            return
        if names is None:
            self._mentioned = None
            self._work += self._ordered(one for waiting in self._waiting.values() for one in waiting)
            self._add(self._ordered(one for waiting in self._stores.values() for one in waiting))
            for name, modules in self._members.items():
                self._give(name, modules)
            return
        for name in self._ordered(names - self._mentioned):
            self._mentioned.add(name)
            self._work += self._ordered(self._waiting.pop(name, ()))
            self._add(self._ordered(self._stores.pop(name, ())))
            self._give(name, self._members.pop(name, ()))

    def need(self, wanted: Set[Wanted]) -> None:
        """Takes in these things, now or when `run` comes to them."""
        new = wanted - self._seen
        self._seen |= new
        self._queue += self._ordered(new)

    def _ordered(self, things: Iterable[T]) -> Iterable[T]:
        """In an order that no hash decides, where it tells which refusal comes first."""
        return things if self._helped else sorted(things, key=repr)

    def needs(self, wanted: Wanted) -> bool:
        """Whether a thing is in."""
        return wanted in self._seen

    def touches(self, position: int) -> bool:
        """Whether a unit changes something that is needed, apart from what it binds."""
        return bool(self.touched(position))

    def touched(self, position: int) -> set[Slot | Foreign]:
        """What a unit changes that is needed, apart from what it binds."""
        touched = touched_by(self._slicer.project, self._slicer.timeline.units[position])
        return {one for one in touched if one in self._seen}

    def tells(self, position: int) -> bool:
        """Whether a class is asked for that derives from a needed one, for `__subclasses__`."""
        subclasses = self._slicer.subclasses.items() if self._asks_subclasses else ()
        return any(position in positions and base in self._seen for base, positions in subclasses)

    def run(self) -> None:
        """Follows needs until there are no more."""
        while self._queue or self._work:
            while self._queue or self._work:
                if self._work:
                    self._select(*self._work.pop())
                else:
                    self._expand(self._queue.pop())
            self._subclasses()
            self._submodules()

    def _select(self, position: int, member: str) -> None:
        if (position, member) in self.taken:
            return
        if isinstance(self._slicer.timeline.units[position].node, ast.Import | ast.ImportFrom):
            return
        self.taken.add((position, member))
        try:
            step = self._closures.step(position, member, self.assumed)
        except Refused as refusal:
            if refusal.reason == _NO_LAST_WORD:
                raise
            known = self.refused.setdefault(position, refusal)
            if (refusal.reason, str(refusal)) < (known.reason, str(known)):
                self.refused[position] = refusal  # whichever of its methods comes first
            return
        self._asks_subclasses = self._asks_subclasses or step.asks_subclasses
        self.foreign |= step.foreign
        self.hazards.update((position, one) for one in step.hazards)
        self.need(step.wanted)
        if not member:
            self.need(self._slicer.asked_by_name(self._slicer.timeline.units[position]))
        for name, spellings in step.awaits:
            if self._mentioned is None or not self._mentioned.isdisjoint(spellings):
                self._work.append((position, name))
            else:
                for spelling in spellings:
                    self._waiting.setdefault(spelling, set()).add((position, name))
        self.mention(step.mentions)

    def _expand(self, wanted: Wanted) -> None:
        if wanted in self._covered:
            return
        if self._helped and isinstance(wanted, Slot):
            known = self._closures.often(wanted, self.assumed, self._excluded)
            if known is not None:
                self._take_over(known)
                return
        if isinstance(wanted, ModuleRef):
            self._namespace(wanted)
            return
        try:
            found = self._closures.expansion(wanted)
        except Refused as refusal:
            if not isinstance(wanted, Slot | Bare) or refusal.reason == _NO_LAST_WORD:
                raise
            self.lost[wanted.slot if isinstance(wanted, Bare) else wanted] = refusal
            return
        if found.late is not None:
            self.late.add(found.late)
        self._add(found.positions)
        self.foreign |= found.foreign
        self.need(found.wanted)
        for name, position in found.stores:
            self._store(name, (position,))

    def _take_over(self, other: Closure) -> None:
        """Everything that another closure came to, and what its parts still wait for."""
        self._seen |= other._seen
        self._covered |= other._seen
        self.selected |= other.selected
        self.taken |= other.taken
        self.late |= other.late
        self.foreign |= other.foreign
        self.hazards |= other.hazards
        self.refused |= other.refused
        self.lost |= other.lost
        self._asks_subclasses = self._asks_subclasses or other._asks_subclasses
        for module, members in other.namespaces.items():
            self.namespaces.setdefault(module, {}).update(members)
        for name, waiting in other._waiting.items():
            if self._mentioned is None or name in self._mentioned:
                self._work += waiting
            else:
                self._waiting.setdefault(name, set()).update(waiting)
        for name, positions in other._stores.items():
            self._store(name, positions)
        for name, modules in other._members.items():
            self._member(name, modules)
        self.mention(other._mentioned)

    def _store(self, name: str, positions: Iterable[int]) -> None:
        if self._mentioned is None or name in self._mentioned:
            self._add(positions)
        else:
            self._stores.setdefault(name, set()).update(positions)

    def _namespace(self, module: ModuleRef) -> None:
        """A module used as a value needs those of its names that somebody mentions."""
        if module.name not in self._slicer.timeline.loaded:
            self.late.add(module.name)
            return
        self.namespaces.setdefault(module, {})
        for name in member_names(self._slicer.project, module.name):
            self._member(name, {module})

    def _member(self, name: str, modules: Set[ModuleRef]) -> None:
        if self._mentioned is None or name in self._mentioned or name in COMMON:
            self._give(name, modules)
        else:
            self._members.setdefault(name, set()).update(modules)

    def _give(self, name: str, modules: Iterable[ModuleRef]) -> None:
        """Takes in an attribute of modules that are values."""
        for module in self._ordered(modules):
            target = self._slicer.target(module.name, name)
            match target:
                case Foreign(known=True) if there(target):
                    self.foreign.add(target)
                    self.need({*all_shown((target,))})
                case Slot() | ModuleRef():
                    self.need({target})
                case _:
                    raise Refused("module-escapes", f"{module.name}.{name} is not there")
            self.namespaces[module][name] = target

    def objects(self) -> dict[ModuleRef, dict[str, Target]]:
        """The modules used as values with their attributes, these in the order of their binding, loaded submodules last."""
        found: dict[ModuleRef, dict[str, Target]] = {}
        for module, members in self.namespaces.items():
            listed = [name for name in member_names(self._slicer.project, module.name) if name in members]
            listed += sorted(members.keys() - set(listed))
            found[module] = {name: members[name] for name in listed}
        return found

    def _add(self, positions: Iterable[int]) -> None:
        for position in positions:
            if position not in self.selected and position not in self._excluded:
                self.selected.add(position)
                self._work.append((position, ""))

    def _subclasses(self) -> None:
        """Where `__subclasses__` is asked, classes that nobody names count."""
        if not self._asks_subclasses:
            return
        for base, positions in self._slicer.subclasses.items():
            if base in self._seen:
                self._add(positions)
                for position in positions:
                    unit = self._slicer.timeline.units[position]
                    if isinstance(unit.node, ast.ClassDef):
                        self.need({Slot(unit.module.name, unit.node.name)})

    def _submodules(self) -> None:
        """Loaded modules of a package that is used as a value, where an attribute of that name is asked for."""
        slicer = self._slicer
        packages = [module for module in self.namespaces if slicer.project.table(module.name).module.is_package]
        if not packages:
            return
        asked: set[str] = set()
        for position in self.selected:
            asked |= slicer.reading(slicer.timeline.units[position]).attribute_names
        for module in packages:
            for loaded in slicer.timeline.loaded:
                parent, _, last = loaded.rpartition(".")
                if parent == module.name and last in asked and last not in self.namespaces[module]:
                    self.namespaces[module][last] = ModuleRef(loaded)
                    self.need({ModuleRef(loaded)})
