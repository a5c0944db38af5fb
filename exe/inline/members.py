"""Which methods of its classes a program can do without: those whose name nothing else in it mentions.

Reachability by name: a method goes where no attribute, no string that could be a name, no class pattern and no code at
the level of a class says its name, in anything else that the program needs. What only the method needs goes with it.
Kept whatever is mentioned: special methods that Python or its library know, abstract ones and those that implement them, members of protocols, names
that a base of the standard library has, names that the built-in types have (the library calls them on whatever looks
like a file or a mapping), and methods under decorators that may note them somewhere. A class is kept whole where a
metaclass, `__init_subclass__`, a decorator or a base may walk it. And where the program asks for names that only the
run knows (`getattr(x, name)`, `dir(x)`, `vars(cls)`), every method of every class is kept.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import datetime
import io
import logging
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Final

from exe.analysis import static, stdlib
from exe.analysis.modules import FunctionNode
from exe.analysis.project import Project
from exe.analysis.scopes import Use
from exe.analysis.targets import Builtin, Foreign, Slot, Target
from exe.analysis.units import Unit
from exe.inline.changes import immediate
from exe.inline.reading import LocalImport, Resolved, UnitReading

_TYPING: Final = ("typing", "typing_extensions")

PLAIN_DECORATORS: Final = frozenset(
    {
        "builtins.property",
        "builtins.classmethod",
        "builtins.staticmethod",
        "functools.cached_property",
        "functools.lru_cache",
        "functools.cache",
        "contextlib.contextmanager",
        "contextlib.asynccontextmanager",
        "types.DynamicClassAttribute",
        *(f"{module}.{name}" for module in _TYPING for name in ("overload", "final", "override")),
    }
)
"""Decorators of methods that tell nobody of the method."""

PLAIN_CLASS_DECORATORS: Final = frozenset(
    {
        "dataclasses.dataclass",
        "functools.total_ordering",
        "enum.unique",
        *(f"{module}.{name}" for module in _TYPING for name in ("final", "runtime_checkable")),
    }
)
"""Decorators of classes that look at fields and special methods only."""

PLAIN_BASES: Final = frozenset(
    """abc builtins collections collections.abc contextlib datetime decimal enum fractions io numbers os pathlib threading
    types typing""".split()  # noqa: SIM905
)
"""Modules whose classes call nothing of a subclass but by names that they have themselves. Exceptions do so anywhere."""

_BY_NAME: Final = frozenset({"getattr", "hasattr", "setattr", "delattr"})
_WALKING: Final = frozenset({"dir", "vars", "locals", "eval", "exec", "compile", "globals"})
_WALKING_LIBRARY: Final = (
    *("pydoc.", "doctest.", "unittest.", "string.Formatter"),
    *("inspect.classify_class_attrs", "inspect.getmembers", "inspect.getattr_static"),
)
_NAME: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_IN_BRACES: Final = re.compile(r"\.([^\W\d]\w*)")

COMMON: Final = frozenset(
    name
    for module in (builtins, collections.abc, io, numbers)
    for kind in vars(module).values()
    if isinstance(kind, type)
    for name in dir(kind)
) | frozenset([*dir(datetime.tzinfo), *dir(logging.Handler), "acquire", "release", "locked"])
"""Names by which the interpreter and the standard library call methods of whatever looks right."""


@dataclass(eq=False)
class Part:
    """What one part of a unit uses, which names it mentions, and whether it asks for names that only the run knows."""

    uses: list[tuple[Use, Resolved]] = field(default_factory=list)
    imports: list[LocalImport] = field(default_factory=list)
    mentions: frozenset[str] = frozenset()
    dynamic: bool = False


@dataclass(eq=False)
class Split:
    """A unit in parts: what it always is, and the methods that it can do without, by name."""

    core: Part
    members: dict[str, Part] = field(default_factory=dict)
    nodes: dict[str, list[FunctionNode]] = field(default_factory=dict)


class Members:
    """Splits the units of a project, each once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._splits: dict[UnitReading, Split] = {}
        self._kept: dict[Unit, frozenset[str] | None] = {}
        self._pruned: dict[tuple[Unit, frozenset[str]], Unit] = {}

    def split(self, reading: UnitReading) -> Split:
        """The parts of a unit."""
        known = self._splits.get(reading)
        if known is None:
            known = self._splits[reading] = self._split(reading)
        return known

    def pruned(self, unit: Unit, names: frozenset[str], nodes: Iterable[FunctionNode]) -> Unit:
        """A class without some of its methods, the same one each time."""
        known = self._pruned.get((unit, names))
        if known is None:
            assert isinstance(unit.node, ast.ClassDef)
            gone = {id(node) for node in nodes}
            node = copy(unit.node)
            node.body = [child for child in unit.node.body if id(child) not in gone] or [ast.Pass()]
            known = Unit(unit.module, unit.index, node, unit.binds, unit.aliases, unit.loads)
            known.omitted = [child for child in unit.node.body if id(child) in gone]
            self._pruned[unit, names] = known
        return known

    def stored(self, unit: Unit, wanted: object) -> str | None:
        """The attribute, if assigning it (`C.attr = …`) is all that a unit does to a class that is wanted."""
        match unit.node:
            case ast.Assign(targets=[ast.Attribute(attr=name, value=ast.Name() as owner)], value=value) if _simple(
                value
            ):
                pass
            case _:
                return None
        if not isinstance(wanted, Slot) or self._target(unit, owner) != wanted or not self._optional(name):
            return None
        units = self.project.table(wanted.module).binders.get(wanted.name, [])
        kept = self._inherited(units[0]) if len(units) == 1 else None
        return None if kept is None or name in kept else name

    @staticmethod
    def _optional(name: str) -> bool:
        if name.startswith("__") and name.endswith("__"):
            return name not in special_names()
        return name not in COMMON and not (name.startswith("_") and name.endswith("_"))

    # ---- parts ------------------------------------------------------------------------------------------------------

    def _split(self, reading: UnitReading) -> Split:
        node = reading.unit.node
        nodes = self._droppable(reading) if isinstance(node, ast.ClassDef) else {}
        places = [(_lines(child), name) for name, children in nodes.items() for child in children]
        parts = {name: Part() for name in ("", *nodes)}
        for use, found in reading.uses:
            parts[_place(use.node, places)].uses.append((use, found))
        for entry in reading.imports:
            parts[_place(entry.node, places)].imports.append(entry)
        dropped = {id(child) for children in nodes.values() for child in children}
        strict = isinstance(node, ast.ClassDef) and any(static.dotted(base) == "type" for base in node.bases)
        core: list[ast.AST] = [node]
        if isinstance(node, ast.ClassDef):
            core = [*node.decorator_list, *node.bases, *node.keywords]
            core += [child for child in node.body if id(child) not in dropped]
        self._look(parts[""], core, strict)
        for name, children in nodes.items():
            self._look(parts[name], children, strict)
        if isinstance(node, ast.ClassDef):
            parts[""].mentions |= self._always(reading.unit, node, dropped)
            for name, children in nodes.items():
                parts[name].mentions |= _names(part for child in children for part in immediate(child))
        return Split(parts.pop(""), parts, nodes)

    def _always(self, unit: Unit, node: ast.ClassDef, dropped: Set[int]) -> frozenset[str]:
        """Names that the level of a class mentions; those of all its members where others implement or walk them."""
        kept = [child for child in node.body if id(child) not in dropped]
        found = _names(part for child in kept for part in immediate(child))
        whole = self._inherited(unit) is None
        for child in kept:
            match child:
                case ast.FunctionDef() | ast.AsyncFunctionDef() if whole or _abstract(child):
                    found |= {child.name}
                case _:
                    pass
        return found

    def _look(self, part: Part, nodes: Iterable[ast.AST], strict: bool) -> None:
        """Notes what a part mentions, and whether it is dynamic."""
        mentions: set[str] = set()
        calls: dict[int, ast.Call] = {}
        for node in [inner for root in nodes for inner in ast.walk(root)]:
            match node:
                case ast.Attribute(attr=attr, value=value):
                    mentions.add(attr)
                    own = not strict and isinstance(value, ast.Name) and value.id == "self"
                    part.dynamic = part.dynamic or (attr == "__dict__" and not own) or attr == "__dir__"
                    if attr == "__getattribute__":
                        call = calls.get(id(node))
                        part.dynamic = part.dynamic or not (call and call.args and _literal(call.args[-1]))
                case ast.Constant(value=str() as text):
                    mentions.update(_names_in(text))
                    part.dynamic = part.dynamic or text == "__dict__"
                case ast.MatchClass(kwd_attrs=names):
                    mentions.update(names)
                case ast.Call(func=func):
                    calls[id(func)] = node  # met before what is called
                case _:
                    pass
        part.mentions = frozenset(mentions)
        part.dynamic = part.dynamic or any(_walks(use, found, calls, strict) for use, found in part.uses)

    # ---- what can go ------------------------------------------------------------------------------------------------

    def _droppable(self, reading: UnitReading) -> dict[str, list[FunctionNode]]:
        """The methods that are needed only where their name is mentioned, by name."""
        kept = self._inherited(reading.unit)
        node = reading.unit.node
        assert isinstance(node, ast.ClassDef)
        if kept is None:
            return {}
        groups: dict[str, list[FunctionNode]] = {}
        for child in node.body:
            if isinstance(child, FunctionNode):
                groups.setdefault(child.name, []).append(child)
        found = {id(use.node): one for use, one in reading.uses}
        return {
            name: children
            for name, children in groups.items()
            if name not in kept and self._optional(name) and all(_plain(child, found) for child in children)
        }

    def _inherited(self, unit: Unit, seen: frozenset[Unit] = frozenset()) -> frozenset[str] | None:
        """Names by which the bases of a class may call it; None where the class has to be kept whole."""
        if unit not in self._kept:
            self._kept[unit] = None if unit in seen else self._bases(unit, seen | {unit})
        return self._kept[unit]

    def _bases(self, unit: Unit, seen: frozenset[Unit]) -> frozenset[str] | None:
        node = unit.node
        if not isinstance(node, ast.ClassDef):
            return None
        for keyword in node.keywords:
            if keyword.arg != "metaclass" or self._dotted(unit, keyword.value) != "abc.ABCMeta":
                return None
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self._dotted(unit, called) not in PLAIN_CLASS_DECORATORS:
                return None
        if any(isinstance(child, FunctionNode) and child.name == "__init_subclass__" for child in node.body):
            return None
        names: set[str] = set()
        for base in node.bases:
            found = self._base(unit, base, seen)
            if found is None:
                return None
            names |= found
        return frozenset(names)

    def _base(self, unit: Unit, base: ast.expr, seen: frozenset[Unit]) -> Set[str] | None:
        if isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Call) and self._dotted(unit, base.func) == "collections.namedtuple":
            return set(dir(tuple))
        target = self._target(unit, base)
        match target:
            case Slot():
                units = self.project.table(target.module).binders.get(target.name, [])
                return self._inherited(units[0], seen) if len(units) == 1 else None
            case Foreign(module="typing", attribute="NamedTuple" | "TypedDict"):
                return set(dir(tuple))
            case Foreign(attribute=str(), known=True) | Builtin():
                return _names_of(target)
            case _:
                return None

    def _target(self, unit: Unit, node: ast.expr) -> Target | None:
        text = static.dotted(node)
        return self.project.dotted(unit.module.name, text) if text is not None else None

    def _dotted(self, unit: Unit, node: ast.expr) -> str:
        target = self._target(unit, node)
        match target:
            case Foreign():
                return target.dotted
            case Slot(module="typing_extensions", name=name):
                return f"typing_extensions.{name}"
            case _:
                return ""


