"""The statements of a module that its import executes here: branches that are settled beforehand are taken."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol

from exe.analysis import static
from exe.analysis.imports import Imported, ImportedName, imported_names, star_source
from exe.analysis.modules import Module
from exe.analysis.scopes import Names, names_of
from exe.analysis.text import nodes_of
from exe.records import Package

IMPORT_ERRORS: Final = frozenset({"ImportError", "ModuleNotFoundError"})
WIDE_ERRORS: Final = frozenset({"Exception", "BaseException", ""})


class Surroundings(Protocol):
    """What reading one module has to know of the others."""

    def importable(self, name: ImportedName) -> bool:
        """Whether the import that binds this name works."""

    def loads(self, name: str) -> bool:
        """Whether importing a module works."""

    def opaque(self, module: str) -> Package | None:
        """The package that brings a module which is not read, None for modules that are read or not there."""

    def brought(self, name: ImportedName) -> Package | None:
        """The package that brings what an import asks for as something that is not read."""

    def star_names(self, module: str) -> tuple[str, ...] | None:
        """The names that a star import of a module binds, None where there is no such module."""

    def static_name(self, target: Imported, rest: list[str]) -> ast.expr | str | None:
        """What an imported name with further attributes stands for, see `static.Lookup`."""


@dataclass(eq=False)
class Unit:
    """A statement as it stands at the top of a module once settled branches are taken.

    `binds` maps each module global that it binds to what it is imported from, None for other bindings.
    `loads` are the modules that it imports, with the member asked for, in order. `omitted` are methods of a class that the
    statement was stripped of: they stand in the source, not in `node`.
    """

    module: Module
    index: int
    node: ast.stmt
    binds: dict[str, Imported | None] = field(default_factory=dict)
    aliases: dict[str, ast.alias] = field(default_factory=dict)
    loads: list[tuple[str, str | None]] = field(default_factory=list)
    omitted: list[ast.stmt] = field(default_factory=list)

    @cached_property
    def names(self) -> Names:
        """Scopes and uses of names."""
        return names_of(self.node)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the statement, breadth first."""
        return nodes_of(self.node)

    @property
    def compound(self) -> bool:
        """Whether it is a block whose course is decided when it runs."""
        return not isinstance(
            self.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
        ) and isinstance(self.node, ast.If | ast.Try | ast.For | ast.While | ast.With | ast.Match | ast.TryStar)


@dataclass(eq=False)
class UnitTable:
    """The units of a module and who binds what. `missing_stars`: star imports from modules that are not there."""

    module: Module
    units: list[Unit] = field(default_factory=list)
    binders: dict[str, list[Unit]] = field(default_factory=dict)
    declared: dict[str, list[Unit]] = field(default_factory=dict)  # name → units whose functions say `global name`
    missing_stars: list[str] = field(default_factory=list)
    loads: bool = True  # whether importing the module gets past its own imports
    raises: bool = False  # whether importing it comes to a `raise`, whatever else is there


class _Stop(Exception):
    """An import that fails, on the way through a module or a try block."""


