"""Two outcomes side by side."""

from __future__ import annotations

from typing import Any

import pytest

from exe.records import Case, Outcome, OutcomeStatus
from exe.verify.compare import Pair, compare
from exe.verify.findings import CaseCheck

ROOTS = frozenset(("demo",))


def value(typed: Any, plain: Any = None) -> Outcome:
    return Outcome(status="value", plain={"value": typed if plain is None else plain}, typed={"value": typed})


def error(code: str, message: str) -> Outcome:
    form = {"error": {"code": code, "message": message}}
    return Outcome(status="error", plain=form, typed=form)


def other(status: OutcomeStatus, detail: str = "") -> Outcome:
    return Outcome(status=status, detail=detail)


def check(
    original: Outcome,
    program: Outcome,
    recorded: Outcome | None = None,
    arguments: tuple[Outcome, Outcome] | None = None,
) -> CaseCheck:
    stated = recorded or (program if program.typed is not None else value(0))
    assert stated.plain is not None
    assert stated.typed is not None
    case = Case(id="c", program="p", kind="output", arguments={}, call="f()", expected=stated.plain, typed=stated.typed)
    one, two = arguments or (value([1]), value([1]))
    return compare(case, Pair(call=original, arguments=one), Pair(call=program, arguments=two), ROOTS)


TUPLE = {"@odata.type": "#tuple", "value": [1]}


@pytest.mark.parametrize(
    ("original", "program", "reason"),
    [
        (value([1]), value(TUPLE, [1]), "value"),
        (value({"a": 1, "b": 2}), value({"b": 2, "a": 1}), "value"),
        (value(1), value(True), "value"),
        (value(1), error("ValueError", "1"), "outcome"),
        (error("ValueError", "1"), error("TypeError", "1"), "exception-class"),
        (error("ValueError", "a.F"), error("ValueError", "F"), "exception-message"),
        (other("unrepresentable", "lock"), value(1), "outcome"),
        (value(1), other("unloadable", "NameError: x"), "program-fails"),
    ],
)
def test_different(original: Outcome, program: Outcome, reason: str) -> None:
    found = check(original, program)
    assert (found.verdict, found.reason) == ("different", reason)
    assert found.original != found.program


@pytest.mark.parametrize("outcome", [value(TUPLE, [1]), error("KeyError", "'a'"), value(10**5000)])
def test_same(outcome: Outcome) -> None:
    found = check(outcome, outcome)
    assert (found.verdict, found.arguments) == ("same", True)


@pytest.mark.parametrize(
    ("original", "program", "reason"),
    [
        (other("unloadable", "ModuleNotFoundError: No module named 'socks'"), value(1), "optional-dependency"),
        (other("unloadable", "ModuleNotFoundError: No module named 'demo.gone'"), value(1), "import-fails"),
        (other("unloadable", "RuntimeError: not here"), value(1), "import-fails"),
        (other("impure", "open"), value(1), "impure-original"),
        (other("timeout"), value(1), "timeout"),
        (value(1), other("timeout"), "program-timeout"),
    ],
)
def test_not_comparable(original: Outcome, program: Outcome, reason: str) -> None:
    found = check(original, program)
    assert (found.verdict, found.reason) == ("not-comparable", reason)


def test_a_case_that_states_something_else_than_both_is_found() -> None:
    found = check(value(1), value(1), recorded=value(2))
    assert (found.verdict, found.reason) == ("different", "record")
    assert "2" in found.program


@pytest.mark.parametrize(
    ("arguments", "verdict", "compared"),
    [
        ((value([1]), value([2])), "different", True),
        ((value([1]), other("unrepresentable", "lock")), "different", True),
        ((other("unrepresentable", "lock"), other("unrepresentable", "lock")), "same", False),
        ((value([1]), other("timeout")), "same", False),
    ],
)
def test_arguments_afterwards(arguments: tuple[Outcome, Outcome], verdict: str, compared: bool) -> None:
    found = check(value(5), value(5), arguments=arguments)
    assert (found.verdict, found.arguments) == (verdict, compared)
