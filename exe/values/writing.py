"""A value as a Python source expression that a person would write, and that evaluates to the value exactly."""

from __future__ import annotations

import ipaddress
import math
import re
import types
import uuid
from array import array
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath, PureWindowsPath
from typing import Any
from zoneinfo import ZoneInfo

from exe.values.forms import FACTORIES, ITEMS, KEYS, VALUES, natural
from exe.values.scalars import decimal_text
from exe.values.text import integer_digits

Names = Mapping[str, str]


class LiteralError(ValueError):
    """A value that has no source expression, or a text that is not a literal within the limits."""


def literal(value: object, *, names: Names | None = None) -> str:
    """Return Python source for `value`, a tree of builtin and standard-library values (see `decode`).

    Standard-library constructors are written with their dotted names ("decimal.Decimal('1.5')"); `names` maps a
    dotted name to what the expression's namespace calls it, e.g. {"decimal.Decimal": "Decimal"}.
    Raises `LiteralError` for anything else, for cycles and for nesting beyond the interpreter's stack.
    """
    with integer_digits():
        try:
            return _Writer(names or {}).write(value)
        except RecursionError:
            raise LiteralError("the value is cyclic or nested too deeply") from None


class _Writer:
    def __init__(self, names: Names) -> None:
        self.names = names

    def name(self, dotted: str) -> str:
        """Return what the namespace calls a constructor."""
        return self.names.get(dotted, dotted)

    def write(self, value: Any) -> str:
        cls = type(value)
        if value is None or value is ... or value is NotImplemented or cls in (bool, int, str, bytes):
            return "..." if value is ... else repr(value)
        rule = _RULES.get(cls)
        if rule is None:
            raise LiteralError(f"no source expression for {cls.__name__}")
        return rule(self, value)

    def join(self, items: Iterable[Any]) -> str:
        return ", ".join([self.write(item) for item in items])

    def braces(self, pairs: Iterable[tuple[Any, Any]]) -> str:
        return "{" + ", ".join([f"{self.write(key)}: {self.write(item)}" for key, item in pairs]) + "}"

    def call(self, dotted: str, *arguments: Any, **named: Any) -> str:
        parts = [self.write(item) for item in arguments]
        parts += [f"{name}={self.write(item)}" for name, item in named.items() if item is not None]
        return f"{self.name(dotted)}({', '.join(parts)})"


Rule = Callable[[_Writer, Any], str]


def _float(writer: _Writer, value: float) -> str:
    return repr(value) if math.isfinite(value) else f"{writer.name('float')}('{value}')"


def _complex(writer: _Writer, value: complex) -> str:
    simple = math.isfinite(value.real) and math.isfinite(value.imag)
    if simple and math.copysign(1.0, value.real) > 0 and math.copysign(1.0, value.imag) > 0:
        return repr(value)
    return writer.call("complex", value.real, value.imag)


def _tuple(writer: _Writer, value: tuple[Any, ...]) -> str:
    return f"({writer.join(value)}{',' if len(value) == 1 else ''})"


def _ordered(writer: _Writer, value: Iterable[Any]) -> str:
    """Return a set display, its elements in one order whatever the hash seed."""
    items = list(value)
    try:
        items.sort(key=natural)
    except TypeError:
        items.sort(key=writer.write)
    return "{" + writer.join(items) + "}"


def _set(writer: _Writer, value: set[Any]) -> str:
    return _ordered(writer, value) if value else f"{writer.name('set')}()"


def _frozenset(writer: _Writer, value: frozenset[Any]) -> str:
    return f"{writer.name('frozenset')}({_ordered(writer, value) if value else ''})"


def _range(writer: _Writer, value: range) -> str:
    if value.step != 1:
        return writer.call("range", value.start, value.stop, value.step)
    return writer.call("range", value.start, value.stop) if value.start else writer.call("range", value.stop)


def _mapping(dotted: str) -> Rule:
    return lambda writer, value: f"{writer.name(dotted)}({writer.braces(value.items()) if value else ''})"


def _defaultdict(writer: _Writer, value: defaultdict[Any, Any]) -> str:
    factory = next((name for name, each in FACTORIES.items() if each is value.default_factory), None)
    if factory is None and value.default_factory is not None:
        raise LiteralError("no source expression for this default factory")
    shown = "None" if factory is None else writer.name(factory)
    return f"{writer.name('collections.defaultdict')}({shown}, {writer.braces(value.items())})"


