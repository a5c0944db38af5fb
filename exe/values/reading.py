"""A Python literal in untrusted text as a value: parsed, never evaluated.

The language is that of `ast.literal_eval`, and besides: tuples without parentheses, integers of up to
`limits.digits` digits, the names nan, inf, NaN and Infinity, and the standard library's constructors as `repr` writes
them, from an explicit list, bare or dotted (`float('nan')`, `frozenset({1})`, `Decimal('1')`, `datetime.date(2024, 2, 29)`).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from typing import Any

from exe.values.constructors import CONSTANTS, CONSTRUCTORS, Rejected
from exe.values.limits import DEFAULT_LIMITS, Limits
from exe.values.text import integer_digits
from exe.values.writing import LiteralError

NAMES: Mapping[str, Any] = {
    "nan": float("nan"), "NaN": float("nan"), "inf": float("inf"), "Infinity": float("inf"), "INF": float("inf"),
    "Ellipsis": ..., "NotImplemented": NotImplemented,
}  # fmt: skip

_LONG_NUMBER = re.compile(r"\d[\d_]{4299}")
_DIGITS = re.compile(r"\d[\d_]*")


def read_literal(text: str, *, limits: Limits = DEFAULT_LIMITS, names: Mapping[str, Any] = NAMES) -> Any:
    """Return the value that `text` spells.

    `names` gives bare names a value; pass {"true": True, …} beside `NAMES` to read mixtures of JSON and Python.
    As in Python, the last of equal dict keys wins. Raises `LiteralError` and nothing else.
    """
    if len(text) > limits.characters:
        raise LiteralError(f"longer than {limits.characters} characters")
    try:
        if _LONG_NUMBER.search(text):
            _check_digits(text, limits.digits)
            with integer_digits(limits.digits):
                return _read(text, limits, names)
        return _read(text, limits, names)
    except LiteralError:
        raise
    except RecursionError:
        raise LiteralError("nested too deeply") from None
    except MemoryError:
        raise LiteralError("too complex for the parser") from None
    except SyntaxError as exc:
        raise LiteralError(f"not a Python literal: {exc.msg}"[:200]) from None
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, re.error) as exc:
        raise LiteralError(str(exc)[:200]) from None


def _check_digits(text: str, digits: int) -> None:
    for run in _DIGITS.finditer(text):
        if run.end() - run.start() > digits:
            raise LiteralError(f"an integer of more than {digits} digits")


def _read(text: str, limits: Limits, names: Mapping[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in untrusted text is no business of ours
        tree = ast.parse(text.strip(" \t\r\n\f"), mode="eval")
    return _Reader(limits, names).read(tree.body)


class _Reader:
    """Turns the syntax tree of one literal into its value."""

    def __init__(self, limits: Limits, names: Mapping[str, Any]) -> None:
        self.limits = limits
        self.names = names
        self.depth = self.nodes = 0

    def read(self, node: ast.expr) -> Any:
        self.nodes += 1
        if self.nodes > self.limits.nodes:
            raise LiteralError(f"more than {self.limits.nodes} values")
        if isinstance(node, ast.Constant):
            return node.value
        self.depth += 1
        if self.depth > self.limits.depth:
            raise LiteralError(f"nested deeper than {self.limits.depth} levels")
        value = self._inner(node)
        self.depth -= 1
        return value

    def _inner(self, node: ast.expr) -> Any:
        match node:
            case ast.List(elts=items):
                return self._items(items)
            case ast.Tuple(elts=items):
                return tuple(self._items(items))
            case ast.Set(elts=items):
                return set(self._items(items))
            case ast.Dict(keys=keys, values=items):
                return self._dict(keys, items)
            case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
                return self._signed(node.op, operand)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._complex(node)
            case ast.Name() | ast.Attribute():
                return self._name(node)
            case ast.Call():
                return self._call(node)
        raise LiteralError(f"{type(node).__name__} is no part of a literal")

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        return [self.read(node) for node in nodes]

    def _dict(self, keys: list[ast.expr | None], items: list[ast.expr]) -> dict[Any, Any]:
        out = {}
        for key, item in zip(keys, items, strict=True):
            if key is None:
                raise LiteralError("** is no part of a literal")
            out[self.read(key)] = self.read(item)
        return out

    def _signed(self, sign: ast.unaryop, operand: ast.expr) -> Any:
        value = self.read(operand)
        if type(value) not in (int, float, complex):
            raise LiteralError("a sign before something that is no number")
        return -value if isinstance(sign, ast.USub) else +value

    def _complex(self, node: ast.BinOp) -> complex:
        left, right = self.read(node.left), self.read(node.right)
        if type(left) not in (int, float) or type(right) is not complex:
            raise LiteralError("an operation is no part of a literal")
        result = left + right if isinstance(node.op, ast.Add) else left - right
        return complex(result)

    def _name(self, node: ast.expr) -> Any:
        dotted = _dotted(node)
        if dotted in self.names:
            return self.names[dotted]
        if dotted in CONSTANTS:
            return CONSTANTS[dotted]
        raise LiteralError(f"the name {dotted[:60]} is no part of a literal")

    def _call(self, node: ast.Call) -> Any:
        dotted = _dotted(node.func)
        make = CONSTRUCTORS.get(dotted)
        if make is None:
            raise LiteralError(f"a call of {dotted[:60]} is no part of a literal")
        if any(keyword.arg is None for keyword in node.keywords):
            raise LiteralError("** is no part of a literal")
        named = {str(keyword.arg): self.read(keyword.value) for keyword in node.keywords}
        try:
            return make(*self._arguments(dotted, node.args), **named)
        except Rejected as exc:
            raise LiteralError(f"{dotted}: {exc}") from None

    def _arguments(self, dotted: str, nodes: list[ast.expr]) -> list[Any]:
        """Read arguments; the first one of a defaultdict is its factory's name."""
        if nodes and dotted.rpartition(".")[2] == "defaultdict":
            first = CONSTANTS.get("factory:" + _dotted(nodes[0])) if not isinstance(nodes[0], ast.Constant) else None
            return [first, *self._items(nodes[1:])]
        return self._items(nodes)


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise LiteralError(f"{type(node).__name__} is no part of a literal")
    parts.append(node.id)
    return ".".join(reversed(parts))
