"""One small function for each standard type: a value of it to (plain, typed). The table FORMS dispatches on the type.

Keys are `id(type)`, since hashing or comparing a class may run its metaclass's code. Each function is also right for
an instance of a subclass: it reads through the base's own methods only.
"""

from __future__ import annotations

import builtins
import gc
import ipaddress
import re
import types
import uuid
from array import array
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from exe.values import classes, scalars
from exe.values.limits import Unrepresentable

if TYPE_CHECKING:
    from exe.values.encoding import Pair, Walk

globals()["__builtins__"] = dict(vars(builtins))

Json = Any
Build = Callable[["Walk", Any], "Pair"]

_empty: dict[Any, Any] = {}
KEYS: type = type(_empty.keys())
VALUES: type = type(_empty.values())
ITEMS: type = type(_empty.items())
ALL = slice(None)
FACTORIES: dict[str, Any] = {
    "int": int, "float": float, "complex": complex, "bool": bool, "str": str, "bytes": bytes, "list": list,
    "tuple": tuple, "dict": dict, "set": set, "frozenset": frozenset, "collections.deque": deque,
    "collections.Counter": Counter, "collections.OrderedDict": OrderedDict,
}  # fmt: skip
_factory_names = {id(factory): name for name, factory in FACTORIES.items()}


class Kind(IntEnum):
    """What the walk has to watch in a value."""

    SCALAR = 0  # nothing below it
    FROZEN = 1  # values below it, identity without meaning
    MUTABLE = 2  # values below it, and two places may share it


def typed(tag: str, value: Json, **more: Json) -> dict[str, Json]:
    """Return an annotated node."""
    return {"@odata.type": f"#{tag}", **more, "value": value}


def _sequence(tag: str, items: Callable[[Any], Iterable[Any]]) -> Build:
    def build(walk: Walk, value: Any) -> Pair:
        plain, inner = walk.sequence(items(value))
        return plain, inner if tag == "list" else typed(tag, inner)

    return build


def _unordered(tag: str, items: Callable[[Any], Iterable[Any]]) -> Build:
    def build(walk: Walk, value: Any) -> Pair:
        plain, inner = walk.unordered(items(value))
        return plain, typed(tag, inner)

    return build


def _mapping(tag: str, items: Callable[[Any], Iterable[tuple[Any, Any]]]) -> Build:
    def build(walk: Walk, value: Any) -> Pair:
        plain, pairs = walk.mapping(items(value))
        return plain, typed(tag, pairs)

    return build


def _dict(walk: Walk, value: dict[Any, Any]) -> Pair:
    return walk.members(dict.items(value))


_default_factory = defaultdict.__dict__["default_factory"].__get__


def _defaultdict(walk: Walk, value: Any) -> Pair:
    plain, pairs = walk.mapping(dict.items(value))
    factory = _default_factory(value)
    name = None if factory is None else _factory_names.get(id(factory)) or _callable_name(factory)
    return plain, typed("defaultdict", pairs, factory=name)


def _callable_name(factory: Any) -> str:
    if type(factory) is types.FunctionType:
        return str.__str__(types.FunctionType.__dict__["__qualname__"].__get__(factory))
    cls = type(factory)
    return classes.class_name(factory if any(base is type for base in classes.mro(cls)) else cls)


_maxlen = deque.__dict__["maxlen"].__get__


def _deque(walk: Walk, value: Any) -> Pair:
    plain, inner = walk.sequence(deque.__iter__(value))
    return plain, typed("deque", inner, maxlen=_maxlen(value))


def _chainmap(walk: Walk, value: Any) -> Pair:
    maps = classes.attribute(value, "maps")
    if type(maps) is not list or any(not _is_plain_mapping(each) for each in maps):
        raise Unrepresentable("opaque", "ChainMap over other mappings")
    _, inner = walk.sequence(maps)
    merged: dict[Any, Any] = {}
    for each in reversed(maps):
        for key, item in dict.items(each):
            merged[key] = item
    plain, _ = walk.mapping(dict.items(merged))
    return plain, typed("ChainMap", inner)