def _deque(writer: _Writer, value: deque[Any]) -> str:
    return writer.call("collections.deque", list(value), maxlen=value.maxlen)


def _clock(value: datetime | time) -> list[int]:
    parts = [value.hour, value.minute, value.second, value.microsecond]
    while len(parts) > 2 and not parts[-1]:
        parts.pop()
    return parts


def _datetime(writer: _Writer, value: datetime) -> str:
    parts = [value.year, value.month, value.day, *_clock(value)]
    if parts[3:] == [0, 0]:
        parts = parts[:3]
    return writer.call("datetime.datetime", *parts, tzinfo=value.tzinfo, fold=value.fold or None)


def _time(writer: _Writer, value: time) -> str:
    return writer.call("datetime.time", *_clock(value), tzinfo=value.tzinfo, fold=value.fold or None)


def _timedelta(writer: _Writer, value: timedelta) -> str:
    parts = {"days": value.days, "seconds": value.seconds, "microseconds": value.microseconds}
    return writer.call("datetime.timedelta", **{name: part or None for name, part in parts.items()})


def _timezone(writer: _Writer, value: timezone) -> str:
    offset = value.utcoffset(None)
    if value.tzname(None) != timezone(offset).tzname(None):
        return writer.call("datetime.timezone", offset, value.tzname(None))
    return f"{writer.name('datetime.timezone')}.utc" if not offset else writer.call("datetime.timezone", offset)


def _pattern(writer: _Writer, value: re.Pattern[Any]) -> str:
    flags = value.flags & ~re.UNICODE if isinstance(value.pattern, str) else value.flags
    return writer.call("re.compile", value.pattern, *([int(flags)] if flags else []))


def _spelled(dotted: str, spell: Callable[[Any], Any] = str) -> Rule:
    return lambda writer, value: writer.call(dotted, spell(value))


_RULES: dict[type, Rule] = {
    float: _float,
    complex: _complex,
    list: lambda writer, value: f"[{writer.join(value)}]",
    tuple: _tuple,
    dict: lambda writer, value: writer.braces(value.items()),
    set: _set,
    frozenset: _frozenset,
    bytearray: _spelled("bytearray", bytes),
    memoryview: _spelled("memoryview", bytes),
    array: lambda writer, value: writer.call("array.array", value.typecode, value.tolist()),
    range: _range,
    slice: lambda writer, value: writer.call("slice", value.start, value.stop, value.step),
    OrderedDict: _mapping("collections.OrderedDict"),
    Counter: _mapping("collections.Counter"),
    defaultdict: _defaultdict,
    deque: _deque,
    ChainMap: lambda writer, value: f"{writer.name('collections.ChainMap')}({writer.join(value.maps)})",
    UserDict: _spelled("collections.UserDict", lambda value: value.data),
    UserList: _spelled("collections.UserList", lambda value: value.data),
    UserString: _spelled("collections.UserString", lambda value: value.data),
    types.MappingProxyType: _spelled("types.MappingProxyType", dict),
    KEYS: lambda writer, value: f"{writer.name('dict')}.fromkeys({writer.write(list(value))}).keys()",
    VALUES: lambda writer, value: f"{writer.braces(enumerate(value))}.values()",
    ITEMS: lambda writer, value: f"{writer.braces(value)}.items()",
    Decimal: _spelled("decimal.Decimal", decimal_text),
    Fraction: lambda writer, value: writer.call("fractions.Fraction", value.numerator, value.denominator),
    datetime: _datetime,
    date: lambda writer, value: writer.call("datetime.date", value.year, value.month, value.day),
    time: _time,
    timedelta: _timedelta,
    timezone: _timezone,
    ZoneInfo: _spelled("zoneinfo.ZoneInfo", lambda value: value.key),
    uuid.UUID: _spelled("uuid.UUID"),
    PurePosixPath: _spelled("pathlib.PurePosixPath"),
    PosixPath: _spelled("pathlib.Path"),
    PureWindowsPath: _spelled("pathlib.PureWindowsPath"),
    re.Pattern: _pattern,
    **{
        cls: _spelled(f"ipaddress.{cls.__name__}")
        for cls in (
            ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network,
            ipaddress.IPv6Network, ipaddress.IPv4Interface, ipaddress.IPv6Interface,
        )
    },
}  # fmt: skip
