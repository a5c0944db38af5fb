"""Literals: what is written evaluates to the value; what is read is never evaluated."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import math
import pathlib
import re
import types
import uuid
import zoneinfo
from array import array
from typing import Any

import pytest

from exe.values import Limits, LiteralError, dumps, encode, literal, read_literal

UTC = datetime.UTC
WRITTEN: list[tuple[Any, str]] = [
    (None, "None"),
    (-0.0, "-0.0"),
    (math.nan, "float('nan')"),
    (-math.inf, "float('-inf')"),
    ("it's", '"it\'s"'),
    ((1,), "(1,)"),
    ((), "()"),
    (set(), "set()"),
    ({3, 1, 2}, "{1, 2, 3}"),
    ({"b", 1}, "{'b', 1}"),
    (frozenset(), "frozenset()"),
    (frozenset({"b", "a"}), "frozenset({'a', 'b'})"),
    ({1: [b"x"], (2, 3): {}}, "{1: [b'x'], (2, 3): {}}"),
    (bytearray(b"a"), "bytearray(b'a')"),
    (1 - 2j, "complex(1.0, -2.0)"),
    (1 + 2j, "(1+2j)"),
    (range(3), "range(3)"),
    (range(3, 0, -1), "range(3, 0, -1)"),
    (slice(1, None), "slice(1, None, None)"),
    (decimal.Decimal("1.50"), "decimal.Decimal('1.50')"),
    (fractions.Fraction(1, 3), "fractions.Fraction(1, 3)"),
    (datetime.date(2024, 2, 29), "datetime.date(2024, 2, 29)"),
    (datetime.datetime(2024, 2, 29), "datetime.datetime(2024, 2, 29)"),
    (datetime.datetime(2024, 2, 29, 5), "datetime.datetime(2024, 2, 29, 5, 0)"),
    (
        datetime.datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC),
        "datetime.datetime(2024, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)",
    ),
    (datetime.time(1, 2, 3, 4, fold=1), "datetime.time(1, 2, 3, 4, fold=1)"),
    (datetime.timedelta(seconds=-1), "datetime.timedelta(days=-1, seconds=86399)"),
    (datetime.timezone(datetime.timedelta(hours=2)), "datetime.timezone(datetime.timedelta(seconds=7200))"),
    (zoneinfo.ZoneInfo("UTC"), "zoneinfo.ZoneInfo('UTC')"),
    (uuid.UUID(int=1), "uuid.UUID('00000000-0000-0000-0000-000000000001')"),
    (pathlib.PurePosixPath("a/b"), "pathlib.PurePosixPath('a/b')"),
    (re.compile("a", re.I), "re.compile('a', 2)"),
    (collections.OrderedDict(a=1), "collections.OrderedDict({'a': 1})"),
    (collections.Counter("aa"), "collections.Counter({'a': 2})"),
    (collections.defaultdict(list, a=[]), "collections.defaultdict(list, {'a': []})"),
    (collections.deque([1], 2), "collections.deque([1], maxlen=2)"),
    (collections.ChainMap({"a": 1}, {}), "collections.ChainMap({'a': 1}, {})"),
    (types.MappingProxyType({"a": 1}), "types.MappingProxyType({'a': 1})"),
    (array("b", [1]), "array.array('b', [1])"),
]


@pytest.mark.parametrize(("value", "source"), WRITTEN, ids=lambda item: str(item)[:30])
def test_written_and_read_back(value: Any, source: str) -> None:
    assert literal(value) == source
    assert dumps(encode(read_literal(source))[1]) == dumps(encode(value)[1])


@pytest.mark.parametrize(("value", "source"), WRITTEN, ids=lambda item: str(item)[:30])
def test_written_evaluates(value: Any, source: str) -> None:
    import array as array_module

    modules = {
        m.__name__: m
        for m in (collections, datetime, decimal, fractions, pathlib, re, types, uuid, zoneinfo, array_module)
    }
    assert dumps(encode(eval(source, modules))[1]) == dumps(encode(value)[1])


def test_long_integers_are_written_exactly() -> None:
    assert literal([10**5000]) == "[1" + "0" * 5000 + "]"


def test_names_of_the_namespace() -> None:
    value = {"at": datetime.date(2024, 1, 2), "d": decimal.Decimal(1)}
    names = {"datetime.date": "date", "decimal.Decimal": "_decimal_.Decimal"}
    assert literal(value, names=names) == "{'at': date(2024, 1, 2), 'd': _decimal_.Decimal('1')}"


def test_not_written() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    for value in (cyclic, object(), len, datetime.datetime):
        with pytest.raises(LiteralError):
            literal(value)


READ: list[tuple[str, Any]] = [
    ("  [1, 'a', None]\n", [1, "a", None]),
    ("('a', 123), ('b', 456)", (("a", 123), ("b", 456))),
    ("1,", (1,)),
    ("{1, 2}", {1, 2}),
    ("set()", set()),
    ("frozenset({1})", frozenset({1})),
    ("frozenset([1, 2])", frozenset({1, 2})),
    ("-1e400", -math.inf),
    ("[-inf, Infinity]", [-math.inf, math.inf]),
    ("float('-inf')", -math.inf),
    ("'a' 'b'", "ab"),
    ("1_000", 1000),
    ("0x10", 16),
    ("b'\\xff'", b"\xff"),
    ("3-4j", 3 - 4j),
    ("{'a': 1, 'a': 2}", {"a": 2}),
    ("'\\d'", "\\d"),
    ("Decimal('1.0')", decimal.Decimal("1.0")),
    ("Counter({'a': 2})", collections.Counter("aa")),
    ("OrderedDict([('a', 1)])", collections.OrderedDict(a=1)),
    ("OrderedDict({'a': 1})", collections.OrderedDict(a=1)),
    ("deque([1, 2], maxlen=2)", collections.deque([1, 2], 2)),
    ("defaultdict(int, {'a': 1})", collections.defaultdict(int, a=1)),
    ("datetime.datetime(2024, 1, 2, 3, 4)", datetime.datetime(2024, 1, 2, 3, 4)),
    ("datetime(2024, 1, 2, tzinfo=timezone.utc)", datetime.datetime(2024, 1, 2, tzinfo=UTC)),
    ("PosixPath('/a')", pathlib.PosixPath("/a")),
    ("dict_keys(['a'])", {"a": 1}.keys()),
    ("...", ...),
]


@pytest.mark.parametrize(("text", "value"), READ, ids=lambda item: str(item)[:30])
def test_read(text: str, value: Any) -> None:
    found = read_literal(text)
    assert type(found) is type(value)
    assert found == value


def test_read_long_integer_exactly() -> None:
    with pytest.raises(ValueError, match="digits"):
        str(10**5000)
    assert read_literal(f"[{'9' * 5000}]") == [10**5000 - 1]
    assert read_literal("0b" + "1" * 5000) == 2**5000 - 1


NOT_READ = [
    "", " ", "4 or 3", "[1, 2, 3] or [2, 1, 3]", "1 + 1", "2 ** 100", "f(1)", "__import__('os')", "().__class__", "x",
    "lambda: 1", "[x for x in y]", "f'{1}'", "{**{}}", "[*[]]", "'a' * 10", "not 1", "~1", "-'a'", "- True", "1 if 1 else 2",
    "1; 2", "a = 1", "(", "[1", "'", "{[1]: 2}", "{{}}", "set(1)", "set([1], [2])", "frozenset(range(3))", "bytes(10**12)",
    "bytearray(10**12)", "range(10**9)", "range(10**40)", "list(range(3))", "datetime.datetime(2024, 13, 1)",
    "datetime.timedelta(days=1e300)", "Decimal('x')", "Fraction('1e999999999')", "Fraction(1, 0)", "float('x')", "int('1')",
    "str(1)", "open('x')", "set.mro()", "compile('1')", "re.compile('(')", "ZoneInfo('No/Where')", "ZoneInfo('../../etc/passwd')",
    "Decimal(value=[])", "OrderedDict(1)", "deque(maxlen=-1)", "UUID('1')", "True = 1", "1 2", "\x00", "'\ud800", "a.b.c", "1.real",
    "'x'.upper()", "[].append(1)", "float(nan=1)", "[0](1)", "yield", "await x", "x := 1", "print(1)", "datetime.datetime.now()",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_READ)
def test_not_read(text: str) -> None:
    with pytest.raises(LiteralError):
        read_literal(text)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "-" * 100_000 + "1", "not " * 50_000 + "1", "[" * 150 + "]" * 150, "{1:" * 50_000, "1+" * 50_000 + "1",
     "a." * 50_000 + "a", "lambda:" * 20_000 + "1", "~" * 3000 + "1", "1 if 1 else " * 20_000 + "1", "9" * 300_000,
     "[" + "9" * 5000 + "," + "9" * 300_000 + "]", "x" * 5_000_000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_huge_texts_are_refused(text: str) -> None:
    with pytest.raises(LiteralError):
        read_literal(text, limits=Limits(depth=100))


def test_limits_and_names() -> None:
    assert read_literal("[[1]]", limits=Limits(depth=2)) == [[1]]
    with pytest.raises(LiteralError, match="2 levels"):
        read_literal("[[[]]]", limits=Limits(depth=2))
    with pytest.raises(LiteralError, match="3 values"):
        read_literal("[1, 2, 3]", limits=Limits(nodes=3))
    assert read_literal("{'a': [true, null]}", names={"true": True, "null": None}) == {"a": [True, None]}
    with pytest.raises(LiteralError, match="nan"):
        read_literal("nan", names={})