def _is_plain_mapping(value: object) -> bool:
    """Keys of exact hashable builtin types only: merging must not run the program's `__hash__` or `__eq__`."""
    return type(value) is dict and all(id(type(key)) in _PLAIN_KEYS for key in dict.keys(value))


_PLAIN_KEYS = frozenset(id(cls) for cls in (str, int, float, bool, bytes, complex, type(None), date, datetime, Decimal))


def _mappingproxy(walk: Walk, value: Any) -> Pair:
    plain, inner = walk.value(gc_referents(value)[0])
    return plain, typed("mappingproxy", inner)


gc_referents = gc.get_referents


def _wrapper(tag: str) -> Build:
    """UserDict, UserList and UserString: what they wrap, in `data`."""

    def build(walk: Walk, value: Any) -> Pair:
        data = classes.attribute(value, "data")
        if data is classes.MISSING:
            raise Unrepresentable("opaque", tag)
        plain, inner = walk.value(data)
        return plain, typed(tag, inner)

    return build


def _binary(tag: str, data: Callable[[Any], bytes]) -> Build:
    def build(walk: Walk, value: Any) -> Pair:
        content = data(value)
        walk.spend(len(content))
        encoded = scalars.binary_text(content)
        return encoded, typed(tag, encoded)

    return build


def _memory(value: memoryview) -> bytes:
    if value.format != "B" or value.ndim != 1:
        raise Unrepresentable("opaque", "memoryview with a format of its own")
    return value.tobytes()


_typecode = array.__dict__["typecode"].__get__


def _array(walk: Walk, value: Any) -> Pair:
    plain, inner = walk.sequence(array.tolist(value))
    return plain, typed("array", inner, typecode=_typecode(value))


def _range(walk: Walk, value: range) -> Pair:
    try:
        length = len(value)
    except OverflowError:
        length = walk.limits.nodes + 1
    if length > walk.limits.nodes:
        raise Unrepresentable("large", "range")
    plain, _ = walk.sequence(value)
    return plain, typed("range", [value.start, value.stop, value.step])


def _slice(walk: Walk, value: slice) -> Pair:
    plain, inner = walk.sequence((value.start, value.stop, value.step))
    return dict(zip(("start", "stop", "step"), plain, strict=True)), typed("slice", inner)


def _complex(walk: Walk, value: complex) -> Pair:
    exact = complex.__pos__(value)
    _, parts = walk.sequence((exact.real, exact.imag))
    return scalars.complex_text(exact), typed("complex", parts)


def _spelled(tag: str, spell: Callable[[Any], str]) -> Build:
    """A scalar whose text is exact, the same in both forms."""

    def build(walk: Walk, value: Any) -> Pair:
        spelling = spell(value)
        plain, inner = walk.text(str.__str__(spelling))
        return plain, typed(tag, inner)

    return build


def _fraction(walk: Walk, value: Fraction) -> Pair:
    for part in scalars.fraction_parts(value):
        walk.integer(part)
    spelling = scalars.fraction_text(value)
    return spelling, typed("Fraction", spelling)


_date_iso, _datetime_iso, _time_iso = date.isoformat, datetime.isoformat, time.isoformat


def _parts(cls: type, *names: str) -> tuple[Callable[[Any], Any], ...]:
    """Return readers of C-level attributes, which a subclass cannot have replaced."""
    return tuple(cls.__dict__[name].__get__ for name in names)


_CLOCK = ("hour", "minute", "second", "microsecond")
_datetime_parts = _parts(date, "year", "month", "day") + _parts(datetime, *_CLOCK)
_time_parts = _parts(time, *_CLOCK)
_zone_and_fold = {datetime: _parts(datetime, "tzinfo", "fold"), time: _parts(time, "tzinfo", "fold")}
_duration_parts = _parts(timedelta, "days", "seconds", "microseconds")


