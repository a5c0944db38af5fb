"""Codecs and their error handlers are asked for by name: a text, no reference, leads to what a module registered.

| registered by | asked for by |
|---|---|
| `codecs.register_error("name", handler)` | the same text anywhere in a statement that is needed, or `errors` that is no text |
| `codecs.register_error(name, handler)` | `errors` that is no text, or none of the standard library's |
| `codecs.register(search)` | `encode`, `decode` or `open` with an encoding that is no text, or no encoding of the standard library |
"""

from __future__ import annotations

import ast
import codecs
from collections.abc import Callable, Set
from typing import Final

from exe.analysis.targets import Foreign
from exe.analysis.units import Unit

REGISTER: Final = "codecs.register"
REGISTER_ERROR: Final = "codecs.register_error"
SEARCHED: Final = Foreign("codecs", "register", True)
"""Stands for every codec that a search function finds."""

_HANDLER: Final = "error handler "
_CODING: Final = frozenset({"encode", "decode", "open", "lookup", "getencoder", "getdecoder", "str", "bytes"})
_ENCODING_AT: Final = {"str": 1, "bytes": 1}  # where the encoding stands among the arguments, 0 for all others


def registered(text: str, call: ast.Call) -> Foreign | None:
    """What a call of a library function, by its dotted name, makes known under a name; None for any other call."""
    if text == REGISTER:
        return SEARCHED
    if text == REGISTER_ERROR:
        return handler(call.args[0].value) if call.args and isinstance(call.args[0], ast.Constant) else UNNAMED
    return None


def handler(name: object) -> Foreign:
    """Stands for the error handler of that name."""
    return Foreign("codecs", f"{_HANDLER}{name}", True)


UNNAMED: Final = handler(None)
"""Stands for error handlers whose name is computed."""


def asked(unit: Unit, known: Set[Foreign]) -> Set[Foreign]:
    """Those of the `known` error handlers and codecs that a statement may ask for."""
    found: set[Foreign] = set()
    for node in unit.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(handler(node.value))
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name not in _CODING:
                continue
            place = _ENCODING_AT.get(name, 0)
            if not all(_standard(one, codecs.lookup) for one in _given(node, "encoding", place)):
                found.add(SEARCHED)
            errors = _given(node, "errors", place + 1)
            if not all(_standard(one, codecs.lookup_error) for one in errors):
                found.add(UNNAMED)
            if not all(isinstance(one, ast.Constant) for one in errors):
                found.update(one for one in known if one.dotted.startswith(f"codecs.{_HANDLER}"))
    return found & known


def _given(call: ast.Call, keyword: str, place: int) -> list[ast.expr]:
    """The argument of that name or place, and whatever stars may bring in its stead."""
    named = [one.value for one in call.keywords if one.arg in (keyword, None)]
    starred = [one for one in call.args[: place + 1] if isinstance(one, ast.Starred)]
    return named + (starred or call.args[place : place + 1])


def _standard(given: ast.expr, lookup: Callable[[str], object]) -> bool:
    """Whether the standard library has it; what is no text is for the call itself to refuse."""
    if not isinstance(given, ast.Constant):
        return False
    try:
        return not isinstance(given.value, str) or lookup(given.value) is not None
    except LookupError:
        return False
