"""The module that a class says it is from: where it can show, the program tells each class the original's.

A class and a function take their `__module__` from the global `__name__` at the moment they are made. So where it can
show, `__name__` is set before the statements of each module, and at last to the entry's module for what is made later.
Nothing else changes. Where the standard library looks modules up by that name (string annotations of dataclasses,
`get_type_hints`, pickling), the program is registered under the names as well; the original package is never loaded.

It can show where `__module__` is read, and where a class as such is turned into text: `f"{type(x)}"`, `"%r" % cls`,
`repr(x.__class__)`, `TypeError(cls)`. Default representations of objects show it beside an address, so they are no
ground truth anyway.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from exe.analysis.modules import FunctionNode
from exe.analysis.text import nodes_of

_SHOWING_CALLS: Final = frozenset({"repr", "str", "print", "format", "ascii"})
_SHOWING_METHODS: Final = frozenset({"format", "join", "format_map", "write"})
_TELLING: Final = ("traceback", "pickle", "inspect.getmodule", "pydoc", "pprint", "reprlib")
_LOOKING_UP: Final = ("dataclasses", "inspect", "pickle", "typing.get_type_hints", "sys.modules")
_OF_FUNCTIONS: Final = ("inspect", "pickle", "pydoc")
"""What asks functions too for their module."""

_MERE_LOOKS: Final = tuple(
    f"inspect.{name}"
    for name in (
        *("is", "cleandoc", "unwrap", "currentframe", "getattr_static", "getmembers", "getmro", "getcallargs"),
        *("signature", "Signature", "Parameter", "BoundArguments", "getfullargspec"),
    )
)
"""What `inspect` has beside that: it asks nothing of the program's for a module."""

_CLASS_NAMES: Final = frozenset(
    {
        "cls",
        "klass",
        "mcs",
        "metacls",
        "typ",
        "type_",
        "class_",
        "owner",
        "tp",
        "exc_type",
        "etype",
        "annotation",
        "hint",
    }
)
_CLASS_MARKS: Final = ("type", "__class__", "__base", "__mro__", "__origin__", "__args__")
"""What a text has, in any case of letters, where a variable of its functions evidently is a class."""


def shows_module(nodes: Iterable[ast.AST], source: str, classes: Iterable[str]) -> bool:
    """Whether a statement can turn the module of a class into text. `classes` are names that stand for classes there.

    `nodes` are all nodes of the statement.
    """
    if "__module__" in source:
        return True
    shown = [one for part in nodes for one in _shown(part)]
    if not shown:
        return False
    known = _CLASS_NAMES | set(classes)
    if any(mark in source.lower() for mark in _CLASS_MARKS):
        for part in nodes:
            if isinstance(part, FunctionNode):
                known |= set(_class_variables(part))
    return any(_is_class(one, known) for one in shown)


def _class_variables(function: FunctionNode) -> Iterator[str]:
    """Parameters annotated as classes, and variables assigned `type(x)` or `x.__class__`."""
    arguments = function.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        if argument.annotation is not None:
            text = ast.unparse(argument.annotation).strip("'\"").lower()
            if text == "type" or "type[" in text:
                yield argument.arg
    for part in nodes_of(function):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_class(value, frozenset()):
                yield name
            case ast.NamedExpr(target=ast.Name(id=name), value=value) if _is_class(value, frozenset()):
                yield name


def _shown(part: ast.AST) -> Iterator[ast.expr]:
    """Expressions that a node turns into text."""
    match part:
        case ast.FormattedValue(value=value):
            yield value
        case ast.BinOp(op=ast.Mod(), right=right):
            yield right
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            if name in _SHOWING_CALLS or name.endswith(("Error", "Exception", "Warning")):
                yield from args
                yield from (keyword.value for keyword in keywords)
        case ast.Call(func=ast.Attribute(attr=attr), args=args, keywords=keywords):
            if attr in _SHOWING_METHODS or attr.endswith(("Error", "Exception", "Warning")):
                yield from args
                yield from (keyword.value for keyword in keywords)
        case _:
            pass


def _is_class(node: ast.expr, known: frozenset[str] | set[str]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[_]):
            return True
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="type"), *_]):
            return True
        case ast.Call(func=ast.Name(id="str" | "repr" | "tuple" | "list" | "map"), args=args):
            return any(_is_class(argument, known) for argument in args)
        case ast.Attribute(attr="__class__" | "__base__" | "__bases__" | "__mro__" | "__origin__" | "__args__"):
            return True
        case ast.Name(id=name):
            return name in known
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.BoolOp(values=parts):
            return any(_is_class(one, known) for one in parts)
        case ast.IfExp(body=first, orelse=second):
            return _is_class(first, known) or _is_class(second, known)
        case ast.Starred(value=value) | ast.NamedExpr(value=value) | ast.Subscript(value=value):
            return _is_class(value, known)
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) | ast.SetComp(elt=element):
            return _is_class(element, known)
        case _:
            return False


def has_module(node: ast.stmt) -> bool:
    """Whether a statement defines something that keeps the name of its module, or reads that name itself."""
    for part in ast.walk(node):
        match part:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                return True
            case ast.Name(id="__name__"):
                return True
            case _:
                pass
    return False


def reads_module(nodes: Iterable[ast.AST], source: str) -> bool:
    """Whether a statement may ask a function for the name of its module: whatever it asks, where that is not a class."""
    if "__module__" not in source:
        return False
    for part in nodes:
        match part:
            case ast.Attribute(attr="__module__", value=value, ctx=ast.Load()) if not _is_class(value, _CLASS_NAMES):
                return True
            case ast.Constant(value="__module__"):
                return True
            case _:
                pass
    return False


def tells(text: str) -> bool:
    """Whether something of the standard library, by its dotted name, tells the modules of classes by itself."""
    return _among(text, _TELLING)


def looks_up(text: str) -> bool:
    """Whether something of the standard library looks a module up by the name that a class has."""
    return text == "sys" or _among(text, _LOOKING_UP)


def asks_functions(text: str) -> bool:
    """Whether something of the standard library asks functions for their module."""
    return _among(text, _OF_FUNCTIONS)


def _among(text: str, names: Iterable[str]) -> bool:
    if text.startswith(_MERE_LOOKS):
        return False
    return any(text == name or text.startswith(f"{name}.") for name in names)
