"""The constructors that a literal in untrusted text may name, each bounded: none allocates more than its arguments do."""

from __future__ import annotations

import datetime as dt
import ipaddress
import pathlib
import re
import types
import uuid
from array import array
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from exe.values import scalars
from exe.values.forms import FACTORIES
from exe.values.limits import DEFAULT_LIMITS


class Rejected(ValueError):
    """An argument that a literal's constructor does not take."""


_READY = (list, tuple, set, frozenset, dict, str, bytes)


def _collection(build: Callable[[Any], Any]) -> Callable[..., Any]:
    """A constructor of nothing or of one collection that stands there in full."""

    def make(*items: Any) -> Any:
        if len(items) > 1 or (items and type(items[0]) not in _READY):
            raise Rejected("takes one written collection")
        return build(items[0] if items else ())

    return make


def _text(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def make(text: str) -> Any:
        if type(text) is not str:
            raise Rejected("takes a string")
        value = read(text)
        if value is None:
            raise Rejected("malformed text")
        return value

    return make


def _float(text: Any) -> float:
    if type(text) is str and len(text) > 1000:
        raise Rejected("too long")
    if type(text) not in (str, int, float):
        raise Rejected("takes a number or a string")
    return float(text)


def _complex(real: Any, imaginary: Any = None) -> complex:
    if type(real) is str and imaginary is None:
        value = scalars.read_complex(real)
        if value is None:
            raise Rejected("malformed text")
        return value
    if not {type(real), type(imaginary)} <= {int, float, type(None)}:
        raise Rejected("takes numbers")
    return complex(real) if imaginary is None else complex(real, imaginary)


def _bytes(kind: Callable[[Any], Any]) -> Callable[..., Any]:
    def make(data: Any = b"") -> Any:
        if type(data) not in (bytes, list, tuple):
            raise Rejected("takes bytes or a list of integers")
        return kind(data)

    return make


def _range(*bounds: int) -> range:
    made = range(*bounds)
    if made and len(made) > DEFAULT_LIMITS.nodes:  # len() itself raises OverflowError beyond the machine's word
        raise Rejected("too long")
    return made


def _fraction(numerator: Any = 0, denominator: Any = 1) -> Fraction:
    if type(numerator) is str and denominator == 1:
        value = scalars.read_fraction(numerator)
        if value is None:
            raise Rejected("malformed text")
        return value
    if type(numerator) is not int or type(denominator) is not int:
        raise Rejected("takes integers")
    return Fraction(numerator, denominator)


def _decimal(value: Any = 0) -> Decimal:
    if type(value) is int:
        return Decimal(value)
    return _text(scalars.read_decimal)(value)  # type: ignore[no-any-return]


def _dict(pairs: Any = (), **named: Any) -> dict[Any, Any]:
    return dict(pairs, **named) if type(pairs) in _READY else _collection(dict)(pairs)


def _defaultdict(factory: Any = None, pairs: Any = ()) -> Any:
    return defaultdict(factory, _dict(pairs))


def _counter(pairs: Any = (), **named: Any) -> Any:
    return Counter(_collection(lambda items: items)(pairs), **named)


def _deque(items: Any = (), maxlen: int | None = None) -> Any:
    return deque(_collection(list)(items), maxlen)


def _chainmap(*maps: Any) -> Any:
    if not all(isinstance(each, dict) for each in maps):
        raise Rejected("takes dicts")
    return ChainMap(*maps)


def _array(typecode: str, items: Any = ()) -> Any:
    return array(typecode, _collection(list)(items))


def _pattern(pattern: Any, flags: int = 0) -> Any:
    if type(pattern) not in (str, bytes) or len(pattern) > 10_000 or type(flags) is not int:
        raise Rejected("takes a pattern and integer flags")
    return re.compile(pattern, flags & ~re.DEBUG)


def _slice(*parts: Any) -> slice:
    return slice(*parts)


_SHORT: dict[str, dict[str, Callable[..., Any]]] = {
    "": {
        "set": _collection(set), "frozenset": _collection(frozenset), "list": _collection(list), "tuple": _collection(tuple),
        "dict": _dict, "float": _float, "complex": _complex, "bytes": _bytes(bytes), "bytearray": _bytes(bytearray),
        "memoryview": _bytes(lambda data: memoryview(bytes(data))), "range": _range, "slice": _slice,
        "dict_keys": _collection(lambda items: dict.fromkeys(items).keys()),
        "dict_values": _collection(lambda items: dict(enumerate(items)).values()),
        "dict_items": _collection(lambda items: dict(items).items()),
    },
    "collections": {
        "OrderedDict": lambda *pairs, **named: OrderedDict(_dict(*pairs, **named)),
        "Counter": _counter, "defaultdict": _defaultdict, "deque": _deque, "ChainMap": _chainmap,
        "UserDict": lambda data=(): UserDict(_dict(data)), "UserList": _collection(UserList), "UserString": _text(UserString),
    },
    "types": {"MappingProxyType": lambda data: types.MappingProxyType(_dict(data)),
              "mappingproxy": lambda data: types.MappingProxyType(_dict(data))},
    "decimal": {"Decimal": _decimal},
    "fractions": {"Fraction": _fraction},
    "datetime": {"datetime": dt.datetime, "date": dt.date, "time": dt.time, "timedelta": dt.timedelta, "timezone": dt.timezone},
    "zoneinfo": {"ZoneInfo": _text(lambda key: ZoneInfo(key) if len(key) < 64 else None)},
    "uuid": {"UUID": _text(uuid.UUID)},
    "pathlib": {"PurePosixPath": _text(pathlib.PurePosixPath), "PureWindowsPath": _text(pathlib.PureWindowsPath),
                "PurePath": _text(pathlib.PurePath), "Path": _text(pathlib.Path), "PosixPath": _text(pathlib.PosixPath)},
    "re": {"compile": _pattern},
    "array": {"array": _array},
    "ipaddress": {
        name: _text(getattr(ipaddress, name))
        for name in ("IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network", "IPv4Interface", "IPv6Interface",
                     "ip_address", "ip_network", "ip_interface")
    },
}  # fmt: skip

CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    spelling: make
    for module, group in _SHORT.items()
    for name, make in group.items()
    for spelling in ((name, f"{module}.{name}") if module else (name,))
    if spelling != "compile"
}
"""Constructor by spelling, bare and dotted; bare `datetime` is the class, as after `from datetime import datetime`."""

CONSTANTS: dict[str, Any] = {
    "timezone.utc": dt.UTC,
    "datetime.timezone.utc": dt.UTC,
    "datetime.UTC": dt.UTC,
    "UTC": dt.UTC,
    **{f"factory:{name}": factory for name, factory in FACTORIES.items()},
    **{f"factory:{name.rpartition('.')[2]}": factory for name, factory in FACTORIES.items()},
}
"""Values of dotted names; "factory:…" are what a defaultdict may be made with."""
