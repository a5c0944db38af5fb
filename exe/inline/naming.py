"""Names in the program: as written where possible, told apart readably where two modules use one name."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from exe.analysis.scopes import Use, captured
from exe.analysis.targets import Builtin, Foreign, Missing, ModuleRef, Slot, Target
from exe.inline.annotations import names_nothing
from exe.inline.reading import Resolved, UnitReading
from exe.inline.result import Refused
from exe.inline.slice import Slice


@dataclass(frozen=True, slots=True)
class ForeignName:
    """A standard-library module or member under the name that a module gives it."""

    module: str
    attribute: str | None
    preferred: str


@dataclass(frozen=True, slots=True)
class NamespaceName:
    """The object that stands for a module of the project where it is used as a value."""

    module: str

    @property
    def preferred(self) -> str:
        """The last part of the module's name."""
        return self.module.rpartition(".")[2]

    @property
    def attribute(self) -> str:
        """What tells it apart from a standard-library module in the order of keys."""
        return "*"


Key = Slot | ForeignName | NamespaceName

_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(eq=False)
class Naming:
    """Emitted names. `owners` tells who has a name as written; `builtins` which builtins have to be qualified.

    `unbound` are names that the program must not have: annotations that are read name them in vain.
    """

    emitted: dict[Key, str] = field(default_factory=dict)
    owners: dict[str, Key] = field(default_factory=dict)
    builtins: set[str] = field(default_factory=set)
    avoid: set[str] = field(default_factory=set)
    unbound: set[str] = field(default_factory=set)

    def of(self, target: Target, preferred: str = "") -> str:
        """The name of something that the program has for certain."""
        match target:
            case ModuleRef(name=name):
                return self.emitted[NamespaceName(name)]
            case Foreign(module=module, attribute=attribute):
                return self.emitted[ForeignName(module, attribute, preferred)]
            case Slot():
                return self.emitted[target]
            case _:
                raise AssertionError(target)

    def fresh(self, base: str, *hints: str) -> str:
        """A name that nothing in the program uses yet."""
        stem = base
        for hint in hints:
            stem = f"{base}_{hint}"
            if stem not in self.avoid:
                self.avoid.add(stem)
                return stem
        number = 2
        while f"{stem}_{number}" in self.avoid:
            number += 1
        name = f"{stem}_{number}"
        self.avoid.add(name)
        return name


def foreign_name(use: Use, found: Resolved) -> ForeignName:
    """The import that a use of something foreign needs: under the name that its module gives it."""
    assert isinstance(found.target, Foreign)
    preferred = use.name if not found.used else use.attributes[found.used - 1].attr
    return ForeignName(found.target.module, found.target.attribute, preferred)


@dataclass(eq=False)
class Summary:
    """What one unit asks of names: keys in order of their use, names that each cannot have, builtins that it reads."""

    keys: dict[Key, str] = field(default_factory=dict)
    used: dict[Key, None] = field(default_factory=dict)
    forbidden: dict[Key, set[str]] = field(default_factory=dict)
    pinned: set[Key] = field(default_factory=set)
    deleted: set[Key] = field(default_factory=set)
    later: set[Key] = field(default_factory=set)  # read by functions
    builtins: set[str] = field(default_factory=set)
    unbound: set[str] = field(default_factory=set)  # named by annotations, and not there
    identifiers: set[str] = field(default_factory=set)
    foreign: dict[ForeignName, Foreign] = field(default_factory=dict)


def summary(reading: UnitReading) -> Summary:
    """The summary of a unit, computed once."""
    found = reading.summary
    if not isinstance(found, Summary):
        found = reading.summary = _summarize(reading)
    return found


