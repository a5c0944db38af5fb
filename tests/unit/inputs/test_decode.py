"""OData JSON arguments → calls as a person writes them; what does not conform is told where and why."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from exe.inputs import ArgumentError, call_text, canonical_key
from tests.unit.analysis.test_annotations import PRELUDE
from tests.unit.inputs.building import build

SHOWN = [
    ("int", 3, "3"),
    ("int", -(10**40), str(-(10**40))),
    ("float", 3, "3.0"),
    ("float", -0.0, "-0.0"),
    ("float", "NaN", "float('nan')"),
    ("float", "-INF", "float('-inf')"),
    ("str", "it's", '"it\'s"'),
    ("bytes", "aGk_", "b'hi?'"),
    ("bytes", "aGk", "b'hi'"),
    ("complex", "1+2j", "(1+2j)"),
    ("complex", "-1j", "complex(0.0, -1.0)"),
    ("Any", {"a": [1, None, 2.5]}, "{'a': [1, None, 2.5]}"),
    ("tuple[int, ...]", [1], "(1,)"),
    ("tuple[()]", [], "()"),
    ("set[int]", [3, 1, 2], "{1, 2, 3}"),
    ("set[int]", [], "set()"),
    ("frozenset[str]", ["b", "a"], "frozenset({'a', 'b'})"),
    ("dict[int, str]", {"-3": "a", "0": ""}, "{-3: 'a', 0: ''}"),
    ("dict[tuple[int, str], bool]", [[[1, "a"], True]], "{(1, 'a'): True}"),
    ("dict[Mode, int]", {"SLOW": 1}, "{Mode.SLOW: 1}"),
    ("list[Mode]", ["FAST"], "[Mode.FAST]"),
    ("Literal['a', b'x', -2]", "eA==", "b'x'"),
    ("Literal['a', b'x', -2]", -2, "-2"),
    ("Base", {"x": 1, "y": 2}, "Base(x=1, y=2.0)"),
    ("Plain", {"name": "n", "flag": True}, "Plain(name='n', flag=True)"),
    ("More", {"title": "t", "stars": 1}, "{'title': 't', 'stars': 1.0}"),
    ("datetime.date", "2024-02-29", "datetime.date(2024, 2, 29)"),
    ("dt.datetime", "2024-01-02T03:04:05Z", "datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)"),
    ("datetime.time", "03:04+02:00", "datetime.time(3, 4, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))"),
    ("datetime.tzinfo", "-05:30", "datetime.timezone(datetime.timedelta(days=-1, seconds=66600))"),
    ("datetime.tzinfo", "-05:00", "datetime.timezone(datetime.timedelta(hours=-5))"),
    ("datetime.timedelta", "P1DT2H", "datetime.timedelta(days=1, hours=2)"),
    ("datetime.timedelta", "-PT0.5S", "datetime.timedelta(days=-1, seconds=86399, microseconds=500000)"),
    ("datetime.timedelta", "PT0S", "datetime.timedelta()"),
    ("decimal.Decimal", "1.50", "decimal.Decimal('1.50')"),
    ("fractions.Fraction", "2/4", "fractions.Fraction(1, 2)"),
    ("pathlib.Path", "a/b", "pathlib.Path('a/b')"),
    ("uuid.UUID", "550E8400-e29b-41d4-a716-446655440000", "uuid.UUID('550e8400-e29b-41d4-a716-446655440000')"),
    ("re.Pattern[str]", "a+", "re.compile('a+')"),
    ("ipaddress.IPv4Address", "10.0.0.1", "ipaddress.IPv4Address('10.0.0.1')"),
    ("range", {"start": 1, "stop": 9, "step": 2}, "range(1, 9, 2)"),
    ("range", {"stop": 3}, "range(3)"),
    ("Iterator[int]", [1, 2], "iter([1, 2])"),
    ("deque[int]", [1], "deque([1])"),
    ("defaultdict[str, list[int]]", {"a": [1]}, "defaultdict(list, {'a': [1]})"),
    ("collections.ChainMap[str, int]", [{"a": 1}, {}], "collections.ChainMap({'a': 1}, {})"),
    ("Callable[[str], str]", "str.upper", "str.upper"),
    ("ValueError", "bad", "ValueError('bad')"),
    ("IO[str]", "a\nb", "io.StringIO('a\\nb')"),
    # unions: a bare value is the first arm that takes it, enum members before text; others are annotated
    ("str | Mode", "FAST", "Mode.FAST"),
    ("str | Mode", "fast", "'fast'"),
    ("str | Mode", {"@odata.type": "#str", "value": "FAST"}, "'FAST'"),
    ("float | int", 3, "3"),
    ("float | int", {"@odata.type": "#float", "value": 3}, "3.0"),
    ("int | float", 3.0, "3.0"),
    ("str | bytes", "aGk", "'aGk'"),
    ("str | bytes", {"@odata.type": "#bytes", "value": "aGk"}, "b'hi'"),
    ("bool | int", True, "True"),
    ("list[int] | tuple[int, ...]", [1], "[1]"),
    ("list[int] | tuple[int, ...]", {"@odata.type": "#tuple[int, ...]", "value": [1]}, "(1,)"),
]

REFUSED = [
    ("int", 1.0, "x: expected int, got 1.0 (float)"),
    ("int", True, "x: expected int, got True (bool)"),
    ("int", "1", "x: expected int, got '1' (str)"),
    ("int", 10**4200, "x: an int of more than"),
    ("bool", 1, "x: expected bool"),
    ("str", None, "x: expected str"),
    ("float", "nan", "x: expected float"),
    ("float", True, "x: expected float"),
    ("float", 10**400, "x: int too large"),
    ("list[int]", [1, "a"], "x[1]: expected int"),
    ("tuple[int, str]", [1], "x: expected tuple[int, str], an array of 2, got 1"),
    ("set[int]", [1, 1], "x: an element is there twice"),
    ("dict[int, int]", {"01": 1}, "x['01']: expected an integer key"),
    ("dict[str, int]", [["a", 1]], "x: expected dict[str, int]"),
    ("dict[tuple[int, str], bool]", [[[1, "a"]]], "x: expected [key, value]"),
    ("Mode", "NONE", "x: expected Mode, one of FAST, SLOW"),
    ("Base", {"y": 1}, "x.x: missing"),
    ("Base", {"x": 1, "z": 1}, "x.z: Base takes no such argument"),
    ("datetime.date", "2023-02-29", "x: expected datetime.date"),
    ("bytes", "a", "x: expected bytes"),
    ("re.Pattern[str]", "(", "x: expected re.Pattern[str]"),
    ("range", {"stop": 3, "step": 0}, "x.step: must not be zero"),
    ("int | None", "a", "x: expected int | None"),
    ("Literal['a', 1]", True, "x: expected Literal['a', 1]"),
    ("Callable[[str], str]", "__import__('os').getcwd", "x: expected Callable[[str], str], one of"),
]


def function(root: Path, annotation: str) -> Any:
    return build(root, f"{PRELUDE}\n\ndef f(x: {annotation}) -> str:\n    return ''\n")[2]


@pytest.mark.parametrize(("annotation", "value", "expected"), SHOWN)
def test_shown(tmp_path: Path, annotation: str, value: Any, expected: str) -> None:
    signature = function(tmp_path, annotation)
    assert call_text("f", signature, {"x": value}) == f"f({expected})"
    ast.parse(expected, mode="eval")


@pytest.mark.parametrize(("annotation", "value", "message"), REFUSED)
def test_refused(tmp_path: Path, annotation: str, value: Any, message: str) -> None:
    signature = function(tmp_path, annotation)
    with pytest.raises(ArgumentError) as caught:
        call_text("f", signature, {"x": value})
    assert str(caught.value).startswith(message)


def test_deep_values_are_refused(tmp_path: Path) -> None:
    signature = function(tmp_path, "Any")
    value: Any = []
    for _ in range(500):
        value = [value]
    with pytest.raises(ArgumentError, match="nested more than"):
        call_text("f", signature, {"x": value})


SIGNATURE = "def f(a: int, /, b: str = 'b', *rest: int, c: bool, d: float = 1.0, **more: int) -> str: ..."

CALLS = [
    ({"a": 1, "c": True}, "f(1, c=True)"),
    ({"a": 1, "b": "x", "rest": [2, 3], "c": True}, "f(1, 'x', 2, 3, c=True)"),
    ({"c": True, "a": 1, "d": 2, "more": {"z": 1, "a-b": 2}}, "f(1, c=True, d=2.0, z=1, **{'a-b': 2})"),
    ({"a": 1, "c": False, "rest": []}, "f(1, c=False)"),
    ({"a": 1, "c": False, "more": {"class": 1}}, "f(1, c=False, **{'class': 1})"),
    ({"a": 1, "c": False, "more": {"a": 1}}, "f(1, c=False, a=1)"),
]

BAD_CALLS = [
    ({"c": True}, "a: missing"),
    ({"a": 1}, "c: missing"),
    ({"a": 1, "c": True, "e": 1}, "e: there is no such parameter"),
    ({"a": 1, "c": True, "rest": [1]}, "b: cannot be left out where rest is given"),
    ({"a": 1, "c": True, "more": {"b": 1}}, "more.b: there is a parameter of that name"),
    ({"a": 1, "c": True, "rest": 3}, "rest: expected an array"),
]


@pytest.mark.parametrize(("arguments", "expected"), CALLS)
def test_whole_calls(tmp_path: Path, arguments: dict[str, Any], expected: str) -> None:
    signature = build(tmp_path, SIGNATURE)[2]
    assert call_text("f", signature, arguments) == expected


@pytest.mark.parametrize(("arguments", "message"), BAD_CALLS)
def test_bad_calls(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    signature = build(tmp_path, SIGNATURE)[2]
    with pytest.raises(ArgumentError) as caught:
        call_text("f", signature, arguments)
    assert str(caught.value).startswith(message)


def test_keyword_after_an_omitted_one(tmp_path: Path) -> None:
    signature = build(tmp_path, "def f(a: int = 1, b: int = 2, c: int = 3) -> str: ...")[2]
    assert call_text("f", signature, {"a": 5, "c": 6}) == "f(5, c=6)"


def test_methods(tmp_path: Path) -> None:
    source = (
        "class C:\n"
        "    def __init__(self, n: int) -> None: self.n = n\n"
        "    def m(self, x: str) -> str: return x * self.n\n"
        "    @classmethod\n"
        "    def k(cls, x: str) -> str: return x\n"
        "    @staticmethod\n"
        "    def s(x: str) -> str: return x\n"
    )
    method, of_class, static = (build(tmp_path, source, f"C.{name}")[2] for name in "mks")
    assert call_text("C.m", method, {"self": {"n": 2}, "x": "a"}) == "C(n=2).m('a')"
    assert call_text("C.k", of_class, {"x": "a"}) == "C.k('a')"
    assert call_text("C.s", static, {"x": "a"}) == "C.s('a')"
    with pytest.raises(ArgumentError, match="self: "):
        call_text("C.m", method, {"x": "a"})


def test_numbers_that_are_equal_are_different_inputs(tmp_path: Path) -> None:
    """Of the collected faults: a set of 1, True and 1.0 keeps one of the three."""
    for case in fault_cases("generate-dedupe-bool-int-float"):
        signature = function(tmp_path, "Any")
        values = ast.literal_eval(case["input"]["inputs_expr"])
        assert len({canonical_key(signature, {"x": value}) for value in values}) == case["expected"]["distinct_inputs"]


def test_what_the_key_holds_equal(tmp_path: Path) -> None:
    signature = build(tmp_path, 'def f(a: set[int], b: float = 1.0, c: str = "x") -> str: ...')[2]
    same = [{"a": [1, 2]}, {"a": [2, 1]}, {"a": [1, 2], "b": 1}, {"a": [1, 2], "b": 1.0, "c": "x"}]
    assert len({canonical_key(signature, arguments) for arguments in same}) == 1
    assert canonical_key(signature, {"a": [1]}) != canonical_key(signature, {"a": [1], "b": 2})


def fault_cases(name: str) -> list[dict[str, Any]]:
    from tests.unit.inputs.shared import shared_data

    lines = shared_data("fault_cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["id"] == name]