def _when(base: type, parts: tuple[Callable[[Any], Any], ...], spell: Callable[[Any], str]) -> Build:
    """A datetime or a time: its zone apart, so that names and rules of zones survive."""
    read_zone, read_fold = _zone_and_fold[base]

    def build(walk: Walk, value: Any) -> Pair:
        zone = read_zone(value)
        more: dict[str, Json] = {"fold": 1} if read_fold(value) else {}
        if zone is not None:
            if type(zone) is not timezone and type(zone) is not ZoneInfo:
                raise Unrepresentable("tzinfo", classes.class_name(type(zone)))
            more["tz"] = walk.value(zone)[1]
        naive = spell(base(*[part(value) for part in parts]))
        return spell(value), {"@odata.type": f"#{base.__name__}", "value": naive, **more}

    return build


def _duration(value: timedelta) -> str:
    return scalars.duration_text(timedelta(*[part(value) for part in _duration_parts]))


def _zone_key(value: ZoneInfo) -> str:
    key = value.key
    if type(key) is not str:
        raise Unrepresentable("tzinfo", "a ZoneInfo without a key")
    return key


_uuid_int = uuid.UUID.__dict__["int"].__get__


def _uuid(value: uuid.UUID) -> str:
    digits = f"{int(_uuid_int(value)):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _timezone(walk: Walk, value: timezone) -> Pair:
    offset = timezone.utcoffset(value, None)
    name = timezone.tzname(value, None)
    more = {} if name == timezone.tzname(timezone(offset), None) else {"name": walk.text(name)[1]}
    return scalars.offset_text(offset), {"@odata.type": "#timezone", "value": scalars.duration_text(offset), **more}


def _pattern(walk: Walk, value: re.Pattern[Any]) -> Pair:
    plain, inner = walk.value(value.pattern)
    return plain, typed("Pattern", inner, flags=int(value.flags))


def _singleton(tag: str, spelling: str) -> Build:
    return lambda _walk, _value: (spelling, {"@odata.type": f"#{tag}"})


def encode_object(walk: Walk, value: object) -> Pair:
    """Return the forms of an object: its declared fields by name."""
    plain, inner = walk.members(classes.fields(value))
    return plain, {"@odata.type": "#object", "class": classes.class_name(type(value)), "fields": inner}


def encode_enum(walk: Walk, value: Enum) -> Pair:
    """Return the forms of an enumeration member: its value's."""
    own = classes.instance_dict(value) or {}
    plain, inner = walk.value(own.get("_value_"))
    name = own.get("_name_")
    if name is not None and type(name) is not str:
        raise Unrepresentable("opaque", classes.class_name(type(value)))
    return plain, typed("enum", inner, **{"class": classes.class_name(type(value)), "name": name})


def encode_subclass(base: type) -> Build:
    """Return the builder for instances of a subclass of the standard type `base`: payload, class and attributes."""

    def build(walk: Walk, value: Any) -> Pair:
        cls = type(value)
        extra = [] if base in _WRAPPERS else classes.attributes(value)
        if base in _WRAPPERS:
            extra = [row for row in classes.attributes(value) if row[0] != "data"]
        names = classes.namedtuple_fields(cls) if base is tuple else None
        if names is not None and len(names) == tuple.__len__(value):
            plain, inner = walk.members(zip(names, tuple.__iter__(value), strict=True))
            node = {"@odata.type": "#namedtuple", "class": classes.class_name(cls), "fields": inner}
            return plain, {**node, "attributes": walk.members(extra)[1]} if extra else node
        plain, inner = _payload(walk, value, base)
        more = {"fields": walk.members(extra)[1]} if extra else {}
        return plain, {"@odata.type": "#subclass", "class": classes.class_name(cls), "value": inner, **more}

    return build


def _payload(walk: Walk, value: Any, base: type) -> Pair:
    if base is str:
        return walk.text(str.__str__(value))
    if base is int:
        return walk.integer(int.__int__(value))
    if base is float:
        return walk.real(float.__float__(value))
    return FORMS[id(base)][1](walk, value)


