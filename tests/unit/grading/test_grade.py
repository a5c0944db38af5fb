"""Verdicts on answers under every rule, and on every way in which a completion can end."""

from __future__ import annotations

import ast
import math
from collections import Counter
from typing import Any

import pytest

from exe.grading.grade import Rule, grade, grade_text, judge_completion
from exe.records import Answer, Case, Completion, Grade
from exe.values import encode


def case_of(value: Any) -> Case:
    plain, typed = encode(value)
    return _case({"value": plain}, {"value": typed})


def error_case(code: str, message: str) -> Case:
    error = {"error": {"code": code, "message": message}}
    return _case(error, error)


def _case(expected: dict[str, Any], typed: dict[str, Any]) -> Case:
    return Case(
        id="c", program="p", kind="output", arguments={}, call="f()", expected=expected, typed=typed
    )  # fmt: skip


def rules(result: Grade) -> tuple[bool | None, bool | None, bool | None]:
    return result.json, result.typed, result.python


VALUES = [
    # truth, answer, (json, typed, python)
    ((1, 2), [1, 2], (True, False, False)),
    ((1, (2, 3)), [1, [2, 3]], (True, False, False)),
    ((1, 2), (1, 2), (True, True, True)),
    (784.0, 784, (True, False, True)),
    (784, 784.0, (True, False, True)),
    (-0.0, 0.0, (True, False, True)),
    (-0.0, -0.0, (True, True, True)),
    (-math.inf, -math.inf, (True, True, True)),
    ([math.nan, 1], [math.nan, 1], (True, True, True)),
    ({3: "c", 1: "a"}, {1: "a", 3: "c"}, (True, True, True)),
    ({1: "a"}, {"1": "a"}, (True, False, False)),
    (Counter({"a": 2}), {"a": 2}, (True, False, True)),
    ([None, "q", True], ["null", "q", True], (False, False, False)),
    (True, 1, (False, False, True)),
    (1, True, (False, False, True)),
    ("1", 1, (False, False, False)),
    ({1, 2}, [2, 1], (True, False, False)),
    ("nan", math.nan, (False, False, False)),
]


@pytest.mark.parametrize(("truth", "value", "expected"), VALUES)
@pytest.mark.parametrize("rule", ["json", "typed", "python"])
def test_all_rules_are_recorded_and_one_decides(
    truth: object, value: object, expected: tuple[bool, bool, bool], rule: Rule
) -> None:
    result = grade(Answer(status="value", value=value), case_of(truth), rule=rule)
    assert rules(result) == expected
    right = dict(zip(("json", "typed", "python"), expected, strict=True))[rule]
    assert (result.verdict, result.credit) == (("correct", 1.0) if right else ("wrong", 0.0))
    assert result.type_only is None


@pytest.mark.parametrize(
    ("truth", "text", "python"),
    [
        ("3", "4 or 3", None),
        ("[2]", "[1, 2, 3] or [2, 1, 3]", None),
        ("(('a', 123), ('b', 456))", "('a', 123), ('b', 456)", True),
        ("{3: 'A3', 1: 'A1'}", "{ 1: 'A1', 3: 'A3' }", True),
        ("''", "", None),
        ("(1, 2)", "[1, 2]", False),
        ("'a == b'", '[ANSWER]assert f("==") == "a == b"[/ANSWER]', True),
    ],
)
def test_python_texts(truth: str, text: str, python: bool | None) -> None:
    answer, result = grade_text(text, case_of(ast.literal_eval(truth)), format="python", rule="python")
    assert (answer.status == "unparseable") == (python is None)
    expected = {None: "unparseable", True: "correct", False: "wrong"}[python]
    assert result.verdict == expected


def test_a_fenced_object_without_the_envelope_scores_in_full() -> None:
    text = 'Thought: done.\nOutput:\n```json\n{"errors": [], "pass": true, "complete": true}\n```'
    truth = {"errors": [], "pass": True, "complete": True}
    answer, result = grade_text(text, case_of(truth), format="odata", rule="json")
    assert result.credit == 1.0
    assert "bare value" in answer.lenient


