"""Python answers: one literal, or the value of one assertion about the call."""

from __future__ import annotations

import time

import pytest

from exe.grading.answer import parse

VALUES = [
    ("[1, 'a', None]", [1, "a", None]),
    ("('a', 123), ('b', 456)", (("a", 123), ("b", 456))),
    ("{1: 'a', 1: 'b'}", {1: "b"}),
    ("-0.5", -0.5),
    ("float('inf')", float("inf")),
    ('assert f("a == b") == "a == b"', "a == b"),
    ("assert 3 == f(1)", 3),
    ("assert f([1],\n  x=2) == {'k': 1}", {"k": 1}),
    ("assert f(1) is None", None),
    ("f(1) == (1, 2)", (1, 2)),
    ('[ANSWER]\nassert f("a == b") == "a == b"\n[/ANSWER]', "a == b"),
    ("[ANSWER]\n```python\n'x'\n```\n[/ANSWER]", "x"),
    ("so [ANSWER]5", 5),
    ("5[/ANSWER] and more", 5),
    ("[ANSWER]1[/ANSWER] no [ANSWER]2[/ANSWER]", 2),
    ("[ANSWER]'<think>a</think>'[/ANSWER]", "<think>a</think>"),
    ("'</think>'", "</think>"),
    ("<think>assert f(1) == 2</think>assert f(1) == 3", 3),
    ("maybe 4 </think> 3", 3),
    ("```python\nassert f(1) == [3]\n```", [3]),
    ("Let us see.\n```python\nx = 1\n```\nTherefore:\n```python\nassert f(1) == 3\n```", 3),
    ("It loops twice.\nassert f(1) == 3\nwhich is it.", 3),
    ("It loops.\n\nThus the output is `[1, 2]`.", [1, 2]),
    ("It loops. The final output would be 5.", 5),
    ("**Answer:** 'a'", "a"),
    ("Answer: assert f(1) == 3", 3),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_finds_the_value(text: str, value: object) -> None:
    answer = parse(text, "python")
    assert (answer.status, answer.reason) == ("value", None)
    assert answer.value == value
    assert type(answer.value) is type(value)


UNPARSEABLE = [
    "",
    "4 or 3",
    "[1, 2, 3] or [2, 1, 3]",
    "'a' + 'b'",
    "f(1)",
    "null",
    "1; 2",
    "x = 3",
    "3\n4",
    "x = 3\nassert f(x) == 4",
    "def f(x):\n    return x\nassert f(1) == 1",
    "assert f(1) == f(1)",
    "assert f(1) == 4 or 3",
    "assert f(1) == 3 == 3",
    "assert f(1) == 'a', 'b'",
    "assert f(1) != 3",
    "assert f(1)",
    "assert f(1) is 3",
    "assert f(1) == ??",
    "[ANSWER]f(1)[/ANSWER] the answer is 3",
    "The answer is 'a', since the value is 'x'.",
    "<think>3",
    "3</think>",
    "(1, 2",
    "'''",
    "[" * 100_000,
    "-" * 100_000 + "1",
    "1" + "+1" * 100_000,
    "9" * 300_000,
    "f" + "(1)" * 50_000 + " == 1",
    "{" + ",".join(str(i * (2**61 - 1)) for i in range(20_000)) + "}",
]


@pytest.mark.parametrize("text", UNPARSEABLE, ids=[text[:40] for text in UNPARSEABLE])
def test_rather_reads_nothing_than_guesses(text: str) -> None:
    started = time.process_time()
    answer = parse(text, "python")
    assert answer.status == "unparseable"
    assert answer.reason
    assert time.process_time() - started < 10


def test_reads_a_raise_statement_as_an_error() -> None:
    assert parse("raise ValueError('bad')", "python").error == ("ValueError", "bad")
    assert parse("```python\nraise json.JSONDecodeError\n```", "python").error == ("json.JSONDecodeError", "")


@pytest.mark.parametrize("text", ["raise g()()", "raise", "raise ValueError(x)", "raise A from B"])
def test_reads_no_other_raise_statement(text: str) -> None:
    assert parse(text, "python").status == "unparseable"


def test_integers_of_any_size_are_exact() -> None:
    assert parse("9" * 5000, "python").value == 10**5000 - 1


def test_odd_escapes_raise_no_warning() -> None:
    assert parse(r"assert f('\d') == '\d'", "python").value == r"\d"


@pytest.mark.parametrize(
    "text",
    [
        "So it is\n```python\n'<think>'\n```",
        "The value is '<think>'",
        "The value is '<think>'.",
        "<think>hm</think>\nSo it is\n```python\n'<think>'\n```",
    ],
)
def test_a_tag_of_reasoning_within_the_answer_is_its_text(text: str) -> None:
    assert parse(text, "python").value == "<think>"


def test_an_answer_within_reasoning_is_none() -> None:
    assert parse("<think>I try\n```python\n'a'\n```\nbut no", "python").status == "unparseable"
    assert parse("<think>I try\n```python\n'<think>'\n```\nbut</think> 4", "python").value == 4
