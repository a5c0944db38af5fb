"""The typed form back to a Python value, exactly; the inverse of `encode` for builtin and standard-library types.

No class of a program is ever imported or made: its instances become `Opaque` records. A drained iterator becomes a
list. The input may be hostile: everything malformed is a `DecodeError` that names the place.
"""

from __future__ import annotations

import ipaddress
import re
import types
import uuid
from array import array
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta, timezone, tzinfo
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal
from zoneinfo import ZoneInfo

from exe.values import scalars
from exe.values.forms import FACTORIES
from exe.values.limits import DEFAULT_LIMITS, Limits
from exe.values.text import integer_digits

Json = Any


class DecodeError(ValueError):
    """A typed form that is malformed; the message begins with the place, as a JSON pointer."""


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """An instance of a class that only its program knows. Two of them are equal only if they are one.

    `name` is the class; `value` the payload of a subclass of a builtin, or an enumeration member's value; `member` the
    member's name; `fields` the declared fields or the attributes, by name.
    """

    kind: Literal["object", "namedtuple", "enum", "subclass"]
    name: str
    value: Any = None
    member: str | None = None
    fields: dict[Any, Any] = field(default_factory=dict)


def decode(typed: Json, *, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Return the value that `typed` stands for. Raises `DecodeError`."""
    try:
        return _Reader(typed, limits).read(typed, "")
    except RecursionError:
        raise DecodeError("/: nested too deeply") from None


class _Reader:
    """One decoding: what is defined so far, for references."""

    def __init__(self, root: Json, limits: Limits) -> None:
        self.root = root
        self.limits = limits
        self.depth = 0
        self.made: dict[int, Any] = {}
        self.nodes: dict[int, tuple[Json, str]] | None = None
        self.waiting: set[int] = set()

    def read(self, node: Json, at: str) -> Any:
        cls = type(node)
        if node is None or cls in (bool, str, int):
            return node
        if cls is float:
            if node - node != 0.0:
                raise DecodeError(f"{at or '/'}: {node} is not JSON")
            return node
        if cls is not list and cls is not dict:
            raise DecodeError(f"{at or '/'}: {cls.__name__} is not JSON")
        self.depth += 1
        if self.depth > 2 * self.limits.depth:
            raise DecodeError(f"{at or '/'}: nested deeper than {self.limits.depth} levels")
        value = self._items(node, at) if cls is list else self._object(node, at)
        self.depth -= 1
        return value

    def _items(self, node: list[Json], at: str) -> list[Any]:
        return [self.read(item, f"{at}/{index}") for index, item in enumerate(node)]

    def _object(self, node: dict[str, Json], at: str) -> Any:
        if "@odata.type" not in node:
            if any(type(key) is not str for key in node):
                raise DecodeError(f"{at or '/'}: a key that is no text")
            if any(key.startswith("@") for key in node):
                raise DecodeError(f"{at or '/'}: annotations without @odata.type")
            return {key: self.read(item, f"{at}/{key}") for key, item in node.items()}
        tag = node["@odata.type"]
        if tag == "#ref":
            return self._reference(node, at)
        form = _FORMS.get(tag) if type(tag) is str else None
        if form is None:
            raise DecodeError(f"{at or '/'}: unknown @odata.type {tag!r}")
        allowed, make = form
        unknown = node.keys() - allowed - {"@odata.type", "@odata.id"}
        missing = {name for name in allowed if name in ("value", "class")} - node.keys()
        if unknown or missing:
            raise DecodeError(f"{at or '/'}: {tag} has no {', '.join(sorted(unknown or missing))}"[:200])
        number = node.get("@odata.id")
        if type(number) is int and number in self.made:
            return self.made[number]
        try:
            value = make(self, node, at)
        except DecodeError:
            raise
        except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, re.error) as exc:
            raise DecodeError(f"{at or '/'}: malformed {tag}: {exc}"[:300]) from None
        if number is not None:
            if type(number) is not int:
                raise DecodeError(f"{at or '/'}: @odata.id is not an integer")
            self.made[number] = value
        return value

    def _reference(self, node: dict[str, Json], at: str) -> Any:
        number = node.get("value")
        if type(number) is not int or len(node) != 2:
            raise DecodeError(f"{at or '/'}: malformed #ref")
        if number in self.made:
            return self.made[number]
        if self.nodes is None:
            self.nodes = _definitions(self.root)
        if number not in self.nodes or number in self.waiting:
            raise DecodeError(f"{at or '/'}: #ref to {number}, which is not defined before")
        self.waiting.add(number)
        return self.read(*self.nodes[number])

    def array(self, node: dict[str, Json], at: str) -> list[Any]:
        """Read "value" as an array of values."""
        if type(node["value"]) is not list:
            raise DecodeError(f"{at}/value: not an array")
        return self._items(node["value"], f"{at}/value")

    def pairs(self, node: dict[str, Json], at: str) -> list[tuple[Any, Any]]:
        """Read "value" as an array of [key, value] pairs with distinct keys."""
        found = self.array(node, at)
        if not all(type(pair) is list and len(pair) == 2 for pair in found):
            raise DecodeError(f"{at}/value: not an array of pairs")
        out = [(key, item) for key, item in found]
        if len(dict(out)) != len(out):
            raise DecodeError(f"{at}/value: duplicate keys")
        return out

    def text(self, node: dict[str, Json], at: str, name: str = "value") -> str:
        """Read a member as text."""
        value = self.read(node[name], f"{at}/{name}")
        if type(value) is not str:
            raise DecodeError(f"{at}/{name}: not a string")
        return value

    def members(self, node: dict[str, Json], at: str, name: str) -> dict[Any, Any]:
        """Read a member as a dict; an absent one is empty."""
        value = self.read(node.get(name, {}), f"{at}/{name}")
        if type(value) is not dict:
            raise DecodeError(f"{at}/{name}: not an object")
        return value


def _definitions(root: Json) -> dict[int, tuple[Json, str]]:
    """Return where each "@odata.id" is: for a reference that stands before its definition (sets are sorted)."""
    found: dict[int, tuple[Json, str]] = {}
    stack: list[tuple[Json, str]] = [(root, "")]
    while stack:
        node, at = stack.pop()
        if type(node) is dict:
            number = node.get("@odata.id")
            if type(number) is int:
                found[number] = node, at
            stack.extend((item, f"{at}/{key}") for key, item in node.items())
        elif type(node) is list:
            stack.extend((item, f"{at}/{index}") for index, item in enumerate(node))
    return found


Node = dict[str, Json]
Make = Callable[[_Reader, Node, str], Any]


def _need(value: Any, wanted: str) -> Any:
    if value is None:
        raise ValueError(f"no {wanted}")
    return value


def _whole(node: Node, name: str, *, optional: bool = False) -> int | None:
    value = node.get(name)
    if type(value) is int or (optional and value is None):
        return value
    raise ValueError(f"{name} is not an integer")


def _unique(build: Callable[[list[Any]], Any]) -> Make:
    def make(reader: _Reader, node: Node, at: str) -> Any:
        items = reader.array(node, at)
        value = build(items)
        if len(value) != len(items):
            raise ValueError("duplicate elements")
        return value

    return make


def _defaultdict(reader: _Reader, node: Node, at: str) -> Any:
    name = node.get("factory")
    return defaultdict(FACTORIES.get(name) if type(name) is str else None, reader.pairs(node, at))


def _chainmap(reader: _Reader, node: Node, at: str) -> Any:
    maps = reader.array(node, at)
    if not all(type(each) is dict for each in maps):
        raise ValueError("a map is not a dict")
    chain: ChainMap[Any, Any] = ChainMap()
    chain.maps = maps
    return chain


def _user(cls: type, payload: type) -> Make:
    def make(reader: _Reader, node: Node, at: str) -> Any:
        data = reader.read(node["value"], f"{at}/value")
        if not isinstance(data, payload):
            raise ValueError("wrong payload")
        made = cls(payload())
        made.data = data
        return made

    return make


def _binary(reader: _Reader, node: Node, at: str) -> bytes:
    return bytes(_need(scalars.read_binary(reader.text(node, at)), "base64url"))


def _float(reader: _Reader, node: Node, at: str) -> float:
    return float({"NaN": "nan", "INF": "inf", "-INF": "-inf"}[reader.text(node, at)])


def _string(_reader: _Reader, node: Node, _at: str) -> str:
    if type(node["value"]) is not str:
        raise ValueError("not a string")
    return scalars.unescape_surrogates(node["value"])


def _complex(reader: _Reader, node: Node, at: str) -> complex:
    real, imaginary = reader.array(node, at)
    if type(real) is not float or type(imaginary) is not float:
        raise ValueError("parts are not floats")
    return complex(real, imaginary)


def _fraction(reader: _Reader, node: Node, at: str) -> Fraction:
    text = reader.text(node, at)
    with integer_digits():
        return _need(scalars.read_fraction(text), "fraction")  # type: ignore[no-any-return]


def _zoned(read: Callable[[str], datetime | time | None]) -> Make:
    def make(reader: _Reader, node: Node, at: str) -> Any:
        naive = _need(read(reader.text(node, at)), "ISO 8601 form")
        zone = reader.read(node["tz"], f"{at}/tz") if "tz" in node else None
        if naive.tzinfo is not None or not isinstance(zone, tzinfo | None):
            raise ValueError("malformed zone")
        return naive.replace(tzinfo=zone, fold=node.get("fold", 0))

    return make


def _timezone(reader: _Reader, node: Node, at: str) -> timezone:
    offset: timedelta = _need(scalars.read_duration(reader.text(node, at)), "ISO 8601 duration")
    return timezone(offset, reader.text(node, at, "name")) if "name" in node else timezone(offset)


def _pattern(reader: _Reader, node: Node, at: str) -> re.Pattern[Any]:
    flags = _whole(node, "flags") or 0
    return re.compile(reader.read(node["value"], f"{at}/value"), flags & ~re.DEBUG)


def _scalar(read: Callable[[str], Any]) -> Make:
    return lambda reader, node, at: _need(read(reader.text(node, at)), "such value")


def _sequence(build: Callable[[list[Any]], Any]) -> Make:
    return lambda reader, node, at: build(reader.array(node, at))


def _mapping(build: Callable[[list[tuple[Any, Any]]], Any]) -> Make:
    return lambda reader, node, at: build(reader.pairs(node, at))


def _deque(reader: _Reader, node: Node, at: str) -> deque[Any]:
    maxlen = _whole(node, "maxlen", optional=True)
    items = reader.array(node, at)
    if maxlen is not None and len(items) > maxlen:
        raise ValueError("longer than maxlen")
    return deque(items, maxlen)


def _range(reader: _Reader, node: Node, at: str) -> range:
    made = range(*reader.array(node, at))
    if made and len(made) > reader.limits.nodes:  # len() itself raises OverflowError beyond the machine's word
        raise ValueError(f"longer than {reader.limits.nodes}")
    return made


def _opaque(kind: Literal["object", "namedtuple", "enum", "subclass"]) -> Make:
    def make(reader: _Reader, node: Node, at: str) -> Opaque:
        fields = reader.members(node, at, "fields")
        if "attributes" in node:
            fields = fields | {"@attributes": reader.members(node, at, "attributes")}
        member = reader.text(node, at, "name") if node.get("name") is not None else None
        value = reader.read(node["value"], f"{at}/value") if "value" in node else None
        return Opaque(kind, reader.text(node, at, "class"), value, member, fields)

    return make


_V = frozenset({"value"})
_FORMS: dict[str, tuple[frozenset[str], Make]] = {
    "#list": (_V, _sequence(list)),
    "#tuple": (_V, _sequence(tuple)),
    "#iterator": (_V, _sequence(list)),
    "#set": (_V, _unique(set)),
    "#frozenset": (_V, _unique(frozenset)),
    "#dict_keys": (_V, _unique(lambda items: dict.fromkeys(items).keys())),
    "#dict_values": (_V, _sequence(lambda items: dict(enumerate(items)).values())),
    "#dict_items": (_V, _unique(lambda items: dict(items).items())),
    "#dict": (_V, _mapping(dict)),
    "#OrderedDict": (_V, _mapping(OrderedDict)),
    "#Counter": (_V, _mapping(lambda pairs: Counter(dict(pairs)))),
    "#defaultdict": (_V | {"factory"}, _defaultdict),
    "#deque": (_V | {"maxlen"}, _deque),
    "#ChainMap": (_V, _chainmap),
    "#mappingproxy": (_V, lambda reader, node, at: types.MappingProxyType(reader.read(node["value"], f"{at}/value"))),
    "#UserDict": (_V, _user(UserDict, dict)),
    "#UserList": (_V, _user(UserList, list)),
    "#UserString": (_V, _user(UserString, str)),
    "#range": (_V, _range),
    "#slice": (_V, _sequence(lambda items: slice(*items))),
    "#bytes": (_V, _binary),
    "#bytearray": (_V, lambda reader, node, at: bytearray(_binary(reader, node, at))),
    "#memoryview": (_V, lambda reader, node, at: memoryview(_binary(reader, node, at))),
    "#array": (_V | {"typecode"}, lambda reader, node, at: array(node["typecode"], reader.array(node, at))),
    "#float": (_V, _float),
    "#str": (_V, _string),
    "#complex": (_V, _complex),
    "#Decimal": (_V, _scalar(scalars.read_decimal)),
    "#Fraction": (_V, _fraction),
    "#datetime": (_V | {"fold", "tz"}, _zoned(scalars.read_datetime)),
    "#time": (_V | {"fold", "tz"}, _zoned(scalars.read_time)),
    "#date": (_V, _scalar(scalars.read_date)),
    "#timedelta": (_V, _scalar(scalars.read_duration)),
    "#timezone": (_V | {"name"}, _timezone),
    "#ZoneInfo": (_V, _scalar(ZoneInfo)),
    "#UUID": (_V, _scalar(uuid.UUID)),
    "#PurePosixPath": (_V, _scalar(PurePosixPath)),
    "#PosixPath": (_V, _scalar(Path)),
    "#PureWindowsPath": (_V, _scalar(PureWindowsPath)),
    "#Pattern": (_V | {"flags"}, _pattern),
    **{
        f"#{cls.__name__}": (_V, _scalar(cls))
        for cls in (
            ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network,
            ipaddress.IPv6Network, ipaddress.IPv4Interface, ipaddress.IPv6Interface,
        )
    },
    "#Ellipsis": (frozenset(), lambda _reader, _node, _at: ...),
    "#NotImplemented": (frozenset(), lambda _reader, _node, _at: NotImplemented),
    "#object": (frozenset({"class", "fields"}), _opaque("object")),
    "#namedtuple": (frozenset({"class", "fields", "attributes"}), _opaque("namedtuple")),
    "#enum": (_V | {"class", "name"}, _opaque("enum")),
    "#subclass": (_V | {"class", "fields"}, _opaque("subclass")),
}  # fmt: skip