ERRORS = [
    # truth, answer, (json, typed, type_only)
    (("ValueError", "bad"), ("ValueError", "bad"), (True, True, True)),
    (("ValueError", "bad"), ("ValueError", "Bad."), (True, False, True)),
    (("ValueError", "bad"), ("ValueError", "worse"), (False, False, True)),
    (("ValueError", "bad"), ("KeyError", "bad"), (False, False, False)),
    (("ValueError", "bad"), ("valueerror", "bad"), (False, False, False)),
    (("OSError", "bad"), ("IOError", "bad"), (True, True, True)),
    (("JSONDecodeError", "bad"), ("json.decoder.JSONDecodeError", "bad"), (True, True, True)),
    (("pkg.ParseError", "bad"), ("ParseError", "bad"), (True, True, True)),
    (("StopIteration", ""), ("StopIteration", None), (True, True, True)),
    (("ValueError", "bad"), ("ValueError", None), (False, False, True)),
    (
        ("RecursionError", "maximum recursion depth exceeded"),
        ("RecursionError", "maximum recursion depth exceeded in comparison"),
        (False, False, True),
    ),
]


@pytest.mark.parametrize(("truth", "error", "expected"), ERRORS)
def test_exceptions(truth: tuple[str, str], error: tuple[str, str | None], expected: tuple[bool, bool, bool]) -> None:
    result = grade(Answer(status="error", error=error), error_case(*truth), rule="json")
    assert (result.json, result.typed, result.type_only) == expected
    assert result.python == result.json
    assert result.verdict == ("correct" if expected[0] else "wrong")
    assert result.reason == ("message" if expected[2] and not expected[0] else None)


def test_a_value_is_no_error_and_an_error_no_value() -> None:
    value = grade(Answer(status="value", value=""), error_case("ValueError", ""), rule="json")
    assert (value.verdict, value.reason, rules(value), value.type_only) == (
        "wrong",
        "value for an error",
        (False, False, False),
        False,
    )
    error = grade(Answer(status="error", error=("ValueError", "")), case_of(""), rule="python")
    assert (error.verdict, error.reason, rules(error), error.type_only) == (
        "wrong",
        "error for a value",
        (False, False, False),
        None,
    )
    shape = {"error": {"code": "E", "message": "m"}}
    assert grade(Answer(status="value", value=shape["error"]), error_case("E", "m"), rule="json").verdict == "wrong"


ENDINGS = [
    # text, finish reason, verdict, reason
    ('{"value": 5}', "stop", "correct", None),
    ('{"value": 5}', None, "correct", None),
    ('{"value": 5}', "something_new", "correct", None),
    ('{"value": 6}', "end_turn", "wrong", None),
    ("", "stop", "unparseable", "empty"),
    ("no idea", "stop", "unparseable", "no answer object in the text"),
    ("", "length", "truncated", "length, empty"),
    ("I think", "max_tokens", "truncated", "length"),
    ('{"value": 1} no, {"value": [5', "length", "truncated", "length"),
    ('{"value": 5}\nNow, for', "length", "correct", None),
    ('{"value": 5}', "FinishReason.MAX_TOKENS", "correct", None),
    ("5", "length", "truncated", "length, within the answer"),
    ("The answer is 5.", "length", "truncated", "length, within the answer"),
    ("The answer is: \\boxed{5}", "length", "correct", None),
    ("", "context_overflow", "truncated", "context overflow, empty"),
    ('{"value": 5}', "content_filter", "refused", "content filter"),
    ('{"value": 5}', "content-filter", "refused", "content filter"),
    ("", "refusal", "refused", "refusal"),
    ('{"value": 5}', "error", "failed", "provider failure"),
]


@pytest.mark.parametrize(("text", "finish", "verdict", "reason"), ENDINGS)
def test_completions_by_their_ending(text: str, finish: str | None, verdict: str, reason: str | None) -> None:
    completion = Completion(text=text, finish_reason=finish)
    _, result = judge_completion(completion, case_of(5), format="odata", rule="json")
    assert (result.verdict, result.reason) == (verdict, reason)
    met = {"correct": True, "failed": None}.get(verdict, False)
    assert rules(result) == (met, met, met)
    assert result.credit == float(verdict == "correct")


@pytest.mark.parametrize(
    ("text", "verdict"), [("[1, 2]", "truncated"), ("[ANSWER][1, 2][/ANSWER]", "correct"), ("[1, 2", "truncated")]
)
def test_a_cut_python_answer_counts_only_when_closed(text: str, verdict: str) -> None:
    completion = Completion(text=text, finish_reason="length")
    assert judge_completion(completion, case_of([1, 2]), format="python", rule="python")[1].verdict == verdict


def test_no_completion_is_a_failure_and_no_verdict_on_the_model() -> None:
    answer, result = judge_completion(None, error_case("E", "m"), format="odata", rule="json")
    assert answer.status == "unparseable"
    assert (result.verdict, rules(result), result.type_only) == ("failed", (None, None, None), None)