def natural(value: object) -> Any:
    """Return a key that sorts `value` as Python would. Raises TypeError where there is no one order (or user code)."""
    cls = type(value)
    if cls is str or cls is int or cls is bool or cls is bytes:
        return value
    if id(cls) in _ORDERED:
        if (cls is float or cls is Decimal) and value != value:
            raise TypeError
        return value
    if cls is tuple:
        items: tuple[Any, ...] = value  # type: ignore[assignment]
        return tuple([natural(item) for item in items])
    if classes.is_enum(cls):
        return natural((classes.instance_dict(value) or {}).get("_value_"))
    raise TypeError


_ORDERED = frozenset(id(cls) for cls in (float, Decimal, date, datetime, time, timedelta, Fraction))
_WRAPPERS = (UserDict, UserList, UserString)
_S, _F, _M = Kind.SCALAR, Kind.FROZEN, Kind.MUTABLE
_IP = (
    ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network,
    ipaddress.IPv6Network, ipaddress.IPv4Interface, ipaddress.IPv6Interface,
)  # fmt: skip

_TABLE: tuple[tuple[type, Kind, Build], ...] = (
    (list, _M, _sequence("list", list.__iter__)),
    (tuple, _F, _sequence("tuple", tuple.__iter__)),
    (dict, _M, _dict),
    (set, _M, _unordered("set", set.__iter__)),
    (frozenset, _F, _unordered("frozenset", frozenset.__iter__)),
    (OrderedDict, _M, _mapping("OrderedDict", OrderedDict.items)),
    (Counter, _M, _mapping("Counter", dict.items)),
    (defaultdict, _M, _defaultdict),
    (deque, _M, _deque),
    (ChainMap, _M, _chainmap),
    (types.MappingProxyType, _F, _mappingproxy),
    (UserDict, _M, _wrapper("UserDict")),
    (UserList, _M, _wrapper("UserList")),
    (UserString, _M, _wrapper("UserString")),
    (KEYS, _F, _sequence("dict_keys", iter)),
    (VALUES, _F, _sequence("dict_values", iter)),
    (ITEMS, _F, _sequence("dict_items", iter)),
    (bytes, _S, _binary("bytes", lambda value: bytes.__getitem__(value, ALL))),
    (bytearray, _M, _binary("bytearray", lambda value: bytes(bytearray.__getitem__(value, ALL)))),
    (memoryview, _S, _binary("memoryview", _memory)),
    (array, _M, _array),
    (range, _F, _range),
    (slice, _F, _slice),
    (complex, _S, _complex),
    (Decimal, _S, _spelled("Decimal", scalars.decimal_text)),
    (Fraction, _S, _fraction),
    (datetime, _S, _when(datetime, _datetime_parts, _datetime_iso)),
    (time, _S, _when(time, _time_parts, _time_iso)),
    (date, _S, _spelled("date", _date_iso)),
    (timedelta, _S, _spelled("timedelta", _duration)),
    (timezone, _S, _timezone),
    (ZoneInfo, _S, _spelled("ZoneInfo", _zone_key)),
    (uuid.UUID, _S, _spelled("UUID", _uuid)),
    (PurePosixPath, _S, _spelled("PurePosixPath", PurePosixPath.__str__)),
    (PosixPath, _S, _spelled("PosixPath", PosixPath.__str__)),
    (PureWindowsPath, _S, _spelled("PureWindowsPath", PureWindowsPath.__str__)),
    (WindowsPath, _S, _spelled("PureWindowsPath", PureWindowsPath.__str__)),
    (re.Pattern, _S, _pattern),
    *((cls, _S, _spelled(cls.__name__, cls.__str__)) for cls in _IP),
    (types.EllipsisType, _S, _singleton("Ellipsis", "...")),
    (types.NotImplementedType, _S, _singleton("NotImplemented", "NotImplemented")),
    (types.SimpleNamespace, _M, encode_object),
)
FORMS: dict[int, tuple[Kind, Build]] = {id(cls): (kind, build) for cls, kind, build in _TABLE}
