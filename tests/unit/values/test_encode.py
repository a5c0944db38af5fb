"""Encoding: both forms of every supported type, what has no form, hostile objects, sharing, limits."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import io
import ipaddress
import itertools
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import threading
import types
import uuid
import zoneinfo
from array import array
from typing import Any, ClassVar, NamedTuple

import pytest

from exe.values import Limits, Unrepresentable, decode, dumps, encode, loads


def tag(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"@odata.type": f"#{name}", **more, "value": value}


class Colour(enum.Enum):
    RED = 1
    BLUE = (0, 0, 255)


class Level(enum.IntEnum):
    LOW = 9
    HIGH = 10


class Flags(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass
class Point:
    x: int
    y: list[int] = dataclasses.field(default_factory=list)
    kind: ClassVar[str] = "point"

    @functools.cached_property
    def norm(self) -> int:
        return self.x


class Pair(NamedTuple):
    left: int
    right: str


class Slotted:
    __slots__ = ("a", "never")

    def __init__(self) -> None:
        self.a = 1


class Plain:
    def __init__(self) -> None:
        self.z = 1
        self._hidden = (2,)

    @functools.cached_property
    def cached(self) -> int:
        return 3


class Markup(str):
    pass


class Stack(list):
    pass


def with_cache() -> list[Any]:
    plain, point = Plain(), Point(1)
    assert plain.cached == 3
    assert point.norm == 1
    return [plain, point]


def marked() -> Markup:
    text = Markup("<b>")
    text.safe = True
    return text


TABLE: list[tuple[Any, Any, Any]] = [
    (None, None, None),
    (True, True, True),
    (2**63 + 1, 9223372036854775809, 9223372036854775809),
    (1.0, 1.0, 1.0),
    ([1, [2]], [1, [2]], [1, [2]]),
    ((1, (2,)), [1, [2]], tag("tuple", [1, tag("tuple", [2])])),
    ({10, 9, 1}, [1, 9, 10], tag("set", [1, 9, 10])),
    ({"b", 1}, ["b", 1], tag("set", ["b", 1])),
    (
        {frozenset({2}), frozenset({1})},
        [[1], [2]],
        tag("set", [tag("frozenset", [1]), tag("frozenset", [2])]),
    ),
    ({Level.HIGH, Level.LOW}, [9, 10], None),
    ({"a": 1, "b": {}}, {"a": 1, "b": {}}, {"a": 1, "b": {}}),
    ({"@odata.type": 1}, {"@odata.type": 1}, tag("dict", [["@odata.type", 1]])),
    (
        {1: "a", None: "b", True + 1: "c", 1.5: "d", False: "e"},
        {"1": "a", "null": "b", "2": "c", "1.5": "d", "false": "e"},
        tag("dict", [[1, "a"], [None, "b"], [2, "c"], [1.5, "d"], [False, "e"]]),
    ),
    ({(1, 2): 3, (0,): 4}, [[[0], 4], [[1, 2], 3]], None),
    ({dt.date(2024, 2, 29): 1}, {"2024-02-29": 1}, None),
    ({float("nan"): 1}, {"NaN": 1}, None),
    (b"\xff\xfe", "__4=", tag("bytes", "__4=")),
    (bytearray(b"a"), "YQ==", tag("bytearray", "YQ==")),
    (memoryview(b"a"), "YQ==", tag("memoryview", "YQ==")),
    (array("h", [1, -1]), [1, -1], tag("array", [1, -1], typecode="h")),
    (dt.datetime(2024, 2, 29, 1, 2, 3, 4), "2024-02-29T01:02:03.000004", tag("datetime", "2024-02-29T01:02:03.000004")),
    (
        dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        "2024-01-01T00:00:00+00:00",
        {**tag("datetime", "2024-01-01T00:00:00"), "tz": tag("timezone", "PT0S")},
    ),
    (
        dt.datetime(2024, 10, 27, 2, 30, tzinfo=zoneinfo.ZoneInfo("UTC"), fold=1),
        "2024-10-27T02:30:00+00:00",
        {**tag("datetime", "2024-10-27T02:30:00"), "fold": 1, "tz": tag("ZoneInfo", "UTC")},
    ),
    (dt.date(1, 1, 1), "0001-01-01", tag("date", "0001-01-01")),
    (dt.time(23, 59), "23:59:00", tag("time", "23:59:00")),
    (dt.timedelta(days=1, seconds=61, milliseconds=500), "P1DT1M1.5S", tag("timedelta", "P1DT1M1.5S")),
    (dt.timedelta(seconds=-1), "-PT1S", tag("timedelta", "-PT1S")),
    (dt.timedelta(), "PT0S", tag("timedelta", "PT0S")),
    (dt.timezone(dt.timedelta(hours=1), "X"), "+01:00", {**tag("timezone", "PT1H"), "name": "X"}),
    (decimal.Decimal("1.50"), "1.50", tag("Decimal", "1.50")),
    (decimal.Decimal("1E+3"), "1E+3", tag("Decimal", "1E+3")),
    (fractions.Fraction(-3, 4), "-3/4", tag("Fraction", "-3/4")),
    (1 + 2j, "(1+2j)", tag("complex", [1.0, 2.0])),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", tag("UUID", "00000000-0000-0000-0000-000000000001")),
    (pathlib.PurePosixPath("/a/b"), "/a/b", tag("PurePosixPath", "/a/b")),
    (pathlib.PureWindowsPath("c:/a"), "c:\\a", tag("PureWindowsPath", "c:\\a")),
    (re.compile("a+", re.IGNORECASE), "a+", {**tag("Pattern", "a+"), "flags": 34}),
    (range(0, 6, 2), [0, 2, 4], tag("range", [0, 6, 2])),
    (slice(1, None), {"start": 1, "stop": None, "step": None}, tag("slice", [1, None, None])),
    (..., "...", {"@odata.type": "#Ellipsis"}),
    (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8", tag("IPv4Network", "10.0.0.0/8")),
    (collections.deque([1, 2], 3), [1, 2], tag("deque", [1, 2], maxlen=3)),
    (collections.Counter("aab"), {"a": 2, "b": 1}, tag("Counter", [["a", 2], ["b", 1]])),
    (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}, tag("OrderedDict", [["b", 1], ["a", 2]])),
    (collections.defaultdict(list, a=[1]), {"a": [1]}, tag("defaultdict", [["a", [1]]], factory="list")),
    (collections.ChainMap({"a": 1}, {"a": 2, "b": 3}), {"a": 1, "b": 3}, tag("ChainMap", [{"a": 1}, {"a": 2, "b": 3}])),
    (types.MappingProxyType({"a": 1}), {"a": 1}, tag("mappingproxy", {"a": 1})),
    (collections.UserDict(a=1), {"a": 1}, tag("UserDict", {"a": 1})),
    ({"a": 1}.keys(), ["a"], tag("dict_keys", ["a"])),
    ((n for n in range(3)), [0, 1, 2], tag("iterator", [0, 1, 2])),
    (zip("ab", [1, 2], strict=True), [["a", 1], ["b", 2]], None),
    (Colour.RED, 1, {**tag("enum", 1), "class": "Colour", "name": "RED"}),
    (Colour.BLUE, [0, 0, 255], None),
    (Flags.A | Flags.B, 3, {**tag("enum", 3), "class": "Flags", "name": "A|B"}),
    (Point(1, [2]), {"x": 1, "y": [2]}, {"@odata.type": "#object", "class": "Point", "fields": {"x": 1, "y": [2]}}),
    (Pair(1, "r"), {"left": 1, "right": "r"}, None),
    (Slotted(), {"a": 1}, {"@odata.type": "#object", "class": "Slotted", "fields": {"a": 1}}),
    (with_cache(), [{"z": 1, "_hidden": [2]}, {"x": 1, "y": []}], None),
    (marked(), "<b>", {**tag("subclass", "<b>"), "class": "Markup", "fields": {"safe": True}}),
    (Stack([1]), [1], {**tag("subclass", [1]), "class": "Stack"}),
    (types.SimpleNamespace(b=1, a=2), {"b": 1, "a": 2}, None),
]


@pytest.mark.parametrize(("value", "plain", "typed"), TABLE, ids=lambda item: repr(item)[:40])
def test_forms(value: Any, plain: Any, typed: Any) -> None:
    found = encode(value)
    assert dumps(found[0]) == dumps(plain)
    assert json.loads(json.dumps(found[1])) == found[1]
    if typed is not None:
        assert found[1] == typed


def test_dict_order_is_kept() -> None:
    plain, typed = encode({"b": 1, "a": 2})
    assert dumps(plain) == dumps(typed) == '{"b":1,"a":2}'


def test_non_finite_floats_are_words() -> None:
    plain, typed = encode([math.nan, math.inf, -math.inf])
    assert plain == ["NaN", "INF", "-INF"]
    assert typed == [tag("float", "NaN"), tag("float", "INF"), tag("float", "-INF")]


def test_surrogates_survive_json_text() -> None:
    pair, lone, real = "\ud83d\ude00", "a\ud800\\", "\U0001f600"
    _, typed = encode([pair, lone, real])
    assert decode(json.loads(json.dumps(typed))) == [pair, lone, real]
    plain, _ = encode({pair: 1, real: 2})
    assert len(plain) == 2, "keys that JSON text would merge are written as pairs"
    assert type(plain) is list


def cyclic_list() -> Any:
    value: list[Any] = []
    value.append({"a": (value,)})
    return value


def cyclic_object() -> Any:
    value = Plain()
    value.z = value  # type: ignore[assignment]
    return value


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def doubling(times: int) -> Any:
    value: Any = []
    for _ in range(times):
        value = [value, value]
    return value


async def coroutine() -> None: ...


async def async_generator() -> Any:
    yield 1


class OwnZone(dt.tzinfo):
    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        raise AssertionError("ran the program's code")


REFUSED: list[tuple[Any, str]] = [
    (cyclic_list, "cyclic"),
    (cyclic_object, "cyclic"),
    (lambda: nested(5000), "deep"),
    (lambda: doubling(60), "large"),
    (lambda: range(10**30), "large"),
    (lambda: 10**300_000, "large"),
    (lambda: "x" * 5_000_000, "large"),
    (itertools.count, "endless"),
    (lambda: [itertools.repeat(1)], "endless"),
    (lambda: len, "callable"),
    (lambda: [].append, "callable"),
    (lambda: Plain, "class"),
    (lambda: list[int], "class"),
    (lambda: math, "module"),
    (lambda: ValueError("x"), "exception"),
    (async_generator, "coroutine"),
    (lambda: dt.datetime(2024, 1, 1, tzinfo=OwnZone()), "tzinfo"),
    (OwnZone, "tzinfo"),
    (object, "opaque"),
    (threading.Lock, "opaque"),
    (lambda: random.Random(0), "opaque"),
    (lambda: type("Child", (random.Random,), {})(0), "opaque"),
    (lambda: io.StringIO("x"), "opaque"),
    (lambda: re.match("a", "a"), "opaque"),
    (lambda: memoryview(array("h", [1])), "opaque"),
    (type("Buffer", (io.BytesIO,), {}), "opaque"),
]


@pytest.mark.parametrize(("make", "reason"), REFUSED)
def test_refused(make: Any, reason: str) -> None:
    with pytest.raises(Unrepresentable) as caught:
        encode(make())
    assert caught.value.reason == reason
    assert "0x" not in str(caught.value)


def test_coroutine_is_refused() -> None:
    made = coroutine()
    with pytest.raises(Unrepresentable, match="coroutine"):
        encode(made)
    made.close()


def test_limits_are_exact() -> None:
    assert encode(nested(3), limits=Limits(depth=4))[0] == [[[[]]]]
    with pytest.raises(Unrepresentable, match="deep"):
        encode(nested(4), limits=Limits(depth=4))
    assert encode([1, 2], limits=Limits(nodes=3))[0] == [1, 2]
    with pytest.raises(Unrepresentable, match="large"):
        encode([1, 2, 3], limits=Limits(nodes=3))
    assert encode(iter([1, 2]), limits=Limits(drain=2))[0] == [1, 2]
    with pytest.raises(Unrepresentable, match="endless"):
        encode(iter([1, 2, 3]), limits=Limits(drain=2))


def test_what_a_generator_raises_is_the_outcome() -> None:
    def numbers() -> Any:
        yield 1
        raise LookupError("on the way")

    with pytest.raises(LookupError, match="on the way"):
        encode([numbers()])


def test_a_generator_meets_the_programs_own_limits() -> None:
    before = sys.getrecursionlimit(), sys.get_int_max_str_digits()

    def deep(n: int) -> int:
        return deep(n + 1)

    def recursing() -> Any:
        yield deep(0)

    with pytest.raises(RecursionError):
        encode(recursing())
    with pytest.raises(ValueError, match="digits"):
        encode(str(10**5000) for _ in range(1))
    assert (sys.getrecursionlimit(), sys.get_int_max_str_digits()) == before
    assert encode(10**5000)[0] == 10**5000
    assert encode({10**5000: 1})[0] == {"1" + "0" * 5000: 1}
    assert (sys.getrecursionlimit(), sys.get_int_max_str_digits()) == before


def test_a_generator_may_change_what_holds_it() -> None:
    holder: dict[str, Any] = {}

    def growing() -> Any:
        holder["more"] = 1
        yield 2

    holder["items"] = growing()
    assert encode(holder)[0] == {"items": [2]}


def test_shared_values_are_one_again() -> None:
    shared: list[Any] = [1]
    table: dict[str, Any] = {"a": shared}
    value = [shared, table, (shared, table), {"b": bytearray(b"x")}]
    plain, typed = encode(value)
    assert plain == [[1], {"a": [1]}, [[1], {"a": [1]}], {"b": "eA=="}]
    back = decode(json.loads(json.dumps(typed)))
    assert back == value
    assert back[0] is back[1]["a"] is back[2][0]
    assert back[1] is back[2][1]
    assert dumps(typed).count("@odata.id") == 2


def test_shared_iterator_is_drained_once() -> None:
    numbers = iter([1, 2])
    plain, typed = encode([numbers, numbers])
    assert plain == [[1, 2], [1, 2]]
    back = decode(typed)
    assert back[0] is back[1]


def test_sharing_inside_a_set_has_one_form() -> None:
    class Node:
        def __init__(self, name: str, shared: list[int]) -> None:
            self.name, self.shared = name, shared

    shared = [7]
    nodes = [Node(name, shared) for name in "dbca"]
    forms = {dumps(encode(set(order))[1]) for order in itertools.permutations(nodes)}
    assert len(forms) == 1
    back = decode(loads(forms.pop()))
    assert len({id(node.fields["shared"]) for node in back}) == 1


def test_no_code_of_the_value_runs() -> None:
    def boom(*_: Any, **__: Any) -> Any:
        raise AssertionError("ran the program's code")

    names = (
        "__eq__", "__iter__", "__len__", "__repr__", "__str__", "__bool__", "__index__", "__int__", "__float__", "__reduce__",
        "__getattribute__", "__getattr__", "__format__", "__lt__", "__contains__", "__getitem__", "__class__", "items", "keys",
    )  # fmt: skip
    hostile = {name: property(boom) if name == "__class__" else boom for name in names}
    meta = type(
        "Meta", (type,), {"__eq__": boom, "__hash__": boom, "__getattribute__": boom, "__instancecheck__": boom}
    )
    body = {**hostile, "__hash__": lambda self: 1}
    for base, value, plain in (
        (object, (), {}), (str, ("a",), "a"), (int, (5,), 5), (float, (-0.0,), -0.0), (bytes, (b"a",), "YQ=="),
        (list, ([1],), [1]), (tuple, ([1],), [1]), (dict, ({"a": 1},), {"a": 1}), (set, ([1],), [1]),
        (frozenset, ([1],), [1]), (collections.OrderedDict, ([("a", 1)],), {"a": 1}), (collections.deque, ([1],), [1]),
        (dt.timedelta, (1,), "P1D"), (dt.date, (2024, 1, 1), "2024-01-01"), (decimal.Decimal, ("1.5",), "1.5"),
        (complex, (1, 2), "(1+2j)"),
    ):  # fmt: skip
        cls = type.__call__(meta, "Hostile", (base,), body)
        made = base.__new__(cls, *value) if base is not object else object.__new__(cls)
        if base in (list, set, dict, collections.OrderedDict, collections.deque):
            base.__init__(made, *value)
        found, _ = encode([made, (made,)])
        assert dumps(found) == dumps([plain, [plain]]), base


def test_class_is_not_believed() -> None:
    class Liar:
        __slots__ = ("x",)
        __class__ = list  # type: ignore[assignment]

        def __init__(self) -> None:
            self.x = 1

    assert encode(Liar())[0] == {"x": 1}


def test_replaced_builtins_change_nothing() -> None:
    code = """