class TableBuilder:
    """Walks the top level of one module in the order of execution."""

    def __init__(self, project: Surroundings, module: Module) -> None:
        self.project = project
        self.table = UnitTable(module)
        self.module = module

    def build(self) -> UnitTable:
        """The finished table. Statements behind an import that fails are read all the same, `loads` tells."""
        self.block(self.module.tree.body, guarded=False)
        if "global " in self.module.source:
            for unit in self.table.units:
                self._declared(unit)
        return self.table

    def _declared(self, unit: Unit) -> None:
        if not isinstance(unit.node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.Expr):
            for node in ast.walk(unit.node):
                if isinstance(node, ast.Global):
                    for name in node.names:
                        units = self.table.declared.setdefault(name, [])
                        if unit not in units:
                            units.append(unit)

    def block(self, body: Iterable[ast.stmt], guarded: bool) -> None:
        for node in body:
            if self.table.raises:
                return  # nothing behind a raise is ever executed
            self.statement(node, guarded)

    def statement(self, node: ast.stmt, guarded: bool) -> None:
        """Adds a statement; `guarded`: a failing import leaves through _Stop instead of being kept."""
        match node:
            case ast.If():
                value = static.evaluate(node.test, self.lookup)
                if value is static.UNKNOWN:
                    self.add(node)
                else:
                    self.block(node.body if value else node.orelse, guarded)
            case ast.Try():
                self.try_(node, guarded)
            case ast.Import() | ast.ImportFrom():
                self.import_(node, guarded)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as manager)]) if self._suppresses(manager):
                with suppress(_Stop):
                    self.block(node.body, guarded=True)
            case ast.Raise():
                self.raise_(guarded)
            case ast.Assert(test=test):
                value = static.evaluate(test, self.lookup)
                if value is static.UNKNOWN:
                    self.add(node)
                elif not value:
                    self.raise_(guarded)
            case ast.Pass():
                pass
            case _:
                self.add(node)

    def raise_(self, guarded: bool) -> None:
        """A statement that raises whatever else is there: a `raise`, an assertion that is settled to be false."""
        if guarded:
            raise _Stop
        self.table.loads = False
        self.table.raises = True

    def _suppresses(self, manager: ast.Call) -> bool:
        """`with suppress(ImportError):` is a try block in other words."""
        text = static.dotted(manager.func)
        names = {(static.dotted(argument) or "?").rpartition(".")[2] for argument in manager.args}
        return text is not None and self.lookup(text) == "contextlib.suppress" and bool(names & IMPORT_ERRORS)

    def try_(self, node: ast.Try, guarded: bool) -> None:
        catching = [handler for handler in node.handlers if _names(handler) & (IMPORT_ERRORS | WIDE_ERRORS)]
        plain = all(_simple(child) for child in node.body)
        narrow = bool(node.handlers) and all(_names(handler) <= IMPORT_ERRORS for handler in node.handlers)
        if not catching or not (plain or narrow):
            self.add(node)
            return
        start = len(self.table.units)
        try:
            self.block(node.body, guarded=True)
        except _Stop:
            handler = catching[0]
            if handler.name is not None and _reads(handler.body, handler.name):
                self.forget(start)
                self.add(node)
                return
            self.block([*handler.body, *node.finalbody], guarded)
        else:
            self.block([*node.orelse, *node.finalbody], guarded)

    def import_(self, node: ast.Import | ast.ImportFrom, guarded: bool) -> None:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return
        star = star_source(self.module, node)
        if star is not None:
            self.star(node, star, guarded)
            return
        names = imported_names(self.module, node)
        bad = [name for name in names if not self.project.importable(name)]
        if any(not self._there(self.project.brought(name), guarded) for name in bad):
            if guarded:
                raise _Stop
            self.table.loads = False
        unit = self.add(node)
        for name in names:
            self._import_name(unit, name)

    def _there(self, owner: Package | None, guarded: bool) -> bool:
        """Whether an import of what is not read works. A package's own extension module, guarded, makes way for pure code."""
        return owner is not None and not (guarded and owner == self.module.package)

    def _import_name(self, unit: Unit, name: ImportedName) -> None:
        unit.loads.append((name.loads, name.target.attribute))
        unit.aliases[name.bound] = name.alias
        self._bind(unit, name.bound, name.target)

    def star(self, node: ast.stmt, source: str, guarded: bool) -> None:
        names = self.project.star_names(source)
        loads = self.project.loads(source) or self._there(self.project.opaque(source), guarded)
        if guarded and not loads:
            raise _Stop
        self.table.loads = self.table.loads and loads
        if names is None:
            self.table.missing_stars.append(source)
            return
        unit = self.add(node)
        unit.loads.append((source, None))
        for name in names:
            self._bind(unit, name, Imported(source, name))

    def add(self, node: ast.stmt) -> Unit:
        unit = Unit(self.module, len(self.table.units), node)
        self.table.units.append(unit)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._bind(unit, node.name, None)
            if isinstance(node, ast.ClassDef):
                for inner in _imports_at_once(node.body):
                    unit.loads += [(one.loads, one.target.attribute) for one in imported_names(self.module, inner)]
        elif isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
            for target in node.targets:
                assert isinstance(target, ast.Name)
                self._bind(unit, target.id, None)
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            self._add_compound(unit)
        return unit

    def _add_compound(self, unit: Unit) -> None:
        if isinstance(unit.node, ast.Expr) and isinstance(unit.node.value, ast.Constant):
            return
        top = unit.names.top
        for name in top.bound:
            if not (isinstance(unit.node, ast.AnnAssign) and unit.node.value is None):
                self._bind(unit, name, None)
        for inner, scope in unit.names.imports:
            if scope.kind != "module":
                continue
            star = star_source(self.module, inner)
            for entry in imported_names(self.module, inner):
                unit.loads.append((entry.loads, entry.target.attribute))
                self._bind(unit, entry.bound, None)
            if star is not None:
                unit.loads.append((star, None))
                for name in self.project.star_names(star) or ():
                    self._bind(unit, name, None)

    def forget(self, start: int) -> None:
        """Takes back the units from an index on."""
        gone = self.table.units[start:]
        del self.table.units[start:]
        for unit in gone:
            for name in unit.binds:
                units = self.table.binders[name]
                units.remove(unit)
                if not units:
                    del self.table.binders[name]

    def _bind(self, unit: Unit, name: str, target: Imported | None) -> None:
        unit.binds[name] = target
        units = self.table.binders.setdefault(name, [])
        if unit not in units:
            units.append(unit)

    def lookup(self, text: str) -> ast.expr | str | None:
        """What a dotted name stands for at this point of the module."""
        return lookup_in(self.project, self.table, text)


