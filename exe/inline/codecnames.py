"""Codecs and their error handlers are asked for by name: a text, no reference, leads to what a module registered.

| registered by | asked for by |
|---|---|
| `codecs.register_error("name", handler)` | the same text anywhere in a statement that is needed |
| `codecs.register(search)` | `encode`, `decode` or `open` with an encoding that is no text, or no encoding of the standard library |
"""

from __future__ import annotations

import ast
import codecs
from collections.abc import Iterator
from typing import Final

from exe.analysis.targets import Foreign
from exe.analysis.units import Unit

REGISTER: Final = "codecs.register"
REGISTER_ERROR: Final = "codecs.register_error"
SEARCHED: Final = Foreign("codecs", "register", True)
"""Stands for every codec that a search function finds."""

_CODING: Final = frozenset({"encode", "decode", "open", "lookup", "getencoder", "getdecoder", "str", "bytes"})
_ENCODING_AT: Final = {"str": 1, "bytes": 1}  # where the encoding stands among the arguments, 0 for all others


def registered(text: str, call: ast.Call) -> Foreign | None:
    """What a call of a library function, by its dotted name, makes known under a name; None for any other call."""
    if text == REGISTER:
        return SEARCHED
    if text == REGISTER_ERROR and call.args and isinstance(call.args[0], ast.Constant):
        return handler(call.args[0].value)
    return None


def handler(name: object) -> Foreign:
    """Stands for the error handler of that name."""
    return Foreign("codecs", f"error handler {name}", True)


def asked(unit: Unit) -> Iterator[Foreign]:
    """All error handlers and codecs that a statement may ask for, whether somebody registered them or not."""
    for node in unit.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield handler(node.value)
        elif isinstance(node, ast.Call) and _searches(node):
            yield SEARCHED


def _searches(call: ast.Call) -> bool:
    """Whether a call may look for a codec that the standard library does not have."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in _CODING:
        return False
    place = _ENCODING_AT.get(name, 0)
    given = [keyword.value for keyword in call.keywords if keyword.arg in ("encoding", None)] + call.args[
        place : place + 1
    ]
    return any(not (isinstance(one, ast.Constant) and _known(one.value)) for one in given)


def _known(encoding: object) -> bool:
    """Whether the standard library has the encoding; what is no text is none."""
    try:
        return not isinstance(encoding, str) or codecs.lookup(encoding) is not None
    except LookupError:
        return False
