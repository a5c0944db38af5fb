"""Where the OData answer of a text is found, and where none is."""

from __future__ import annotations

import math
import time

import pytest

from exe.grading.answer import MAX_TEXT, parse
from exe.records import Answer

VALUES = [
    # the form itself
    ('{"value": [1, 2]}', [1, 2], ()),
    (' \n{"value": null}\n', None, ()),
    ('{"@odata.context": "x", "value@odata.type": "#set", "value": [1]}', [1], ()),
    ('{"value": 3, "error": null}', 3, ("empty counterpart",)),
    # fences
    ('```json\n{"value": [1, 2]}\n```', [1, 2], ("fence",)),
    ('Steps:\n```bash\nls {a,b}\n```\nAnswer:\n```json\n{"value": 3}\n```', 3, ("prose",)),
    ('```json\n{"value": 1}\n```\nNo, it is\n```json\n{"value": 2}\n```\n', 2, ("prose",)),
    ('`{"value": 1}`', 1, ("fence",)),
    # reasoning
    ('<think>first {"value": 1}</think>{"value": 2}', 2, ("reasoning",)),
    ('draft {"value": 1} </think>\n{"value": 2}', 2, ("reasoning",)),
    ('Answer: {"value": 1} </think> so {"value": 2}', 2, ("prose",)),
    ('<think>a</think> so {"value": 2}', 2, ("prose",)),
    ('{"value": 1} <think>was that right?</think>', 1, ("reasoning",)),
    ('{"value": "<think>a</think>"}', "<think>a</think>", ()),
    ('It is {"value": "<think>a</think>b"}.', "<think>a</think>b", ("prose",)),
    ('<think>x</think>It is {"value": "</think>"}.', "</think>", ("prose",)),
    # several objects, markers
    ('{"value": 1} or rather {"value": 2}', 2, ("prose",)),
    ('Final answer: {"value": 3}\n\nHad x been 2: {"value": 4}', 3, ("prose",)),
    ('The answer: `{"value": 1}`, not {"value": 2}', 1, ("prose",)),
    ('**Answer:**\n```json\n{"value": 1}\n```\nunlike {"value": 2}', 1, ("prose",)),
    ('[ANSWER]{"value": 1}[/ANSWER] and then {"value": 2}', 1, ("answer tags",)),
    ('<answer>so {"value": 1}</answer> {"value": 2}', 1, ("prose",)),
    ('{"value": 3} although f returns {"value": 5, "x": 1}', 3, ("prose",)),
    # prose around it
    ('{"value": "a"} (here {x} is the loop variable)', "a", ("prose",)),
    ('{x} and [i] and {"k": {"value": 9}} give {"value": 1}', 1, ("prose",)),
    ("don't [I'm sure] {'value': \"it's\"}", "it's", ("prose", "python literal")),
    ('I thought of {"value": "abc\nand then\n{"value": 3}', 3, ("prose",)),
    # syntax
    ('{"value": [true, null, false]}', [True, None, False], ()),
    ("{'value': {'k': \"it's\"}}", {"k": "it's"}, ("python literal",)),
    ('{"value": ["a,]", 1,],}', ["a,]", 1], ("trailing comma",)),
    ('{"value": 1e400}', math.inf, ()),
    ('{"value": "null"}', "null", ()),
    ("{'value': (None, {1})}", (None, {1}), ("python literal",)),
    # without the envelope
    ("[1, 2]", [1, 2], ("bare value",)),
    ('"abc"', "abc", ("bare value",)),
    ("None", None, ("bare value", "python literal")),
    ('{"k": 1}', {"k": 1}, ("bare value",)),
    ("Answer: [1, 2]", [1, 2], ("bare value", "prose")),
    ("**Final answer:** 'a: b'", "a: b", ("bare value", "prose", "python literal")),
    ("It gives\n```\n[3]\n```", [3], ("bare value", "fence", "prose")),
    ("<think>hm</think>\n[3]", [3], ("bare value", "reasoning")),
    ("So the answer: 5.", 5, ("bare value", "prose")),
    ("The output is [1, 2].", [1, 2], ("bare value", "prose")),
    ("**Answer:** **'a.'**", "a.", ("bare value", "prose", "python literal")),
    ("So \\boxed{[3]}.", [3], ("bare value", "prose")),
    ('So \\boxed{\\{"value": 3\\}}, not {"value": 4}', 3, ("prose",)),
    ('"{\\"value\\": 3}"', 3, ("encoded twice",)),
    ('{"value": 3, "explanation": "it is"}', 3, ("comments",)),
    ("{“value”: “x”}", "x", ("typographic quotes",)),
    ("[3]</s>", [3], ("bare value",)),
]


@pytest.mark.parametrize(("text", "value", "lenient"), VALUES, ids=[text for text, _, _ in VALUES])
def test_finds_the_value(text: str, value: object, lenient: tuple[str, ...]) -> None:
    answer = parse(text, "odata")
    assert (answer.status, answer.reason, answer.lenient) == ("value", None, lenient)
    assert answer.value == value
    assert type(answer.value) is type(value)


def test_reads_tokens_for_what_is_not_finite() -> None:
    nan, negative = parse('{"value": [NaN, -Infinity]}', "odata").value
    assert math.isnan(nan)
    assert negative == -math.inf


