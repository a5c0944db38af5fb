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
from collections import Counter
from collections.abc import Iterable, Iterator, Set
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

CLASS_NAMES: Final = frozenset(
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
"""Names of variables that are classes, unless they evidently are text."""

_CLASS_MARKS: Final = ("type", "__class__", "__base", "__mro__", "__origin__", "__args__")
"""What a text has, in any case of letters, where a variable of its functions evidently is a class."""


def shows_module(nodes: Iterable[ast.AST], source: str, classes: Iterable[str], texts: Set[int] = frozenset()) -> bool:
    """Whether a statement can turn a class, with its module, into text. `classes` are names that stand for classes there.

    `nodes` are all nodes of the statement, `texts` ids of the expressions in it that name functions that return text.
    """
    shown = [one for part in nodes for one in _shown(part)]
    if not shown:
        return False
    known = (CLASS_NAMES - _text_variables(nodes, texts)) | set(classes)
    if any(mark in source.lower() for mark in _CLASS_MARKS):
        for part in nodes:
            if isinstance(part, FunctionNode):
                known |= set(_class_variables(part))
    return any(_is_class(one, known) for one in shown)


def module_tests(nodes: Iterable[ast.AST], source: str) -> Iterator[str | None]:
    """What a statement asks `__module__` of things to begin with, None where it does anything else with it.

    Copying it from one thing to another is nothing: whoever comes to ask that one does so somewhere.
    """
    if "__module__" not in source:
        return
    known: dict[int, tuple[str, ...]] = {}
    for part in nodes:  # what is around comes first
        match part:
            case ast.Assign(
                targets=[ast.Attribute(attr="__module__")], value=ast.Attribute(attr="__module__") as value
            ):
                known[id(value)] = ()
            case ast.Call(func=ast.Attribute(attr="startswith", value=value), args=[ast.Constant(value=str() as text)]):
                known[id(value)] = (text,)
            case ast.Compare(left=value, ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=str() as text)]):
                known[id(value)] = (text,)
            case ast.Compare(left=value, ops=[ast.In() | ast.NotIn()], comparators=[ast.Tuple(elts=parts)]) if all(
                isinstance(one, ast.Constant) and isinstance(one.value, str) for one in parts
            ):
                known[id(value)] = tuple(str(one.value) for one in parts if isinstance(one, ast.Constant))
            case ast.Attribute(attr="__module__", ctx=ast.Load()) | ast.Name(id="__module__", ctx=ast.Load()):
                yield from known.get(id(part), (None,))
            case ast.Constant(value=str() as text) if "__module__" in text:
                yield None
            case _:
                pass


def _text_variables(nodes: Iterable[ast.AST], texts: Set[int]) -> set[str]:
    """Names that are bound to nothing but text wherever they are bound."""
    bound: Counter[str] = Counter()
    text: Counter[str] = Counter()
    for part in nodes:
        match part:
            case ast.Name(id=name, ctx=ast.Store()) if name in CLASS_NAMES:
                bound[name] += 1
            case ast.arg(arg=name, annotation=annotation) if name in CLASS_NAMES:
                bound[name] += 1
                text[name] += isinstance(annotation, ast.Name) and annotation.id == "str"
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in CLASS_NAMES and _is_text(value, texts):
                text[name] += 1
            case _:
                pass
    return {name for name in text if bound[name] == text[name]}


def _is_text(node: ast.expr, texts: Set[int]) -> bool:
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod()):
            return _is_text(left, texts)
        case ast.IfExp(body=first, orelse=second):
            return _is_text(first, texts) and _is_text(second, texts)
        case ast.Call(func=ast.Attribute(attr="format" | "join")):
            return True
        case ast.Call(func=func):
            return id(func) in texts
        case _:
            return False


def _class_variables(function: FunctionNode) -> Iterator[str]:
    """Parameters annotated as classes, and variables assigned `type(x)` or `x.__class__`."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in every:
        if argument.annotation is not None:
            text = ast.unparse(argument.annotation).strip("'\"").lower()
            if text == "type" or "type[" in text:
                yield argument.arg
    own = any(argument.arg == "type" for argument in every)  # what it calls is what it was given
    for part in nodes_of(function):
        match part:
            case ast.Assign(value=ast.Call(func=ast.Name(id="type"))) if own:
                pass
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
    copied: set[int] = set()
    for part in nodes:  # what is around comes first
        match part:
            case ast.Assign(
                targets=[ast.Attribute(attr="__module__")], value=ast.Attribute(attr="__module__") as value
            ):
                copied.add(id(value))
            case ast.Attribute(attr="__module__", value=value, ctx=ast.Load()) if id(part) not in copied:
                if not _is_class(value, CLASS_NAMES):
                    return True
            case ast.Constant(value=str() as text) if "__module__" in text:
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