def _names_of(target: Foreign | Builtin) -> frozenset[str] | None:
    """The attributes of a class of the standard library that calls subclasses by these alone; None for other things."""
    module, name = (target.module, target.attribute) if isinstance(target, Foreign) else ("builtins", target.name)
    owner = stdlib.load(module)
    found = getattr(owner, name or "", None)
    kind = getattr(found, "__origin__", found)
    if not isinstance(kind, type) or issubclass(kind, type) or name == "Protocol":
        return None
    if module not in PLAIN_BASES and not issubclass(kind, BaseException):
        return None
    return frozenset(dir(kind))


def _plain(node: FunctionNode, found: Mapping[int, Resolved]) -> bool:
    """Whether defining a method does nothing but bind its name."""
    defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
    return all(map(_simple, defaults)) and all(_plain_decorator(one, found) for one in node.decorator_list)


def _plain_decorator(node: ast.expr, found: Mapping[int, Resolved]) -> bool:
    if isinstance(node, ast.Call):
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        return all(map(_simple, arguments)) and _plain_decorator(node.func, found)
    rest: list[str] = []
    while isinstance(node, ast.Attribute):
        rest.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    resolved = found.get(id(node))
    if resolved is None:  # a name of the class itself
        return rest in (["setter"], ["getter"], ["deleter"])
    target = resolved.target
    match target:
        case Builtin(name=name):
            return ".".join(["builtins", name, *rest]) in PLAIN_DECORATORS
        case Foreign():
            return ".".join([target.dotted, *rest[resolved.used :]]) in PLAIN_DECORATORS
        case Slot(module=module, name=name):
            return f"{module}.{name}" in PLAIN_DECORATORS
        case _:
            return False