ERRORS = [
    ('{"error": {"code": "ValueError", "message": "bad"}}', ("ValueError", "bad"), ()),
    ('{"error": {"code": "a.B", "message": null, "details": []}}', ("a.B", None), ()),
    ('{"error": {"code": "KeyError"}}', ("KeyError", None), ("no message",)),
    ('{"value": null, "error": {"code": "E", "message": "m"}}', ("E", "m"), ("empty counterpart",)),
    ("It raises {'error': {'code': 'E', 'message': 'm'}}.", ("E", "m"), ("prose", "python literal")),
]


@pytest.mark.parametrize(("text", "error", "lenient"), ERRORS)
def test_finds_the_error(text: str, error: tuple[str, str | None], lenient: tuple[str, ...]) -> None:
    assert parse(text, "odata").error == error
    assert parse(text, "odata").lenient == lenient


UNPARSEABLE = [
    ('Answer: {"value": 1} </think> I cannot tell.', "no answer object in the text"),
    ('Answer: {"value": 1} <think>a</think> b </think> I cannot tell.', "no answer object in the text"),
    ("", "empty"),
    (" \n", "empty"),
    ("I cannot tell.", "no answer object in the text"),
    ("ValueError: bad", "no answer object in the text"),
    ('raise ValueError("bad")', "no answer object in the text"),
    ("ValueError", "no answer object in the text"),
    ("1, 2", "no answer object in the text"),
    ("So the answer: 5..", "no answer object in the text"),
    ("Answer: 'a', since the output: 'b'", "no answer object in the text"),
    ('Take x = {"a": {"value": 1}} there', "no answer object in the text"),
    ("```\n[1]\n```\nversus\n```\n[2]\n```\nwho knows", "no answer object in the text"),
    ('{"value": 1, "value": 2}', "duplicate key 'value'"),
    ('{"value": 0} or {"value": {"a": 1, "a": 1}}', "duplicate key 'a'"),
    ('{"value": 3, "why": 1}', "members beside the answer: 'why'"),
    ('{"value": 3, "error": {"code": "E"}}', "both a value and an error"),
    ('{"value": 2} or {"value": 3, "error": {"code": "E"}}', "both a value and an error"),
    ('{"error": "ValueError: bad"}', "the error is no object with code and message"),
    ('{"error": {"message": "bad"}}', "the error has no code"),
    ('{"error": {"code": "E", "message": 3}}', "the error's message is no text"),
    ('{"error": null}', "the error is null"),
    ('{"value": 3 + 4}', "unexpected '+'"),
    ('{"value": 1} no: final answer: {"value": 3 + 4}', "unexpected '+'"),
    ('{"value": 1} no: {"value": [1, 2', "the answer object is cut off: the text ends inside a value"),
    ("<think>{'value': 1}", "only reasoning, no answer after it"),
    ("{'value': 1}</think>", "only reasoning, no answer after it"),
    ('{"value":' * 250 + "1" + "}" * 250, "nested deeper than 200"),
    ("[" * 100_000, "nested deeper than 200"),
    ("so " + '{"value":' * 100_000, "nested deeper than 200"),
    ("x" * (MAX_TEXT + 1), f"longer than {MAX_TEXT} characters"),
]


@pytest.mark.parametrize(("text", "reason"), UNPARSEABLE, ids=[text[:40] for text, _ in UNPARSEABLE])
def test_rather_reads_nothing_than_guesses(text: str, reason: str) -> None:
    answer = parse(text, "odata")
    assert (answer.status, answer.reason) == ("unparseable", reason)


def test_long_integers_are_exact() -> None:
    assert parse('{"value": ' + "9" * 5000 + "}", "odata").value == 10**5000 - 1


HOSTILE = {
    "strings": '["\n' * 50_000,
    "objects": '{"value": 1} ' * 25_000,
    "comments": "[/*" * 50_000,
    "hashes": "[# " * 50_000,
    "half objects": "{'value': \"\n" * 25_000,
    "lists": "[1," * 50_000,
    "escapes": '{"value": "' + '\\"' * 300_000,
    "fences": "```\n" * 50_000,
    "thoughts": "<think>" * 50_000,
    "tags": "[ANSWER]" * 50_000,
    "labels": "answer: " * 50_000,
    "ticks": "`" * 300_000,
    "spaces": "{" + " " * 300_000 + "x",
    "keys": '{"a":[\'' * 40_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_takes_no_long_time(text: str) -> None:
    started = time.process_time()
    answer = parse(text, "odata")
    assert answer.status == "unparseable"
    assert time.process_time() - started < 5


def test_several_megabytes_of_answer_are_read() -> None:
    text = '{"value": [' + "123456," * 300_000 + "1]}"
    started = time.process_time()
    assert len(parse(text, "odata").value) == 300_001
    assert time.process_time() - started < 5


def test_an_answer_says_which_text_was_read() -> None:
    assert parse('so {"value": 1}!', "odata") == Answer(
        status="value", value=1, source='{"value": 1}', lenient=("prose",)
    )


def test_a_tag_of_reasoning_within_a_fenced_text_is_its_text() -> None:
    assert parse('So it is\n```json\n"<think>"\n```', "odata").value == "<think>"
    assert parse('<think>I try\n```json\n"<think>"\n```\nno', "odata").status == "unparseable"
