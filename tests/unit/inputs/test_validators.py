"""The seven validators one by one, and what the last cycle relaxes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exe.inputs import VALIDATORS, Trial, feedback, final
from exe.inputs.echo import echoes
from exe.inputs.select import select
from exe.inputs.validators import trial
from exe.records import Call, Outcome
from exe.values import encode
from tests.unit.inputs.building import build


def made(number: int, value: Any = None, *, error: str = "", echo: bool = False, cpu: float = 0.0) -> Trial:
    """A trial of `f(number)` that gave `value`, by default a value of its own."""
    call = Call(program="p", arguments={"x": number}, call=f"f({number})")
    if error:
        body = {"error": {"code": error, "message": "m"}}
        outcome = Outcome(status="error", plain=body, typed=body, cpu_seconds=cpu)
    else:
        plain, typed = encode(f"v{number}" if value is None else value)
        outcome = Outcome(status="value", plain={"value": plain}, typed={"value": typed}, cpu_seconds=cpu)
    output = f"error {error}" if error else str(outcome.typed)
    return Trial(arguments=call.arguments, key=f"x={number}", call=call, outcome=outcome, echo=echo, output=output)


GOOD = [made(n) for n in range(10)]
BAD = {
    "schema": [*GOOD, Trial(arguments={}, problem="x: missing, and it has no default")],
    "duplicates": [*GOOD, made(3)],
    "enough": GOOD[:9],
    "echo": [*GOOD[:5], *(made(n, echo=True) for n in range(10, 15))],
    "constant": [*GOOD[:3], *(made(n, "same") for n in range(10, 17))],
    "errors": [*GOOD[:7], *(made(n, error=f"E{n}") for n in range(10, 18))],
    "cpu": [*GOOD, made(20, cpu=10.0)],
}


def test_the_seven_in_order() -> None:
    assert [validator.name for validator in VALIDATORS] == list(BAD)


def test_a_good_batch_passes() -> None:
    assert feedback(GOOD) == {}


@pytest.mark.parametrize("name", BAD)
def test_each_speaks_alone(name: str) -> None:
    found = feedback(BAD[name])
    assert list(found) == [name]
    assert len({text for other in BAD for text in feedback(BAD[other]).values()}) == 7


def test_what_was_there_before_is_a_duplicate_and_none_to_count() -> None:
    again = replace(made(20), known=True)
    assert list(feedback([*GOOD, again])) == ["duplicates"]
    assert list(feedback([*GOOD[:9], again])) == ["duplicates", "enough"]
    kept, dropped = final("f", [*GOOD, again])
    assert (len(kept), [one.reason for one in dropped]) == (10, ["duplicate"])


LIMITS = [
    ("echo", [*GOOD[:6], *(made(n, echo=True) for n in range(10, 15))]),  # 5 of 11
    ("constant", [*GOOD[:4], *(made(n, "same") for n in range(10, 16))]),  # 6 of 10
    ("errors", [*GOOD[:8], *(made(n, error=f"E{n}") for n in range(10, 18))]),  # 8 of 16
    ("cpu", [*GOOD, made(20, cpu=9.99)]),
]


@pytest.mark.parametrize(("name", "batch"), LIMITS)
def test_limits_are_exact(name: str, batch: list[Trial]) -> None:
    assert name not in feedback(batch)


def test_final_drops_single_cases() -> None:
    slow = Trial(arguments={"x": 30}, key="x=30", call=made(30).call, outcome=Outcome(status="timeout"))
    crashed = Trial(arguments={"x": 31}, key="x=31", call=made(31).call, outcome=Outcome(status="crashed"))
    kept, rejections = final("p", [*GOOD[:4], made(2), made(20, cpu=11.0), slow, crashed, BAD["schema"][-1]])
    assert kept == GOOD[:4]  # fewer than ten, which is waived
    told = {rejection.reason: rejection.detail for rejection in rejections}
    assert told == {
        "crashed": "1 inputs dropped", "duplicate": "1 inputs dropped", "nonconforming": "1 inputs dropped", "slow": "2 inputs dropped",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "left"), [("echo", 9), ("constant", 8), ("errors", 14)])
def test_final_drops_surplus(name: str, left: int) -> None:
    kept, rejections = final("p", BAD[name])
    assert len(kept) == left
    assert feedback(kept).keys() <= {"enough"}
    assert [(r.stage, r.reason) for r in rejections] == [("generate", "surplus")]


NOTHING = [
    ([], "no-cases"),
    ([made(n, error="ValueError") for n in range(12)], "always-raises"),
    ([made(n, "k") for n in range(12)], "constant"),
    ([made(n, echo=True) for n in range(12)], "echo"),
]


@pytest.mark.parametrize(("batch", "reason"), NOTHING)
def test_final_says_why_nothing_remains(batch: list[Trial], reason: str) -> None:
    kept, rejections = final("p", batch)
    assert kept == []
    assert (rejections[-1].subject, rejections[-1].stage, rejections[-1].reason) == ("p", "generate", reason)


ECHOES = [
    ("list[int]", [1, 2], [1, 2], True),
    ("list[int]", [1, 2], (1, 2), False),
    ("list[int]", [1, 2], [1.0, 2.0], False),
    ("Any", 1, True, False),
    ("Any", 1, 1, True),
    ("float", 1, 1.0, True),
    ("set[int]", [2, 1], {1, 2}, True),
    ("str", "a", "A", False),
    ("dict[int, str]", {"1": "a"}, {1: "a"}, True),
    ("dict[int, str]", {"1": "a"}, {"1": "a"}, False),
    ("date", "2024-01-01", __import__("datetime").date(2024, 1, 1), True),
    ("date", "2024-01-01", "2024-01-01", False),
]


@pytest.mark.parametrize(("annotation", "argument", "value", "expected"), ECHOES)
def test_echo_is_decided_with_types(tmp_path: Path, annotation: str, argument: Any, value: Any, expected: bool) -> None:
    source = f"from datetime import date\nfrom typing import Any\ndef f(x: {annotation}) -> str: ...\n"
    _, _, signature = build(tmp_path, source)
    plain, typed = encode(value)
    outcome = Outcome(status="value", plain={"value": plain}, typed={"value": typed})
    assert echoes(signature, {"x": argument}, outcome) is expected
    call = Call(program="p", arguments={"x": argument}, call="f(…)")
    assert trial(signature, "k", call, outcome).echo is expected


def test_selection_is_balanced_and_simple_first() -> None:
    errors = [made(n, error="KeyError") for n in range(20)]
    same = [made(n, "same") for n in range(100, 130)]
    varied = [made(n) for n in range(1000, 1003)]
    chosen = select([*errors, *same, *varied], 15)
    assert len(chosen) == 15
    assert sum(one.raises for one in chosen) <= 7
    assert set(map(id, varied)) <= set(map(id, chosen))
    assert sum(one.output == chosen[-1].output for one in chosen) <= 9
    assert chosen == select([*varied, *same, *errors], 15)  # the order of the pool does not matter
