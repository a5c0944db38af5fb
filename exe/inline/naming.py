"""Names in the program: as written where possible, told apart readably where two modules use one name."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from exe.analysis.project import Builtin, Foreign, Slot
from exe.analysis.scopes import Use, captured
from exe.inline.result import Refused
from exe.inline.slice import Resolved, Slice, UnitReading


@dataclass(frozen=True, slots=True)
class ForeignName:
    """A standard-library module or member under the name that a module gives it."""

    module: str
    attribute: str | None
    preferred: str


Key = Slot | ForeignName

_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(eq=False)
class Naming:
    """Emitted names. `owners` tells who has a name as written; `builtins` which builtins have to be qualified."""

    emitted: dict[Key, str] = field(default_factory=dict)
    owners: dict[str, Key] = field(default_factory=dict)
    builtins: set[str] = field(default_factory=set)
    avoid: set[str] = field(default_factory=set)

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


class _Requests:
    """Who wants which name, and which names each cannot have."""

    def __init__(self, slice_: Slice) -> None:
        self.slice = slice_
        self.keys: dict[Key, str] = {}
        self.forbidden: dict[Key, set[str]] = {}
        self.pinned: set[Key] = set()
        self.builtins: set[str] = set()
        self.names: set[str] = set()
        self.defined_at: dict[Slot, int] = {}
        for position, reading in enumerate(slice_.readings):
            self._unit(position, reading)

    def _unit(self, position: int, reading: UnitReading) -> None:
        unit = reading.unit
        module = unit.module.name
        imports = isinstance(unit.node, ast.Import | ast.ImportFrom)
        for name in unit.binds:
            slot = Slot(module, name)
            if not imports:
                self.keys[slot] = name
                if isinstance(unit.node, _DEFINITIONS):
                    self.defined_at[slot] = position
        for statement, scope in unit.names.globals:
            for name in statement.names:
                if scope.kind != "module":
                    self.keys.setdefault(Slot(module, name), name)
        self.pinned.update(Slot(module, name) for name in unit.names.fixed if name in unit.binds)
        self.pinned.update(reading.pinned)
        self.names |= identifiers(reading)
        for use, found in reading.uses:
            self._use(use, found, reading)
        for entry in reading.imports:
            if entry.how == "assign" and isinstance(entry.target, Slot) and entry.scope.kind != "module":
                self.forbidden.setdefault(entry.target, set()).update(set(entry.scope.bound) | set(entry.scope.imports))

    def _use(self, use: Use, found: Resolved, reading: UnitReading) -> None:
        target = found.target
        if isinstance(target, Builtin):
            self.builtins.add(target.name)
            return
        key: Key
        if isinstance(target, Foreign):
            if not target.known:
                return
            key = foreign_name(use, found)
            if target not in self.slice.foreign:
                return
            self.keys.setdefault(key, key.preferred)
        elif isinstance(target, Slot):
            key = target
            if use.name.startswith("__") and use.name != use.node.id:
                self.pinned.add(key)
        else:
            return
        local = use.scope.kind != "module"
        if local and (found.used or use.home is not None):
            dropped = {entry.bound for entry in reading.imports if entry.how == "drop"}
            taken = captured(use)
            if use.home is not None and not use.ambiguous:
                taken = taken - dropped
            if not use.ambiguous:
                self.forbidden.setdefault(key, set()).update(taken)


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
    for reading in slice_.readings:
        for _, found in reading.uses:
            if isinstance(found.target, Slot) and found.target not in requests.keys:
                _adopt(found.target, slice_, requests)
    naming = Naming(avoid=requests.names | set(requests.keys.values()))
    wanted: dict[str, list[Key]] = {}
    for key, name in requests.keys.items():
        wanted.setdefault(name, []).append(key)
    for name in sorted(wanted):
        _share(name, wanted[name], slice_, requests, naming)
    return naming


def _adopt(slot: Slot, slice_: Slice, requests: _Requests) -> None:
    for reading in slice_.readings:
        unit = reading.unit
        if unit.module.name == slot.module and slot.name in unit.binds:
            requests.keys[slot] = slot.name
            return


def _share(name: str, keys: list[Key], slice_: Slice, requests: _Requests, naming: Naming) -> None:
    """Gives a name to one of those who want it, and other names to the rest."""
    builtin = name in requests.builtins
    able = [key for key in keys if name not in requests.forbidden.get(key, ()) and (not builtin or key == slice_.entry)]
    able.sort(key=lambda key: _rank(key, slice_, requests))
    owner = able[0] if able else None
    if owner is not None:
        naming.emitted[owner] = name
        naming.owners[name] = owner
        if builtin:
            naming.builtins.add(name)
    for key in sorted(keys, key=_order):
        if key == owner:
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
