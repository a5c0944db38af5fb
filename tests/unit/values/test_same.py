"""Sameness: what each rule accepts for each kind of truth, and what it does not."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import math
import pathlib
import re
import time
import uuid
import zoneinfo
from typing import Any, NamedTuple

import pytest

from exe.values import encode, same_json, same_python, same_typed


class Mode(enum.Enum):
    FAST = "fast"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.0


class Pair(NamedTuple):
    left: int
    right: str


class Markup(str):
    pass


nan, inf = math.nan, math.inf
D, F = decimal.Decimal, fractions.Fraction
Both, JsonOnly, Neither = (True, True), (True, False), (False, False)

TABLE: list[tuple[Any, Any, tuple[bool, bool]]] = [
    # None, bool, str
    (None, None, Both), (None, "null", Neither), (None, False, Neither), (None, {}, Neither),
    (True, True, Both), (True, 1, Neither), (False, 0, Neither), (True, "true", Neither), (1, True, Neither), (0.0, False, Neither),
    ("a", "a", Both), ("a", "A", Neither), ("1", 1, Neither), ("NaN", "NaN", Both), ("NaN", nan, Neither), ("null", None, Neither),
    ("\ud83d\ude00", "\U0001f600", JsonOnly), ("YQ==", b"a", Neither),
    # int
    (3, 3, Both), (3, 3.0, JsonOnly), (3, 3.5, Neither), (3, "3", Neither), (3, D(3), JsonOnly), (3, 3 + 0j, Neither), (3, nan, Neither),
    (2**53 + 1, float(2**53), Neither), (2**53 + 1, 2**53 + 1, Both), (10**400, inf, Neither), (10**5000, 10**5000, Both),
    # float
    (3.0, 3.0, Both), (3.0, 3, JsonOnly), (1e23, 10**23, JsonOnly), (0.1, D("0.1"), JsonOnly), (3.0, "3.0", Neither), (0.1, 0.1000001, Neither),
    (-0.0, -0.0, Both), (-0.0, 0.0, JsonOnly), (-0.0, 0, JsonOnly), (0.0, -0.0, JsonOnly), (1.0, 10**400, Neither),
    (nan, nan, Both), (nan, "NaN", Both), (nan, "nan", Both), (nan, None, Neither), (nan, 0.0, Neither), (1.0, nan, Neither),
    (inf, inf, Both), (-inf, -1e400, Both), (inf, "INF", Both), (-inf, "-Infinity", Both), (inf, -inf, Neither), (inf, "-INF", Neither), (inf, 10**400, Neither),
    # sequences
    ([1, 2], [1, 2], Both), ([1, 2], (1, 2), JsonOnly), ((1, 2), [1, 2], JsonOnly), ((1, 2), (1, 2), Both), ([1, 2], [2, 1], Neither),
    ([1, 2], [1, 2, 3], Neither), ([1, 2, 3], [1, 2], Neither), ([], {}, Neither), ({}, [], Neither), ([], None, Neither), ([1], {1}, Neither),
    ([(1,)], [[1]], JsonOnly), ([1, [2]], [1, [2.0]], JsonOnly), (["a"], "a", Neither), (range(3), [0, 1, 2], JsonOnly), (range(3), range(3), Both),
    (range(0, 3, 2), range(0, 4, 2), Both), (collections.deque([1], 2), [1], JsonOnly), (collections.deque([1], 2), collections.deque([1]), JsonOnly),
    (iter([1, 2]), [1, 2], Both), (iter([1, 2]), (1, 2), JsonOnly), ({"a": 1}.keys(), ["a"], Both), ({"a": 1}.items(), [["a", 1]], JsonOnly),
    # sets
    ({1, 2}, [2, 1], JsonOnly), ({1, 2}, {2, 1}, Both), ({1, 2}, frozenset({1, 2}), JsonOnly), (frozenset({1}), frozenset({1}), Both),
    ({1, 2}, [1, 2, 2], Neither), ({1, 2}, [1, 1], Neither), ({1, 2}, [1], Neither), (set(), [], JsonOnly), (set(), set(), Both), (set(), {}, Neither),
    ({1.0, 2.5}, [2.5, 1], JsonOnly), ({True, 5}, [1, 5], Neither), ({(1, 2), (3,)}, [[3], [1, 2]], JsonOnly), ({frozenset({1, 2})}, [[2, 1]], JsonOnly),
    ({nan, "NaN"}, ["NaN", nan], JsonOnly), ({nan, "NaN"}, ["NaN", "NaN"], JsonOnly), ({nan, "NaN"}, [nan, nan], Neither),
    ({b"a", "YQ=="}, ["YQ==", b"a"], JsonOnly), ({D(3), "3"}, ["3", 3], JsonOnly), ({D("1.0"), D("2")}, ["2.00", "1"], JsonOnly),
    # dicts
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, Both), ({"a": 1}, {"a": 1, "b": 2}, Neither), ({"a": 1}, {"b": 1}, Neither), ({"a": 1}, [["a", 1]], Neither),
    ({1: "a"}, {"1": "a"}, JsonOnly), ({1: "a"}, {1: "a"}, Both), ({"1": "a"}, {1: "a"}, JsonOnly), ({1: "a"}, {1.0: "a"}, JsonOnly),
    ({1.0: "a"}, {"1.0": "a"}, JsonOnly), ({1.0: "a"}, {"1": "a"}, JsonOnly), ({1.5: 0, None: 1, True: 2}, {"null": 1, "true": 2, "1.5": 0}, JsonOnly),
    ({1.0: "a"}, {"x": "a"}, Neither), ({None: 1}, {"None": 1}, Neither), ({True: 1}, {"1": 1}, Neither), ({nan: 1}, {"NaN": 1}, Both), ({nan: 1}, {nan: 1}, Both),
    ({1: "a", "1": "b"}, [["1", "b"], [1, "a"]], JsonOnly), ({1: "a", "1": "b"}, {1: "a", "1": "b"}, Both), ({1: "a", "1": "b"}, [["1", "a"], [1, "b"]], Neither),
    ({1: "a", "1": "b"}, {"1": "b"}, Neither), ({(1, 2): "a"}, [[[1, 2], "a"]], JsonOnly), ({(1, 2): "a"}, {(1, 2): "a"}, Both), ({(1, 2): "a"}, {"(1, 2)": "a"}, Neither),
    ({(1,): 1, (2,): 2}, [[[2], 2], [[1], 1]], JsonOnly), ({(1,): 1}, [[[1], 1, 1]], Neither), ({dt.date(2024, 1, 2): 1}, {"2024-01-02": 1}, Both),
    ({"@odata.type": "#set", "value": [1]}, {"@odata.type": "#set", "value": [1]}, Both),
    (collections.OrderedDict(a=1, b=2), {"b": 2, "a": 1}, JsonOnly), (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1), JsonOnly),
    (collections.OrderedDict(a=1, b=2), collections.OrderedDict(a=1, b=2), Both), (collections.Counter("aa"), {"a": 2}, JsonOnly),
    (collections.Counter("aa"), collections.Counter("aa"), Both), (collections.defaultdict(int, a=1), {"a": 1}, JsonOnly),
    (collections.defaultdict(int, a=1), collections.defaultdict(int, a=1), Both), (collections.defaultdict(int, a=1), collections.defaultdict(list, a=1), JsonOnly),
    (collections.ChainMap({"a": 1}, {"b": 2}), {"a": 1, "b": 2}, JsonOnly), (collections.UserDict(a=1), {"a": 1}, JsonOnly),
    # the program's own classes
    (Mode.FAST, "fast", Both), (Mode.FAST, "FAST", Neither), (Level.LOW, 1, Both), (Level.LOW, 1.0, JsonOnly), (Markup("a"), "a", Both),
    (Point(1), {"x": 1, "y": 0.0}, Both), (Point(1), {"y": 0, "x": 1}, JsonOnly), (Point(1), {"x": 1}, Neither), (Point(1), [1, 0.0], Neither),
    (Pair(1, "b"), {"left": 1, "right": "b"}, Both), (Pair(1, "b"), [1, "b"], JsonOnly), (Pair(1, "b"), (1, "b"), JsonOnly), (Pair(1, "b"), [1], Neither),
    ({Point(1), Point(2)}, [{"x": 2, "y": 0}, {"x": 1, "y": 0}], JsonOnly), ({Mode.FAST: 1}, {"fast": 1}, Both),
    # binary
    (b"\xff\xfe", "__4=", Both), (b"\xff\xfe", "__4", Both), (b"\xff\xfe", "//4=", Neither), (b"ab", b"ab", Both), (b"ab", "b'ab'", Both), (b"ab", 'b"ab"', Both),
    (b"ab", "ab", Neither), (b"ab", "b'ac'", Neither), (b"ab", "b'ab' or 1", Neither), (b"", "", Both), (b"ab", bytearray(b"ab"), JsonOnly), (bytearray(b"ab"), "YWI=", Both),
    (b"ab", [97, 98], Neither), (b"a", "YR==", Neither),
    # times
    (dt.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05", Both), (dt.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05.000", Both),
    (dt.datetime(2024, 1, 2, 3, 4, 5), "20240102T030405", Both), (dt.datetime(2024, 1, 2), "2024-01-02", Neither), (dt.datetime(2024, 1, 2), "2024-01-02T00:00:00Z", Neither),
    (dt.datetime(2024, 1, 2), "2024-01-02T00:00:00.0000001", Neither), (dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 2), Both), (dt.datetime(2024, 1, 2), dt.date(2024, 1, 2), Neither),
    (dt.datetime(2024, 1, 2, tzinfo=dt.UTC), "2024-01-02T00:00:00Z", Both), (dt.datetime(2024, 1, 2, tzinfo=dt.UTC), "2024-01-02T00:00:00+00:00", Both),
    (dt.datetime(2024, 1, 2, tzinfo=dt.UTC), "2024-01-02T01:00:00+01:00", JsonOnly), (dt.datetime(2024, 1, 2, tzinfo=dt.UTC), "2024-01-02T00:00:00", Neither),
    (dt.datetime(2024, 1, 2, tzinfo=zoneinfo.ZoneInfo("UTC")), "2024-01-02T00:00:00Z", Both), (dt.datetime(2024, 1, 2, tzinfo=dt.UTC), "2024-01-02T00:00:00+01:00", Neither),
    (dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-5))), "9999-12-31T23:59:59.999999-05:00", Both),
    (dt.date(2024, 2, 29), "2024-02-29", Both), (dt.date(2024, 2, 29), "20240229", Both), (dt.date(2024, 2, 29), "29.2.2024", Neither), (dt.date(2024, 2, 29), "2024-02-29T00:00:00", Neither),
    (dt.time(10), "10:00", Both), (dt.time(10), "10:00:00", Both), (dt.time(10), "10:00Z", Neither), (dt.time(10), "10:01", Neither),
    (dt.timedelta(seconds=60), "PT1M", Both), (dt.timedelta(seconds=60), "PT60S", Both), (dt.timedelta(seconds=60), "P0DT60.0S", Both), (dt.timedelta(days=7), "P1W", Both),
    (dt.timedelta(seconds=60), 60, Neither), (dt.timedelta(seconds=60), "0:01:00", Neither), (dt.timedelta(seconds=-1), "-PT1S", Both), (dt.timedelta(seconds=-1), "PT1S", Neither),
    (dt.timedelta(0), "PT0S", Both), (dt.timedelta(0), "P", Neither), (dt.timedelta(days=30), "P1M", Neither),
    (dt.UTC, "UTC", Both), (dt.UTC, "+00:00", Both), (dt.timezone(dt.timedelta(hours=1)), "UTC+01:00", Both), (dt.UTC, "+01:00", Neither),
    # numbers as text
    (D("1.50"), "1.50", Both), (D("1.50"), "1.5", Both), (D("1.5"), 1.5, JsonOnly), (D("0.1"), 0.1, JsonOnly), (D("3"), 3, JsonOnly), (D("1.5"), "1.6", Neither), (D("1.5"), True, Neither),
    (D("NaN"), "NaN", Both), (D("sNaN"), "NaN", Neither), (D("NaN"), D("1"), Neither), (D("sNaN"), 1.0, Neither), (D("1E+3"), "1000", Both), (D("Infinity"), "Infinity", Both),
    (D("-0"), "0", JsonOnly), (D("1e999999"), F(1, 3), Neither), (D("1.5"), D("1.5"), Both), (D("1.5"), "1.5 or 1", Neither),
    (F(3, 4), "3/4", Both), (F(3, 4), "6/8", Both), (F(3, 4), 0.75, JsonOnly), (F(3, 4), "0.75", Both), (F(3, 1), 3, JsonOnly), (F(1, 3), 1 / 3, Neither), (F(3, 4), F(3, 4), Both), (F(3, 4), "3/0", Neither),
    (1 + 2j, "(1+2j)", Both), (1 + 2j, "1 + 2j", Both), (1 + 2j, 1 + 2j, Both), (1 + 0j, 1, JsonOnly), (1 + 2j, "2+1j", Neither), (complex(nan, 1), complex(nan, 1), Both), (complex(0.0, -0.0), 0j, JsonOnly),
    # other text
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", Both), (uuid.UUID(int=1), "{00000000000000000000000000000001}", Both), (uuid.UUID(int=1), "x", Neither),
    (pathlib.PurePosixPath("/a/b"), "/a/b", Both), (pathlib.PurePosixPath("/a/b"), "/a/c", Neither), (pathlib.PurePosixPath("a"), pathlib.PosixPath("a"), JsonOnly),
    (re.compile("a+"), "a+", Both), (re.compile(b"a+"), "b'a+'", Both), (re.compile("a+"), "a*", Neither), (re.compile("a"), re.compile("a", re.I), Neither),
    (ipaddress.ip_address("::1"), "0:0:0:0:0:0:0:1", Both), (ipaddress.ip_address("1.2.3.4"), "1.2.3.5", Neither), (ipaddress.ip_address("1.2.3.4"), 16909060, Neither),
    (..., "...", Both), (..., ..., Both), (..., "Ellipsis", Both), (..., None, Neither), (slice(1, 2), {"start": 1, "stop": 2, "step": None}, JsonOnly), (slice(1, 2), slice(1, 2), Both),
    # answers in the typed form
    ((1, 2), {"@odata.type": "#tuple", "value": [1, 2]}, Both), ({1, 2}, {"@odata.type": "#set", "value": [2, 1]}, Both), ([{1}, (2,)], [[1], {"@odata.type": "#tuple", "value": [2]}], JsonOnly),
    ({1}, {"@odata.type": "#set", "value": [2]}, Neither), ({1}, {"@odata.type": "#range", "value": [0, 10**12, 1]}, Neither), ({1}, {"@odata.type": "#nonsense", "value": [1]}, Neither),
    (Point(1), {"@odata.type": "#object", "class": "Point", "fields": {"x": 1, "y": 0.0}}, Both), (Point(1), {"@odata.type": "#object", "class": "Other", "fields": {"x": 1, "y": 0.0}}, Neither),
]  # fmt: skip


@pytest.mark.parametrize(
    ("truth", "answer", "wanted"), TABLE, ids=lambda item: ascii(item)[:40] if type(item) is not int else "int"
)
def test_rules(truth: Any, answer: Any, wanted: tuple[bool, bool]) -> None:
    typed = encode(truth)[1]
    assert (same_json(typed, answer), same_typed(typed, answer)) == wanted


PYTHON: list[tuple[Any, Any, bool]] = [
    (1, True, True), (1, 1.0, True), (-0.0, 0, True), ([1, True], [1.0, 1], True), ((1, 2), [1, 2], False), ((1, 2), (1, 2), True),
    (nan, nan, True), ([nan, 1], [nan, 1], True), ({nan: 1}, {nan: 1}, True), ({(nan,)}, {(nan,)}, True), (nan, "NaN", False), (nan, 1, False), (complex(nan, 1), complex(nan, 2), False),
    ({1, 2}, {2, 1}, True), ({1, 2}, frozenset({1, 2}), True), ({1, 2}, [1, 2], False), ({1, True + 1}, {1.0, 2}, True), (set(), {}, False),
    ({1: "a"}, {True: "a"}, True), ({1: "a"}, {"1": "a"}, False), ({"a": [1]}, {"a": [1.0]}, True), ({"a": 1}, {"a": 2}, False),
    (collections.Counter("aa"), {"a": 2}, True), (collections.OrderedDict(a=1, b=2), {"b": 2, "a": 1}, True),
    (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1), False), (collections.deque([1]), [1], False),
    (b"a", bytearray(b"a"), True), (b"a", "a", False), ("a", b"a", False), (D("1.0"), 1, True), (D("sNaN"), 1, False), (F(1, 2), 0.5, True),
    (Pair(1, "b"), (1, "b"), True), (Pair(1, "b"), [1, "b"], False), (Level.LOW, 1, True), (Markup("a"), "a", True), (None, False, False), (..., ..., True),
    (range(3), [0, 1, 2], False), (dt.date(2024, 1, 1), "2024-01-01", False), (10**5000, 10**5000, True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("truth", "answer", "wanted"), PYTHON, ids=lambda item: ascii(item)[:40] if type(item) is not int else "int"
)
def test_python_rule(truth: Any, answer: Any, wanted: bool) -> None:
    assert same_python(encode(truth)[1], answer) is wanted


def test_deep_answers_do_not_crash() -> None:
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    for truth in ([[]], {1}, {"a": 1}, 1, "x", b"x", dt.date(2024, 1, 1), (1,), {frozenset({1})}, {(1,): 2}):
        typed = encode(truth)[1]
        for answer in (deep, {"a": deep}, [deep], [[deep, 2]]):
            assert not same_json(typed, answer)
            assert not same_typed(typed, answer)
            assert not same_python(typed, answer)
    annotated = [deep, {"@odata.type": "#tuple", "value": [deep]}]
    assert not same_json(encode([1, 2])[1], annotated)
    while deep:
        deep = deep.pop()


def test_deep_truth() -> None:
    value: Any = {"x": (frozenset({1}),)}
    for _ in range(190):
        value = [value]
    plain, typed = encode(value)
    assert same_json(typed, plain)
    assert same_typed(typed, value)
    assert same_python(typed, value)
    frozen: Any = frozenset()
    for _ in range(150):
        frozen = frozenset({frozen})
    plain, typed = encode(frozen)
    assert same_json(typed, plain)
    assert same_typed(typed, frozen)
    assert same_python(typed, frozen)


@pytest.mark.parametrize(
    "make", [lambda n: D(n) / 8, lambda n: Point(n, n / 4), lambda n: (n, str(n), D(n)), lambda n: str(n).encode()]
)
def test_large_sets_are_quick(make: Any) -> None:
    truth = {make(n) for n in range(3000)}
    plain, typed = encode(truth)
    start = time.process_time()
    assert same_json(typed, plain[::-1])
    assert not same_json(typed, [*plain[:-1], plain[0]])
    wrong = [[str(item)] for item in plain]
    assert not same_json(typed, wrong)
    assert time.process_time() - start < 8


def test_matching_is_exact_where_spellings_overlap() -> None:
    truth = {D("1"), "1", "2", D("2"), b"a", "YQ==", nan, "NaN"}
    typed = encode(truth)[1]
    assert same_json(typed, ["NaN", "NaN", "YQ==", "YQ==", "2", "2", "1", "1"])
    assert same_json(typed, ["NaN", nan, b"a", "YQ==", 2, "2", "1", 1])
    assert not same_json(typed, [nan, nan, b"a", "YQ==", 2, "2", "1", 1])
    assert not same_json(typed, ["NaN", "NaN", "YQ==", "YQ==", 2, 2, "1", "1"])