import builtins, json, sys
from exe.values import encode, dumps, encode_error
import collections, decimal, fractions, datetime, uuid
value = [{3, 1, 2}, {"b": {1: 2}}, (1.5, 10**30), b"x", decimal.Decimal("1.0"), collections.Counter("ab"),
         fractions.Fraction(1, 2), datetime.timedelta(1), uuid.UUID(int=3), range(3), {(1,): {"a"}}, "\\ud800", 10**5000]
before = dumps(encode(value))
def broken(*a, **k): raise SystemError("replaced")
for name in ("sorted", "len", "list", "dict", "set", "str", "int", "repr", "zip", "type", "isinstance", "any", "all",
             "hasattr", "getattr", "id", "iter", "next", "range", "sum", "max", "min", "enumerate", "reversed", "ord"):
    setattr(builtins, name, broken)
json.dumps = json.JSONEncoder.encode = json.JSONEncoder.iterencode = json.encoder.encode_basestring_ascii = broken
sys.setrecursionlimit = sys.set_int_max_str_digits = sys.get_int_max_str_digits = broken
sys.stdout.write("same" if dumps(encode(value)) == before else "differs")
sys.stdout.write(dumps(encode_error(ValueError("x"))[0]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == 'same{"error":{"code":"ValueError","message":"x"}}', done.stderr


def test_import_is_light() -> None:
    code = "import exe.values, sys; print([m for m in ('hypothesis', 'jsonschema', 'ast', 'dataclasses', 'inspect') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_same_text_under_every_hash_seed() -> None:
    code = (
        "from exe.values import encode, dumps; import decimal\n"
        "print(dumps(encode([{'a','b','c'}, {frozenset('ab'), frozenset('bc')}, {1,'1',None,(1,)}, {'x': {b'q', b'r'}}])))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in range(3)
    }
    assert len(found) == 1
