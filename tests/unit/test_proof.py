"""The harness proved on a task: the truth in every form is right, the attacks are wrong, and a broken grader is found out."""

from __future__ import annotations

from typing import Any

import pytest

from exe import proof
from exe.records import Case, Grade
from exe.values import encode

TRUTHS = [
    None, True, False, 0, 1, -7, 10**30, 1.0, -0.0, float("inf"), "", "x", "<think>", "</think>", "[ANSWER]", "a <think> b",
    "```", "```python\n1\n```", "it's", '"q"', "é", "null", "True", "x or True", [], [[]], [1, "a", None], (), (1,), (1, (2,)),
    {}, {"a": 1}, {"value": 1}, {"error": {"code": "E", "message": "m"}}, {"a": {"value": 2}}, "{\"value\": 1}", "Answer: 3",
    b"bytes", {1, 2}, {1: "a"},
]  # fmt: skip


def case(value: Any, call: str = "f(n='in')", arguments: dict[str, Any] | None = None) -> Case:
    plain, typed = encode(value)
    return Case(
        id="c1",
        program="p1",
        kind="output",
        arguments={"n": "in"} if arguments is None else arguments,
        call=call,
        expected={"value": plain},
        typed={"value": typed},
    )


ERROR = Case(
    id="c2",
    program="p1",
    kind="output",
    arguments={"n": "in"},
    call="f(n='in')",
    expected={"error": {"code": "ValueError", "message": "bad <think> x"}},
    typed={"error": {"code": "ValueError", "message": "bad <think> x"}},
)


@pytest.mark.parametrize("truth", TRUTHS, ids=repr)
@pytest.mark.parametrize("answer_format", ["odata", "python"])
def test_every_form_is_right_and_every_attack_wrong(truth: Any, answer_format: Any) -> None:
    rule: Any = "json" if answer_format == "odata" else "python"
    assert proof.prove(case(truth), answer_format, rule) == []


def test_errors_are_proved_too() -> None:
    assert proof.prove(ERROR, "odata", "json") == []
    assert proof.prove(ERROR, "odata", "typed") == []


def test_an_echo_is_an_attack_only_where_it_is_not_the_truth() -> None:
    echo, other = case("in"), case("out")
    assert [form for form, _ in proof.attacks(echo, "odata") if form.startswith("input")] == []
    assert ("input 1", '{"value":"in"}') in proof.attacks(other, "odata")


@pytest.mark.parametrize(("verdict", "forms"), [("correct", proof.attacks), ("wrong", proof.accepted)])
def test_a_grader_that_always_says_the_same_is_found_out(
    verdict: Any, forms: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "grade_text", lambda *_, **__: (None, Grade(verdict=verdict)))
    found = proof.prove(case(5), "odata", "json")
    assert {fault.form for fault in found} == {form for form, _ in forms(case(5), "odata")}
    assert all(fault.verdict == verdict for fault in found)