def _imports_at_once(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that run with the body of a class."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in ("body", "orelse", "finalbody", "handlers"):
                yield from _imports_at_once(getattr(node, inner, []))


def unbound_again(name: str, units: list[Unit]) -> bool:
    """Whether a module has lost a name by its end: by `del`, or since only `except … as name` ever binds it."""
    return isinstance(units[-1].node, ast.Delete) or all(
        isinstance(unit.node, ast.Try) and _handlers(unit.node, name) == unit.names.top.bound.get(name)
        for unit in units
    )


def _handlers(node: ast.Try, name: str) -> int:
    return sum(isinstance(part, ast.ExceptHandler) and part.name == name for part in ast.walk(node))


def lookup_in(project: Surroundings, table: UnitTable, text: str) -> ast.expr | str | None:
    """What a dotted name stands for in a module as far as it was read, for `static.evaluate`."""
    first, *rest = text.split(".")
    if text == "__name__":
        return ast.Constant(table.module.name)
    units = table.binders.get(first)
    if not units:
        return None
    unit = units[-1]
    target = unit.binds[first]
    if target is not None:
        return project.static_name(target, rest)
    if rest or len(units) > 1 or first in table.declared:
        return None
    return unit.node.value if isinstance(unit.node, ast.Assign | ast.AnnAssign) else None


def _names(handler: ast.ExceptHandler) -> frozenset[str]:
    """Exception names of a handler, "" for a bare except."""
    if handler.type is None:
        return frozenset({""})
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return frozenset((static.dotted(node) or "?").rpartition(".")[2] for node in types)


def _reads(body: list[ast.stmt], name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for child in body for node in ast.walk(child))


def _simple(node: ast.stmt) -> bool:
    """Whether a statement fails by nothing but a missing import: imports, literals, definitions, their nesting."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return True
        case ast.Assign(value=ast.Constant() | ast.Name()):
            return True
        case ast.ClassDef():
            return True
        case ast.If():
            return all(_simple(child) for child in [*node.body, *node.orelse])
        case ast.Try():
            return all(_simple(child) for child in node.body)
        case ast.Expr(value=ast.Constant()):
            return True
        case _:
            return False