def _summarize(reading: UnitReading) -> Summary:
    unit = reading.unit
    module = unit.module.name
    result = Summary(identifiers=identifiers(reading))
    if not isinstance(unit.node, ast.Import | ast.ImportFrom):
        result.keys.update((Slot(module, name), name) for name in unit.binds)
    for statement, scope in unit.names.globals:
        if scope.kind != "module":
            result.keys.update((Slot(module, name), name) for name in statement.names)
    result.pinned.update(Slot(module, name) for name in unit.names.fixed if name in unit.binds)
    result.pinned.update(reading.pinned)
    for use, found in reading.uses:
        _summarize_use(use, found, reading, result)
    for entry in reading.imports:
        if entry.how == "assign" and isinstance(entry.target, Slot | ModuleRef):
            key = entry.target if isinstance(entry.target, Slot) else NamespaceName(entry.target.name)
            result.used[key] = None
            if entry.scope.kind != "module":
                taken = set(entry.scope.bound) | set(entry.scope.imports)
                result.forbidden.setdefault(key, set()).update(taken)
    return result


def _summarize_use(use: Use, found: Resolved, reading: UnitReading, result: Summary) -> None:
    target = found.target
    key: Key
    match target:
        case Builtin(name=name):
            result.builtins.add(name)
            return
        case Foreign(known=True):
            key = foreign_name(use, found)
            result.foreign[key] = target
        case ModuleRef(name=name):
            key = NamespaceName(name)
        case Missing() if names_nothing(reading.unit, use, found):
            result.unbound.add(use.name)
            return
        case Slot():
            key = target
            if use.context == "delete" and not found.used:
                result.deleted.add(key)
            elif use.deferred:
                result.later.add(key)
            if use.name.startswith("__") and use.name != use.node.id:
                result.pinned.add(key)
        case _:
            return
    result.used[key] = None
    written = key.name if isinstance(key, Slot) else key.preferred
    moved = found.used or use.home is not None or use.node.id != written  # it stands where another name was written
    if use.scope.kind != "module" and moved and not use.ambiguous:
        taken = captured(use)
        if use.home is not None:
            taken -= {entry.bound for entry in reading.imports if entry.how == "drop"}
        result.forbidden.setdefault(key, set()).update(taken)


class _Requests:
    """Who wants which name, and which names each cannot have."""

    def __init__(self, slice_: Slice) -> None:
        self.keys: dict[Key, str] = {}
        self.forbidden: dict[Key, set[str]] = {}
        self.pinned: set[Key] = set()
        self.builtins: set[str] = set()
        self.unbound: set[str] = set()
        self.names: set[str] = set()
        self.defined_at: dict[Slot, int] = {}
        deleted: set[Key] = set()
        later: set[Key] = set()
        for position, reading in enumerate(slice_.readings):
            one = summary(reading)
            self.keys.update(one.keys)
            if isinstance(reading.unit.node, _DEFINITIONS):
                self.defined_at.update((Slot(reading.unit.module.name, name), position) for name in reading.unit.binds)
            self.keys.update((key, key.preferred) for key, target in one.foreign.items() if target in slice_.foreign)
            for key, names in one.forbidden.items():
                self.forbidden.setdefault(key, set()).update(names)
            self.pinned |= one.pinned
            deleted |= one.deleted
            later |= one.later
            self.builtins |= one.builtins
            self.unbound |= one.unbound if slice_.assumed.read else set()
            self.names |= one.identifiers
        self.pinned |= deleted & later  # the name shows: "name 'x' is not defined"
        for module, members in slice_.namespaces.items():
            self.keys[NamespaceName(module.name)] = NamespaceName(module.name).preferred
            for name, target in members.items():
                if isinstance(target, Foreign):
                    foreign = ForeignName(target.module, target.attribute, name)
                    self.keys.setdefault(foreign, name)
        if slice_.lost:
            used = [key for reading in slice_.readings for key in summary(reading).used]
            self.keys.update((key, key.name) for key in used if isinstance(key, Slot) and key in slice_.lost)
        self.passing = self._passing(slice_)

    def _passing(self, slice_: Slice) -> set[Key]:
        """Pinned names that nothing reads but the statements that bind them."""
        left = {key for key in self.pinned if isinstance(key, Slot)}
        for reading in slice_.readings:
            module, binds = reading.unit.module.name, reading.unit.binds
            for key in summary(reading).used:
                if key in left and isinstance(key, Slot) and not (key.module == module and key.name in binds):
                    left.discard(key)
        return set(left)