def _simple(node: ast.expr) -> bool:
    """Whether evaluating an expression does nothing."""
    match node:
        case ast.Constant() | ast.Name() | ast.Lambda():
            return True
        case ast.Attribute(value=inner) | ast.UnaryOp(operand=inner):
            return _simple(inner)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return all(map(_simple, parts))
        case ast.Dict(keys=keys, values=values):
            return all(_simple(part) for part in [*keys, *values] if part is not None)
        case _:
            return False


def _abstract(node: FunctionNode) -> bool:
    texts = [static.dotted(one) or "" for one in node.decorator_list]
    return any(text.rpartition(".")[2].startswith("abstract") for text in texts)


def _walks(use: Use, found: Resolved, calls: Mapping[int, ast.Call], strict: bool) -> bool:
    """Whether a use asks an object for names that are not written down."""
    top = use.attributes[-1] if use.attributes else use.node
    call = calls.get(id(top))
    match found.target:
        case Builtin(name=name) if name in _BY_NAME:
            return call is None or len(call.args) < 2 or not _literal(call.args[1])
        case Builtin(name="vars" | "locals") if call is not None and not call.args:
            return not use.deferred
        case Builtin(name="vars") if call is not None:
            return strict or not (isinstance(call.args[0], ast.Name) and call.args[0].id == "self")
        case Builtin(name=name):
            return name in _WALKING
        case Foreign():
            text = found.text(use)
            if text in ("operator.attrgetter", "operator.methodcaller"):
                literals = call.args[:1] if call is not None and text.endswith("caller") else call and call.args
                return not literals or not all(map(_literal, literals))
            return text.startswith(_WALKING_LIBRARY)
        case _:
            return False


def _literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _names_in(text: str) -> list[str]:
    """Names that a string says: "a", "a.b", and the attributes in the braces of a format."""
    if _NAME.fullmatch(text):
        return text.split(".")
    return _IN_BRACES.findall(text) if "{" in text else []


def _names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name))


@lru_cache(maxsize=1)
def special_names() -> frozenset[str]:
    """Names like `__iter__` that Python or its library may look up by themselves; `__rich__` is none."""
    text = files("exe").joinpath("data", "special_names.txt").read_text(encoding="ascii")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))


def _lines(node: FunctionNode) -> tuple[int, int]:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first, node.end_lineno or node.lineno


def _place(node: ast.expr | ast.stmt, places: Iterable[tuple[tuple[int, int], str]]) -> str:
    return next((name for (first, last), name in places if first <= node.lineno <= last), "")


def unmangled(name: str, owner: str) -> Iterator[str]:
    """The spellings by which a method may be mentioned: `__m` of class C is `_C__m` to `getattr`."""
    yield name
    if name.startswith("__"):
        yield f"_{owner.lstrip('_')}{name}"
