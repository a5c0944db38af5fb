"""Texts by which equal values find each other, so that comparing sets and dicts needs no search."""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from exe.values.decoding import Opaque
from exe.values.encoding import encode, key_text
from exe.values.forms import ITEMS, KEYS, VALUES
from exe.values.limits import Unrepresentable
from exe.values.scalars import merge_surrogates
from exe.values.text import canonical, quote

_ORDERED = (list, tuple, deque, range, VALUES)
_UNORDERED = (set, frozenset, KEYS, ITEMS)
_MAPPINGS = (dict, OrderedDict, Counter, defaultdict, ChainMap, MappingProxyType, UserDict)
_DEEPEST = 220


def bucket(value: Any, depth: int = 0) -> str | None:
    """Return a text that a value shares with its usual spellings in an answer; None for what has none.

    Values that match under a rule mostly have equal texts; values with equal texts need not match. Numbers count by
    value, sequences and sets alike, objects as the dict of their fields.
    """
    cls = type(value)
    if cls is str:
        return quote(merge_surrogates(value))
    if value is None or cls is bool:
        return repr(value)
    if cls is int or cls is float:
        return _number(value)
    if depth > _DEEPEST:
        return None
    if cls is Opaque:
        inner = value.value if value.kind in ("enum", "subclass") else dict(value.fields)
        return bucket(inner, depth + 1)
    if cls in (UserList, UserString):
        return bucket(value.data, depth + 1)
    if cls in _MAPPINGS:
        pairs = [(written_key(key) or bucket(key, depth + 1), bucket(item, depth + 1)) for key, item in value.items()]
        return "{" + ",".join(sorted(f"{key}:{item}" for key, item in pairs)) + "}"
    if cls in _ORDERED or cls in _UNORDERED:
        parts = [str(bucket(item, depth + 1)) for item in value]
        return "[" + ",".join(parts if cls in _ORDERED else sorted(parts)) + "]"
    try:
        return canonical(encode(value)[0])
    except Unrepresentable:
        return None


def _number(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return canonical(encode(value)[0])
    if type(value) is float and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return canonical(value)


def written_key(key: Any) -> str | None:
    """Return the text under which a key stands in a JSON object; None for a key that has none."""
    if type(key) is str:
        return merge_surrogates(key)
    if type(key) is Opaque:
        return written_key(key.value) if key.kind in ("enum", "subclass") else None
    try:
        return key_text(encode(key)[0])
    except Unrepresentable:
        return None


def object_keys(mapping: Mapping[Any, Any]) -> dict[str, Any] | None:
    """Return the mapping by written key; None where keys have no such text or clash: its form then is pairs."""
    out: dict[str, Any] = {}
    for key, item in mapping.items():
        name = written_key(key)
        if name is None:
            return None
        out[name] = item
    return out if len(out) == len(mapping) else None
