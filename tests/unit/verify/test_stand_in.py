"""Import lines in place of a program, and calls that show their arguments."""

from __future__ import annotations

import sys

import pytest

from exe.records import Origin, Program
from exe.verify.stand_in import observed, observing, stand_in

ORIGIN = Origin(package="demo", version="1", module="demo.core", qualname="pick", path="demo/core.py", line=1)
SOURCE = """import datetime
from decimal import Decimal as D
try:
    import zoneinfo as zones
except ImportError:
    import collections.abc
def pick(*arguments): ...
"""


def program(**provenance: str) -> Program:
    return Program(
        id="0", entry="pick", source=SOURCE, parameters={}, returns="int", origin=ORIGIN, provenance=provenance
    )


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        ("pick(1)", ["from demo.core import pick as pick"]),
        ("pick(Mode_2.FAST)", ["from demo.modes import Mode as Mode_2", "from demo.core import pick as pick"]),
        ("pick(Inner(1))", ["from demo.modes import Outer as Inner", "from demo.core import pick as pick"]),
        ("pick(datetime.date(2024, 1, 2), D('1'))", ["from decimal import Decimal as D", "import datetime"]),
        ("pick(zones.ZoneInfo('UTC'))", ["import zoneinfo as zones"]),
        ("pick(collections.abc.Mapping)", ["import collections.abc"]),
        ("pick((item for item in [1]))", ["from demo.core import pick as pick"]),
        ("pick(frozenset({1}), float('nan'))", ["from demo.core import pick as pick"]),
        ("Gone().pick()", ["from demo.core import Gone"]),
    ],
)
def test_it_imports_what_the_calls_name(call: str, lines: list[str]) -> None:
    found = stand_in(
        program(pick="demo.core:pick", Mode_2="demo.modes:Mode", Inner="demo.modes:Outer.Inner"), [call]
    ).splitlines()
    assert set(lines) <= set(found)
    others = {"from demo.core import pick as pick"} - set(lines)
    assert set(found) - set(lines) <= others
    compile("\n".join(found), "stand-in", "exec")


def test_a_name_of_the_program_goes_before_a_builtin_of_the_same_name() -> None:
    assert stand_in(program(list="demo.core:list"), ["list(1)"]) == "from demo.core import list as list\n"


def run(source: str, call: str) -> object:
    namespace: dict[str, object] = {}
    exec(observed(source), namespace)
    text = observing(call)
    assert text is not None
    return eval(text, namespace)


@pytest.mark.parametrize(
    ("source", "call", "shown"),
    [
        ("def f(a, *, b): a.append(b); return 5", "f([1], b=2)", [5, None, ([1, 2],), {"b": 2}]),
        ("def f(a): a.clear(); raise KeyError(a)", "f([1])", [None, None, ([],), {}]),
        ("def f(a): raise SystemExit", "f([1])", [None, None, ([1],), {}]),
        ("class A(list):\n def m(self, k): self.append(k)", "A([1]).m(2)", [None, [1, 2], (2,), {}]),
        ("class A:\n @classmethod\n def m(cls, k): return k", "A.m(2)", [2, None, (2,), {}]),
        ("def f(**k): k.pop('a b'); return k", "f(**{'a b': 1})", [{}, None, (), {"a b": 1}]),
        ("BaseException = isinstance = getattr = None\ndef f(a): return a", "f(1)", [1, None, (1,), {}]),
    ],
)
def test_an_observed_call_shows_result_instance_and_arguments(source: str, call: str, shown: list[object]) -> None:
    assert run(source, call) == shown


def test_a_result_that_is_an_argument_stays_the_same_object() -> None:
    result, _, positional, _ = run("def f(a): return a", "f([1])")  # type: ignore[misc]
    assert result is positional[0]  # type: ignore[has-type]


def test_what_is_no_call_is_not_observed() -> None:
    assert observing("[f(1)]") is None


def test_the_observer_changes_neither_lines_nor_meaning_of_the_program() -> None:
    source = "def f():\n    return 1"
    assert observed(source).startswith(source + "\n")
    assert "program" not in sys.modules
