"""Which statements make a class, or anything else that takes the name of the module that asks for it, and when.

A class statement does, and so do a few functions of the library, which look at who calls them. Any other call does only where
something in the program makes classes when it is called, be it a metaclass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from exe.analysis.modules import FunctionNode
from exe.inline.changes import immediate

_MAKERS: Final = frozenset(
    """namedtuple NamedTuple TypedDict NewType TypeVar ParamSpec TypeVarTuple make_dataclass new_class prepare_class Enum
    IntEnum StrEnum Flag IntFlag""".split()  # noqa: SIM905
)
_METACLASSES: Final = frozenset({"type", "ABCMeta", "EnumMeta", "EnumType"})
_ENUMS: Final = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
"""Those of them that a class without members makes classes by: called with a name and what it stands for."""

_PLAIN: Final = frozenset(
    ["bool", "bytes", "dict", "float", "frozenset", "int", "len", "list", "object", "range", "set", "str", "tuple"]
)
_PLAIN_LIBRARY: Final = ("re.compile", "collections.", "decimal.Decimal", "fractions.Fraction", "typing.", "logging.")
"""Calls that run nothing of the program's but methods of what they are given."""


@dataclass(frozen=True, slots=True)
class Making:
    """What of it a statement does. `calls`: it calls something that might make classes; `pairs`: with two arguments or more."""

    now: bool = False
    later: bool = False
    metaclass: bool = False  # a class that makes classes when it is called
    by_metaclass: bool = False  # a body does what makes classes in, or of, a metaclass
    calls: bool = False
    pairs: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """What of a whole program decides whether a call makes classes."""

    later: bool
    metaclass: bool

    def now(self, one: Making) -> bool:
        """Whether a statement of the program may make a class as it runs."""
        return one.now or (self.later and one.calls) or (self.metaclass and one.pairs)


def together(parts: list[Making]) -> Made:
    """The statements of a program taken together."""
    metaclass = any(one.metaclass for one in parts)
    return Made(any(one.later or (metaclass and one.by_metaclass) for one in parts), metaclass)


def making(node: ast.stmt, names: Mapping[int, str]) -> Making:
    """What one statement does. `names` are the dotted names of what it uses of libraries, by the id of the expression."""
    at_once = list(immediate(node))
    now = any(isinstance(part, ast.ClassDef) for part in at_once)
    called = [(part.func, part.args) for part in at_once if isinstance(part, ast.Call)]
    called += [(one, []) for part in at_once if isinstance(part, FunctionNode) for one in part.decorator_list]
    now = now or any(_makes(func, args, names) for func, args in called)
    inner = set(map(id, at_once))
    bodies = [part for part in ast.walk(node) if id(part) not in inner]
    later = any(isinstance(part, ast.ClassDef) for part in bodies) or any(
        isinstance(part, ast.Call) and _makes(part.func, part.args, names) for part in bodies
    )
    return Making(
        now=now,
        later=later or any(_handed_on(node, names)),
        metaclass=any(isinstance(part, ast.ClassDef) and _makes_classes(part, names) for part in ast.walk(node)),
        by_metaclass=any(isinstance(part, ast.Call) and _pair(part.func, part.args, names) for part in bodies),
        calls=any(not _plain(func, names) for func, _ in called),
        pairs=any(_pair(func, args, names) for func, args in called),
    )


def _makes(func: ast.expr, args: list[ast.expr], names: Mapping[int, str]) -> bool:
    """Whether a call is one of a maker."""
    last = _last(func, names)
    return last in _MAKERS or (last == "type" and len(args) != 1) or (last == "__new__" and len(args) > 3)


def _pair(func: ast.expr, args: list[ast.expr], names: Mapping[int, str]) -> bool:
    """Whether something of the program's is called with two arguments or more."""
    return id(func) not in names and (len(args) > 1 or any(isinstance(one, ast.Starred) for one in args))


def _last(node: ast.expr, names: Mapping[int, str]) -> str:
    """The last part of the name by which something is used, of a library's thing that of its own name."""
    text = names.get(id(node))
    if text is None:
        text = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return text.rpartition(".")[2]


def _plain(func: ast.expr, names: Mapping[int, str]) -> bool:
    text = names.get(id(func), "")
    return text in _PLAIN or text.startswith(_PLAIN_LIBRARY)


def _handed_on(node: ast.stmt, names: Mapping[int, str]) -> Iterator[bool]:
    """Makers that are used otherwise than by calling them or deriving from them: somebody else may call them."""
    if isinstance(node, ast.ImportFrom):
        yield any(alias.name in _MAKERS for alias in node.names)
        return
    known: set[int] = set()
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        match part:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[first, *_]):
                stack.append(first)
                continue
            case ast.Call(func=func):
                known.add(id(func))
            case ast.ClassDef(bases=bases):
                known.update(map(id, bases))
            case ast.arg():
                continue
            case ast.AnnAssign(value=value, target=target):
                stack += [target] if value is None else [target, value]
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                stack += [*part.decorator_list, part.args, *part.body]
                continue
            case ast.Assign(value=ast.Name(id="type")):
                yield True
            case ast.Name() | ast.Attribute() if id(part) not in known:
                yield _last(part, names) in _MAKERS
            case _:
                pass
        stack.extend(ast.iter_child_nodes(part))


def _makes_classes(node: ast.ClassDef, names: Mapping[int, str]) -> bool:
    """Whether calling a class makes classes: a metaclass, an enumeration without members."""
    bases = {_last(base, names) for base in node.bases}
    bare = not any(isinstance(child, ast.Assign | ast.AnnAssign) for child in node.body)
    return not bases.isdisjoint(_METACLASSES) or (bare and not bases.isdisjoint(_ENUMS))