def identifiers(reading: UnitReading) -> set[str]:
    """Every name that occurs in a unit, used, bound, or an attribute."""
    names = {use.name for use in reading.unit.names.uses}
    names.update(attribute.attr for use in reading.unit.names.uses for attribute in use.attributes)
    for scope in reading.unit.names.scopes:
        names.update(scope.bound, scope.imports, scope.outside)
    names.update(reading.unit.binds)
    return names


def assign_names(slice_: Slice) -> Naming:
    """Names for everything that a slice emits. Raises Refused where two that cannot be renamed want one name."""
    requests = _Requests(slice_)
    # import units that stand for a variable of their own are slots too, when something reads them
    stood_for = {
        Slot(reading.unit.module.name, name): name for reading in slice_.readings for name in reading.unit.binds
    }
    for reading in slice_.readings:
        for key in summary(reading).used:
            if isinstance(key, Slot) and key not in requests.keys and key in stood_for:
                requests.keys[key] = key.name
    naming = Naming(avoid=requests.names | set(requests.keys.values()), unbound=requests.unbound)
    wanted: dict[str, list[Key]] = {}
    for key, name in requests.keys.items():
        wanted.setdefault(name, []).append(key)
    for name in sorted(wanted):
        _share(name, wanted[name], slice_, requests, naming)
    return naming


def _share(name: str, keys: list[Key], slice_: Slice, requests: _Requests, naming: Naming) -> None:
    """Gives a name to one of those who want it, and other names to the rest."""
    builtin = name in requests.builtins
    taken = builtin or name in requests.unbound
    able = [key for key in keys if name not in requests.forbidden.get(key, ()) and (not taken or key == slice_.entry)]
    able.sort(key=lambda key: _rank(key, slice_, requests))
    owner = able[0] if able else None
    if owner is not None:
        naming.emitted[owner] = name
        naming.owners[name] = owner
        if builtin:
            naming.builtins.add(name)
    passing = owner is not None and owner in requests.passing
    for key in sorted(keys, key=_order):
        if key == owner:
            continue
        if passing and key in requests.passing:
            naming.emitted[key] = name  # `except … as e` in two modules: gone before anyone else looks
            continue
        if key in requests.pinned or key == slice_.entry:
            raise Refused("name-collision", f"{name} of {_place(key)} cannot be renamed")
        naming.emitted[key] = naming.fresh(name.lstrip("_") if name.startswith("__") else name, *_hints(key))


def _rank(key: Key, slice_: Slice, requests: _Requests) -> tuple[int, int, str]:
    if key == slice_.entry:
        return (0, 0, "")
    if key in requests.pinned:
        return (1, 0, _place(key))
    if isinstance(key, Slot):
        if key in requests.defined_at:
            return (2, -requests.defined_at[key], _place(key))
        return (3, 0, _place(key))
    return (4, 0, _place(key))


def _order(key: Key) -> tuple[str, str]:
    return (type(key).__name__, _place(key))


def _place(key: Key) -> str:
    return f"{key.module}:{key.name}" if isinstance(key, Slot) else f"{key.module}:{key.attribute or ''}"


@cache
def _hints(key: Key) -> tuple[str, ...]:
    """What tells a name apart: the last part of its module's name, then more of it."""
    parts = [part.strip("_") for part in key.module.split(".") if part.strip("_")]
    if isinstance(key, ForeignName) and key.attribute is None:
        return ("module", *("_".join(parts[-count:]) for count in range(1, len(parts) + 1)))
    return tuple("_".join(parts[-count:]) for count in range(1, len(parts) + 1))
