"""Conditions whose outcome the running interpreter fixes: versions, platforms, TYPE_CHECKING, constants made of them."""

from __future__ import annotations

import ast
import operator
import os
import platform
import sys
from collections.abc import Callable
from typing import Any, Final

from exe.analysis import stdlib


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()

_KNOWN: Final[dict[str, Any]] = {
    "sys.version_info": tuple(sys.version_info),
    "sys.version_info.major": sys.version_info.major,
    "sys.version_info.minor": sys.version_info.minor,
    "sys.hexversion": sys.hexversion,
    "sys.platform": sys.platform,
    "sys.maxsize": sys.maxsize,
    "sys.byteorder": sys.byteorder,
    "sys.implementation.name": sys.implementation.name,
    "os.name": os.name,
    "typing.TYPE_CHECKING": False,
    "typing_extensions.TYPE_CHECKING": False,
}

_CALLS: Final[dict[str, Any]] = {
    "platform.python_implementation": platform.python_implementation(),
    "platform.system": platform.system(),
    "platform.python_version_tuple": platform.python_version_tuple(),
}

_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}

Lookup = Callable[[str], "ast.expr | str | None"]
"""What a dotted name stands for: canonical name of an external thing, an expression it was assigned, or None."""

_DEPTH: Final = 20


def evaluate(node: ast.expr, lookup: Lookup, depth: int = 0) -> Any:
    """The value of a condition, or UNKNOWN. Nothing but the rules here is ever computed."""
    if depth > _DEPTH:
        return UNKNOWN
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            values = [evaluate(element, lookup, depth + 1) for element in elements]
            return UNKNOWN if any(value is UNKNOWN for value in values) else tuple(values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = evaluate(operand, lookup, depth + 1)
            return UNKNOWN if value is UNKNOWN else not value
        case ast.BoolOp():
            return _boolean(node, lookup, depth)
        case ast.Compare():
            return _compare(node, lookup, depth)
        case ast.Subscript():
            return _subscript(node, lookup, depth)
        case ast.IfExp():
            chosen = evaluate(node.test, lookup, depth + 1)
            if chosen is UNKNOWN:
                return UNKNOWN
            return evaluate(node.body if chosen else node.orelse, lookup, depth + 1)
        case ast.Name() | ast.Attribute():
            return _name(node, lookup, depth)
        case ast.Call():
            return _call(node, lookup, depth)
        case _:
            return UNKNOWN


def dotted(node: ast.expr) -> str | None:
    """The text of a plain dotted name, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def _name(node: ast.expr, lookup: Lookup, depth: int) -> Any:
    text = dotted(node)
    if text is None:
        return UNKNOWN
    found = lookup(text)
    if isinstance(found, str):
        return _KNOWN.get(found, UNKNOWN)
    return UNKNOWN if found is None else evaluate(found, lookup, depth + 1)


def _boolean(node: ast.BoolOp, lookup: Lookup, depth: int) -> Any:
    stop = isinstance(node.op, ast.Or)
    values = [evaluate(value, lookup, depth + 1) for value in node.values]
    for value in values:  # an unknown part before a deciding one does not matter: both orders decide the same
        if value is not UNKNOWN and bool(value) is stop:
            return value
    return UNKNOWN if any(value is UNKNOWN for value in values) else values[-1]


def _compare(node: ast.Compare, lookup: Lookup, depth: int) -> Any:
    left = evaluate(node.left, lookup, depth + 1)
    for sign, comparator in zip(node.ops, node.comparators, strict=True):
        right = evaluate(comparator, lookup, depth + 1)
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        try:
            if not _COMPARE[type(sign)](left, right):
                return False
        except TypeError:
            return UNKNOWN
        left = right
    return True


def _subscript(node: ast.Subscript, lookup: Lookup, depth: int) -> Any:
    value = evaluate(node.value, lookup, depth + 1)
    if not isinstance(value, tuple):
        return UNKNOWN
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if part is None else evaluate(part, lookup, depth + 1)
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        if any(bound is not None and not isinstance(bound, int) for bound in bounds):
            return UNKNOWN
        return value[slice(*bounds)]
    index = evaluate(node.slice, lookup, depth + 1)
    if isinstance(index, int) and -len(value) <= index < len(value):
        return value[index]
    return UNKNOWN


def _call(node: ast.Call, lookup: Lookup, depth: int) -> Any:
    if node.keywords:
        return UNKNOWN
    arguments = [evaluate(argument, lookup, depth + 1) for argument in node.args]
    match node.func, node.args, arguments:
        case ast.Name(id="hasattr"), [owner, _], [_, str() as member]:
            text = dotted(owner)
            found = lookup(text) if text is not None else None
            if isinstance(found, str) and stdlib.is_stdlib(found) and stdlib.load(found) is not None:
                return stdlib.has_member(found, member)
            return UNKNOWN
        case ast.Name(id="bool"), [_], [value]:
            return UNKNOWN if value is UNKNOWN else bool(value)
        case ast.Attribute(attr="startswith", value=owner), [_], [str() | tuple() as prefix]:
            value = evaluate(owner, lookup, depth + 1)
            return value.startswith(prefix) if isinstance(value, str) else UNKNOWN
        case ast.Name() | ast.Attribute(), [], []:
            text = dotted(node.func)
            found = lookup(text) if text is not None else None
            return _CALLS.get(found, UNKNOWN) if isinstance(found, str) else UNKNOWN
        case _:
            return UNKNOWN
