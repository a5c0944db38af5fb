"""What a program does with its variables that tells what they hold: calls that read a text, tests of a class."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

READERS: Mapping[str, str] = {
    "loads": "json",
    "raw_decode": "json",
    "fromhex": "hex",
    "unhexlify": "hex",
    "fromisoformat": "date",
    "strptime": "date",
    "parsedate": "date",
    "urlsplit": "url",
    "urlparse": "url",
    "unquote": "escaped",
    "unescape": "html",
    "ip_address": "ip",
    "ip_network": "ip",
    "inet_aton": "ip",
    "inet_pton": "ip",
    "IPv4Address": "ip",
    "IPv6Address": "ip",
    "int": "number",
    "float": "number",
    "Decimal": "number",
    "isdigit": "number",
    "isdecimal": "number",
    "literal_eval": "literal",
    "b64decode": "base64",
    "urlsafe_b64decode": "base64",
    "UUID": "uuid",
    "normalize": "letters",
    "casefold": "letters",
    "shlex": "command",
    "splitlines": "lines",
}
"""The function or method that reads a text → the word of the lexicon for such texts."""

_KINDS = frozenset(("bool", "int", "float", "str", "list", "dict"))
_ABSTRACT = {"Mapping": "dict", "MutableMapping": "dict", "Sequence": "list", "Iterable": "list", "Number": "float"}


class Uses(NamedTuple):
    """By the name of a variable: words of the lexicon for the texts that it is read as, kinds that it is tested for."""

    texts: dict[str, tuple[str, ...]]
    kinds: dict[str, tuple[str, ...]]


def uses(calls: Iterable[Mapping[str, Sequence[ast.Call]]]) -> Uses:
    """What calls, by the name that is called, tell of variables; under "" what they tell of none in particular."""
    texts: dict[str, dict[str, None]] = {}
    kinds: dict[str, dict[str, None]] = {}
    for by_name in calls:
        for called in by_name.keys() & READERS.keys():
            for call in by_name[called]:
                texts.setdefault(_read(call) or "", {})[READERS[called]] = None
        for call in by_name.get("isinstance", ()):
            if len(call.args) == 2 and (name := subject(call.args[0])) is not None:
                kinds.setdefault(name, {}).update(dict.fromkeys(_named(call.args[1])))
    return Uses(*({name: tuple(sorted(found)) for name, found in sorted(table.items())} for table in (texts, kinds)))


def _read(call: ast.Call) -> str | None:
    if call.args:
        return subject(call.args[0])
    return subject(call.func.value) if isinstance(call.func, ast.Attribute) else None


def _named(classes: ast.expr) -> list[str]:
    match classes:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            kind = _ABSTRACT.get(name, name)
            return [kind] if kind in _KINDS else []
        case ast.Tuple(elts=items):
            return [kind for item in items for kind in _named(item)]
        case ast.BinOp(left=left, right=right):
            return [*_named(left), *_named(right)]
        case _:
            return []


def subject(node: ast.expr) -> str | None:
    """The variable that an expression is about: `x`, `x.lower()`, `x[0]`, `len(x)` are about x; `y.x`, `y["x"]`, `y.get("x")` too."""
    for _ in range(6):
        match node:
            case ast.Name(id=name):
                return name
            case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str() as name), *_]):
                return name
            case ast.Subscript(slice=ast.Constant(value=str() as name)) | ast.Attribute(attr=name):
                return name
            case ast.Call(func=ast.Attribute(value=inner)) | ast.Subscript(value=inner):
                node = inner
            case ast.Call(func=ast.Name(), args=[inner]):
                node = inner
            case _:
                return None
    return None
