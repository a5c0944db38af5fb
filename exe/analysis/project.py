"""A package with its environment as one project: modules by name, and what a name in a module stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from exe.analysis import static, stdlib
from exe.analysis.definitions import defined
from exe.analysis.exports import declared_names
from exe.analysis.imports import Imported, ImportedName
from exe.analysis.modules import Function, Module, module_functions, module_name, shared_module
from exe.analysis.replaced import hidden
from exe.analysis.targets import Builtin, Defined, External, Foreign, Missing, ModuleRef, Slot, Target, Unresolved
from exe.analysis.units import TableBuilder, Unit, UnitTable, lookup_in, unbound_again
from exe.records import Package, Rejection

MODULE_DUNDERS: Final = frozenset(
    {"__name__", "__file__", "__doc__", "__path__", "__package__", "__spec__", "__loader__", "__dict__", "__cached__"}
)

BACKPORT: Final = "typing_extensions"
_HOPS: Final = 50


class Project:
    """The modules of a package and of its environment, parsed only when reached.

    `beside`: the project whose package this one reads alone, see `alone`.
    """

    def __init__(self, package: Package, *, beside: Project | None = None) -> None:
        self.package = package
        self._beside = beside
        self._files: dict[str, tuple[Package, str, bool]] = {}
        self._unreachable: list[Rejection] = []
        self._read: dict[str, Module] = {}
        self._tables: dict[str, UnitTable] = {}
        self._building: dict[str, TableBuilder] = {}
        self._partial: set[str] = set()  # modules that took the names of one that was being read
        self._targets: dict[tuple[str, str], Target] = {}
        self.cache: dict[Any, Any] = {}  # for those who compute per project: keyed by their own names
        self._opaque: dict[str, Package] = {}  # extension modules, and top-level names of packages that are barred
        for one in (package, *package.environment):
            if one.barred is None and (beside is None or one is package):
                self._index(one, own=one is package)
        for one in (package, *package.environment):
            self._close(one)

    def _index(self, package: Package, own: bool) -> None:
        for path in sorted(package.files):
            named = module_name(path)
            if named is None:
                if own:
                    subject = f"{package.name}:{PurePosixPath(path).with_suffix('').as_posix().replace('/', '.')}"
                    self._unreachable.append(
                        Rejection(subject=subject, stage="scrape", reason="not-importable", detail=path)
                    )
                continue
            name, is_package = named
            known = self._files.get(name)
            if known is None or (known[0] is package and is_package):
                self._files[name] = (package, path, is_package)
            parent = name.rpartition(".")[0]
            while parent and parent not in self._files:
                self._files[parent] = (package, "", True)
                parent = parent.rpartition(".")[0]
            # a folder seen before its __init__.py was taken for a namespace package: the file wins, as sorted above

    def _close(self, package: Package) -> None:
        """Notes what a package brings that is not read: extension modules; all of it, where it is barred."""
        names = [path.removeprefix("./").partition(".")[0].replace("/", ".") for path in package.compiled]
        if package.barred is not None or (self._beside is not None and package is not self.package):
            tops = {path.partition("/")[0].removesuffix(".py") for path in package.files}
            names += [*tops, *(() if tops or names else (package.name.replace("-", "_"),))]
        for name in names:
            if name not in self._files:
                self._opaque.setdefault(name, package)

    def opaque(self, module: str) -> Package | None:
        """The package that brings a module which is not read, None for modules that are read or not there."""
        while module:
            found = self._opaque.get(module)
            if found is not None:
                return found
            module = module.rpartition(".")[0]
        return None

    def why_missing(self, module: str) -> str:
        """The reason for which something that is outside the project cannot be inlined."""
        package = self.opaque(module)
        if package is None:
            return "unresolved-import"
        if self._beside is not None and package is not self.package:
            return "dependency-needed"
        licensed = package.barred is None or package.barred.reason != "license"
        return "dependency-unreadable" if licensed else "dependency-license"

    def find(self, name: str) -> Module | None:
        """The module of that dotted name, None where the project has none. Standard-library names are never ours."""
        module = self._read.get(name)
        if module is not None:
            return module
        entry = self._files.get(name)
        if entry is None or stdlib.is_stdlib(name):
            return None
        package, path, is_package = entry
        module = self._beside.find(name) if self._beside is not None else None
        if module is None or module.package is not package:
            shared = package is not self.package and package.sha256 is not None
            module = (shared_module if shared else Module)(name, path, package, is_package)
        self._read[name] = module
        return module

    @cached_property
    def alone(self) -> Project:
        """The package without its environment, which is there all the same, but not read: `why_missing` names it needed."""
        return Project(self.package, beside=self)

    def absent(self, name: str) -> bool:
        """Whether importing a module is known to fail: nothing in the package or its environment brings its top-level name."""
        top = name.partition(".")[0]
        if top in self._files:
            return False
        if stdlib.is_stdlib(top):
            return not stdlib.exists(name)
        return self.opaque(name) is None and top.lstrip("_").lower() != self.package.name.replace("-", "_").lower()

    @cached_property
    def modules(self) -> Mapping[str, Module]:
        """The package's own modules that can be read, by dotted name, sorted. Reads all of them."""
        found: dict[str, Module] = {}
        for name in sorted(self._files):
            if self._files[name][0] is self.package and self._files[name][1]:
                module = self._read.get(name) or Module(name, self._files[name][1], self.package, self._files[name][2])
                self._read.setdefault(name, module)
                if module.fault is None:
                    found[name] = module
        return MappingProxyType(found)

    @cached_property
    def rejections(self) -> tuple[Rejection, ...]:
        """The package's own files that cannot be read or imported, in order of their names. Reads all of them."""
        readable = self.modules
        faults = [module.fault for name, module in self._read.items() if name not in readable]
        own = [fault for fault in faults if fault is not None and fault.subject.startswith(f"{self.package.name}:")]
        return tuple(sorted([*own, *self._unreachable], key=lambda rejection: rejection.subject))

    def table(self, name: str) -> UnitTable:
        """The units of a module. While the module is being read, what was read of it so far."""
        table = self._tables.get(name)
        if table is not None:
            return table
        if name in self._building:
            return self._building[name].table
        parent = name.rpartition(".")[0]
        if parent and parent not in self._tables and self.find(parent) is not None:
            self.table(parent)  # packages first, as Python imports them: what is half read is then the same
            if name in self._tables:
                return self._tables[name]
        module = self.find(name)
        assert module is not None, name
        builder = self._building[name] = TableBuilder(self, module)
        try:
            table = self._tables[name] = builder.build()
        finally:
            del self._building[name]
        if not self._building and self._partial:
            for other in self._partial:
                self._tables.pop(other, None)  # read again when asked: the circle is closed now
            self._partial.clear()
            return self.table(name)
        return table

    def importable(self, name: ImportedName) -> bool:
        """Whether the import that binds this name works: its modules are there, load, and have the member."""
        if self.find(name.loads) is None:
            if not stdlib.exists(name.loads):
                return False
            attribute = name.target.attribute
            return attribute is None or stdlib.has_member(name.loads, attribute)
        if not self.loads(name.loads):
            return False
        attribute = name.target.attribute
        return attribute is None or name.loads in self._building or self.has_member(name.loads, attribute)

    def brought(self, name: ImportedName) -> Package | None:
        """The package that brings what an import asks for as something that is not read, see `opaque`."""
        return self.opaque(f"{name.target.module}.{name.target.attribute}") or self.opaque(name.loads)

    def loads(self, name: str) -> bool:
        """Whether importing a module works: it and the packages around it get past their own imports."""
        if self.find(name) is None:
            return stdlib.exists(name)
        while name:
            module = self.find(name)
            if module is None or module.fault is not None:
                return False
            if name not in self._building and not self.table(name).loads:
                return False
            name = name.rpartition(".")[0]
        return True

    def has_member(self, module: str, attribute: str) -> bool:
        """Whether `from module import attribute` works for a project module."""
        table = self.table(module)
        if attribute in table.binders or attribute in table.declared or "__getattr__" in table.binders:
            return True
        return attribute in MODULE_DUNDERS or self.find(f"{module}.{attribute}") is not None

    def star_names(self, module: str) -> tuple[str, ...] | None:
        """The names that a star import binds, None where the module is not there."""
        if self.find(module) is None:
            return stdlib.public_names(module) if stdlib.exists(module) else None
        table = self.table(module)
        if module in self._building:
            self._partial.update(list(self._building)[-1:])
        declared = declared_names(self, module)
        if declared is not None:
            return tuple(name for name in declared if self.has_member(module, name))
        names = [name for name in table.binders if not name.startswith("_")]
        return tuple(name for name in names if not unbound_again(name, table.binders[name]))

    def static_name(self, target: Imported, rest: list[str]) -> ast.expr | str | None:
        """What an imported name with attributes stands for: a canonical external name, or a settled constant."""
        found = self.follow(target)
        for attribute in rest:
            found = self.attribute(found, attribute)
        match found:
            case Foreign():
                return found.dotted
            case Slot(module=module, name=name):
                table = self.table(module)
                value = lookup_in(self, table, name)
                if not isinstance(value, ast.expr) or module in self._building:
                    return None
                settled = static.evaluate(value, lambda text: lookup_in(self, table, text))
                return None if settled is static.UNKNOWN else ast.Constant(settled)
            case _:
                return None

    def hop(self, module: str, name: str) -> Imported | None:
        """What a global is imported from, where imports of one and the same thing are all that binds it."""
        table = self.table(module)
        units = table.binders.get(name)
        if not units or name in table.declared:
            return None
        targets = {unit.binds[name] for unit in units}
        last = units[-1].binds[name]
        if last is None or len(targets) == 1:
            return last
        return last if self._same(targets) else None

    def _same(self, targets: set[Imported | None]) -> bool:
        """Whether imports by different ways come to one definition: two stars that hand on the same name."""
        ends: set[tuple[str, str | None]] = set()
        for target in targets:
            for _ in range(_HOPS):
                if target is None or target.attribute is None or self.find(target.module) is None:
                    break
                units = self.table(target.module).binders.get(target.attribute)
                if not units or len(units) > 1 or units[0].binds[target.attribute] is None:
                    break
                target = units[0].binds[target.attribute]
            if target is None:
                return False
            ends.add((target.module, target.attribute))
        return len(ends) == 1

    def target(self, module: str, name: str) -> Target:
        """What a global name of a module stands for, through any number of imports."""
        key = (module, name)
        found = self._targets.get(key)
        if found is None:
            found = self._target(module, name, ())
            if not self._building:
                self._targets[key] = found
        return found

    def _target(self, module: str, name: str, seen: tuple[tuple[str, str], ...]) -> Target:
        table = self.table(module)
        if name in table.binders or name in table.declared:
            hop = self.hop(module, name)
            if hop is None:
                return Slot(module, name)
            return self._follow(hop, (*seen, (module, name)))
        owner = self.find(module)
        if owner is not None and owner.is_package and self.find(f"{module}.{name}") is not None:
            return ModuleRef(f"{module}.{name}")
        if name in MODULE_DUNDERS:
            return Missing(name, "module-attribute")
        if name in stdlib.BUILTINS:
            return Builtin(name)
        if table.missing_stars:
            return Missing(table.missing_stars[0], "unresolved-import")
        return Missing(f"{module}.{name}", "unbound-name")

    def module_then(self, unit: Unit, name: str) -> ModuleRef | None:
        """The module that a global stands for when a statement runs, where several bind it and the last was an import."""
        table = self.table(unit.module.name)
        binders = table.binders.get(name, ())
        if len(binders) < 2 or name in table.declared:
            return None
        last = next((one for one in reversed(binders) if one.index < unit.index), None)
        imported = last.binds[name] if last is not None and isinstance(last.node, ast.Import | ast.ImportFrom) else None
        found = self.follow(imported) if imported is not None else None
        return found if isinstance(found, ModuleRef) else None

    def follow(self, imported: Imported) -> Target:
        """What an import gives."""
        return self._follow(imported, ())

    def follow_parts(self, module: str, attribute: str | None) -> Target:
        """What `from module import attribute`, or `import module` without one, gives."""
        return self.follow(Imported(module, attribute))

    def _follow(self, imported: Imported, seen: tuple[tuple[str, str], ...]) -> Target:
        if self.find(imported.module) is None:
            if imported.module.startswith("."):
                return Missing(imported.module, "unresolved-import")
            known = stdlib.is_stdlib(imported.module)
            if known and imported.attribute is not None and stdlib.load(f"{imported.module}.{imported.attribute}"):
                return Foreign(f"{imported.module}.{imported.attribute}", None, True)
            return Foreign(imported.module, imported.attribute, known)
        if imported.attribute is None:
            return ModuleRef(imported.module)
        return self._member(imported.module, imported.attribute, seen)

    def member(self, module: str, name: str) -> Target:
        """What an attribute of a project module stands for."""
        return self._member(module, name, ())

    def _member(self, module: str, name: str, seen: tuple[tuple[str, str], ...]) -> Target:
        if self.hides(module, name):
            return Missing(f"{module}.{name}", "module-getattr")
        table = self.table(module)
        bound = name in table.binders or name in table.declared
        if bound and (module, name) not in seen:
            return self._target(module, name, seen)
        if self.find(f"{module}.{name}") is not None:
            return ModuleRef(f"{module}.{name}")
        if bound:
            return Missing(f"{module}.{name}", "unresolved-import")
        if name in MODULE_DUNDERS:
            return Missing(name, "module-attribute")
        if "__getattr__" in table.binders:
            return Missing(f"{module}.{name}", "module-getattr")
        if table.missing_stars:
            return Missing(table.missing_stars[0], "unresolved-import")
        owner = self.find(module)
        around = owner is not None and owner.is_package  # what is not there may be a compiled module
        return Missing(f"{module}.{name}", "unresolved-import" if around else "unbound-name")

    def hides(self, module: str, name: str) -> bool:
        """Whether a module has put an object in its place that may have something else under that name."""
        table = self.table(module)
        if "sys.modules[__name__]" not in table.module.source or module in self._building:
            return False
        known: dict[str, Set[str]] = self.cache.setdefault("hidden", {})
        if module not in known:
            known[module] = hidden(table)
        return name in known[module]

    def attribute(self, target: Target, name: str) -> Target:
        """What an attribute of something stands for; only modules have attributes that can be told."""
        match target:
            case ModuleRef(name=module):
                return self.member(module, name)
            case Foreign(module=module, attribute=None, known=True) if stdlib.load(f"{module}.{name}") is not None:
                return Foreign(f"{module}.{name}", None, True)
            case Foreign(module=module, attribute=None, known=known):
                return Foreign(module, name, known)
            case Foreign(module=module, attribute=outer, known=known):
                return Foreign(module, f"{outer}.{name}", known)
            case _:
                return Missing(name, "attribute")

    def dotted(self, module: str, text: str, *, first: Target | None = None) -> Target:
        """What a dotted name stands for at the top of a module, as far as modules go; `first`: what its first name does."""
        name, *rest = text.split(".")
        found = first or self.target(module, name)
        for attribute in rest:
            found = self.attribute(found, attribute)
        return found

    def resolve(self, module: str, dotted: str) -> Defined | External | Unresolved:
        """What a dotted name stands for in the global scope of a module: imports, re-exports and stars are followed."""
        first, *rest = dotted.split(".")
        found = self._backport(module, first) or self.target(module, first)
        while rest and isinstance(found, ModuleRef | Foreign):
            backport = found == ModuleRef(BACKPORT)
            found = Foreign(BACKPORT, rest.pop(0), False) if backport else self.attribute(found, rest.pop(0))
        match found:
            case Slot():
                return defined(self.table(found.module), found.name, rest)
            case ModuleRef(name=name):
                return Unresolved(name, "a module, not a definition")
            case Foreign():
                return External(found.dotted, found.known)
            case Builtin(name=name):
                return External(".".join(["builtins", name, *rest]))
            case Missing(name=name, reason=reason):
                return Unresolved(name, reason)

    def _backport(self, module: str, name: str) -> Foreign | None:
        """`typing_extensions` keeps its own names, whether or not its source is at hand."""
        for _ in range(_HOPS):
            hop = self.hop(module, name) if self.find(module) is not None else None
            if hop is None or hop.attribute is None:
                return None
            if hop.module == BACKPORT:
                return Foreign(BACKPORT, hop.attribute, False)
            module, name = hop.module, hop.attribute
        return None


def read_project(package: Package) -> Project:
    """A package and its environment, ready to be asked. Nothing is read until it is reached; nothing is executed."""
    return Project(package)


def functions(project: Project) -> Iterator[Function]:
    """Every module-level function and method of the package's own modules, by module name, then in file order."""
    for module in project.modules.values():
        yield from module_functions(module)


__all__ = [
    "Builtin",
    "Defined",
    "External",
    "Foreign",
    "Missing",
    "ModuleRef",
    "Project",
    "Slot",
    "Target",
    "Unit",
    "Unresolved",
    "functions",
    "read_project",
]
