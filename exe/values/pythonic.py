"""The rule python: `==` of two values as the language defines it, except that NaN equals NaN."""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from exe.values.decoding import Opaque
from exe.values.forms import ITEMS, KEYS, VALUES
from exe.values.keys import bucket
from exe.values.pairing import Budget, pair_off

_NUMBERS = (bool, int, float, complex, Decimal, Fraction)
_SEQUENCES = (list, tuple, deque)
_SETS = (set, frozenset, KEYS, ITEMS)
_DICTS = (dict, OrderedDict, Counter, defaultdict)
_MAPPINGS = (*_DICTS, ChainMap, MappingProxyType, UserDict)


def equal(truth: Any, answer: Any, budget: Budget | None = None) -> bool:
    """Tell whether `truth == answer`, NaN equal to itself at any depth.

    A program's own classes count as what they extend: a subclass as its payload, an enumeration member as its value, a
    NamedTuple as a tuple, an object as the dict of its fields.
    """
    budget = budget or Budget()
    work = [(truth, answer)]
    while work:
        one, other = work.pop()
        if not _step(_plain(one), _plain(other), work, budget):
            return False
    return True


def _plain(value: Any) -> Any:
    while type(value) is Opaque:
        if value.kind in ("enum", "subclass"):
            value = value.value
        else:
            shown = {name: item for name, item in value.fields.items() if name != "@attributes"}
            value = tuple(shown.values()) if value.kind == "namedtuple" else shown
    if type(value) in (UserList, UserString, UserDict):
        return _plain(value.data)
    return value


def _step(one: Any, other: Any, work: list[tuple[Any, Any]], budget: Budget) -> bool:
    cls, its = type(one), type(other)
    if cls in _NUMBERS and its in _NUMBERS:
        return _same_number(one, other)
    if cls in _SEQUENCES:
        if its is not cls or len(one) != len(other):
            return False
        work.extend(zip(one, other, strict=True))
        return True
    if cls in _SETS:
        if its not in _SETS or len(one) != len(other):
            return False
        return pair_off(list(one), list(other), bucket, lambda x, y: equal(x, y, budget), budget)
    if cls in _MAPPINGS:
        return its in _MAPPINGS and _same_mapping(one, other, work, budget)
    if cls is VALUES:  # Python compares these by identity; as lists is the useful reading
        work.append((list(one), list(other) if its is VALUES else other))
        return True
    if cls in (bytes, bytearray, memoryview) and its in (bytes, bytearray, memoryview):
        return bytes(one) == bytes(other)
    if cls is slice and its is slice:
        work.append(((one.start, one.stop, one.step), (other.start, other.stop, other.step)))
        return True
    return cls is its and bool(one == other)


def _same_number(one: Any, other: Any) -> bool:
    try:
        if one != one or other != other:
            return _nan_parts(one) == _nan_parts(other)
        return bool(one == other)
    except ArithmeticError:  # a signalling NaN
        return type(one) is type(other) and str(one) == str(other)


def _nan_parts(value: Any) -> tuple[Any, Any]:
    """Return the real and imaginary part of a number, NaN as None."""
    parts = (value.real, value.imag) if type(value) is complex else (value, 0)
    return tuple(None if part != part else part for part in parts)  # type: ignore[return-value]


def _same_mapping(
    one: Mapping[Any, Any], other: Mapping[Any, Any], work: list[tuple[Any, Any]], budget: Budget
) -> bool:
    if len(one) != len(other):
        return False
    if type(one) is OrderedDict and type(other) is OrderedDict:
        work.extend(zip(one.items(), other.items(), strict=True))
        return True
    if all(type(key) is str for key in one) and all(type(key) is str for key in other):
        if one.keys() != other.keys():
            return False
        work.extend((item, other[key]) for key, item in one.items())
        return True
    return pair_off(
        list(one.items()), list(other.items()), lambda pair: bucket(pair[0]), lambda x, y: equal(x, y, budget), budget
    )
