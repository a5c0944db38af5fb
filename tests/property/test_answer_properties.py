"""The parsers on any text, and on any value written in an accepted form."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from exe.grading.answer import parse
from exe.grading.reader import _read_json, _Reader
from exe.grading.strings import StringError, decode_string

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
PYTHON = st.recursive(
    SCALARS | st.binary(max_size=8) | st.complex_numbers(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.tuples(inner)
        | st.dictionaries(st.integers() | st.text(max_size=4) | st.tuples(st.integers()), inner, max_size=4)
        | st.sets(st.integers() | st.text(max_size=4), max_size=4)
    ),
    max_leaves=12,
)
PIECES = st.sampled_from(
    ['{"value": ', '{"error": {"code": "E"', "}", "]", "[", "{", '"', "'", "```", "\n", "<think>", "</think>", "[ANSWER]",
     "[/ANSWER]", "Answer: ", "assert f(1) == ", "1", ",", ":", "\\", "#", "//", "/*", "None", "null", "b'", "(", ")", " "]
)  # fmt: skip


def same(one: Any, other: Any) -> bool:
    """Equal, the types too; sets have no order, and the sign of a complex number's zero has no literal."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    return bool(one == other) and (not isinstance(one, float) or repr(one) == repr(other))


@given(JSON)
@settings(max_examples=60)
def test_json_is_read_as_the_json_module_does_by_both_ways(value: Any) -> None:
    text = json.dumps(value)
    slow, quick = _Reader(text, 0).run(), _read_json(text)
    assert same(slow.value, json.loads(text))
    assert (slow.status, slow.end) == ("complete", len(text))
    assert (quick is None) == ("number token" in slow.notes)
    assert quick is None or (quick.end == slow.end and same(quick.value, slow.value))


@given(
    JSON, st.sampled_from(["{}", "```json\n{}\n```", "<think>{{</think>{}", "so {} then {{x}}", "Answer: {}\nnot {{"])
)
@settings(max_examples=60)
def test_an_envelope_is_found_in_its_surroundings(value: Any, around: str) -> None:
    text = around.format(json.dumps({"value": value}))
    answer = parse(text, "odata")
    assert answer.status == "value", answer
    assert same(answer.value, json.loads(json.dumps(value)))


@given(PYTHON)
@settings(max_examples=60)
def test_python_literals_are_read_by_both_formats(value: Any) -> None:
    assert same(parse(repr(value), "python").value, value)
    assert same(parse(repr({"value": value}), "odata").value, value)


@given(PYTHON, st.sampled_from(["[ANSWER]{}[/ANSWER]", "assert f('==') == {}", "```python\nassert f() == {}\n```"]))
@settings(max_examples=60)
def test_a_literal_is_found_in_its_surroundings(value: Any, around: str) -> None:
    answer = parse(around.replace("{}", repr(value)), "python")
    assert answer.status == "value", answer
    assert same(answer.value, value)


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join), st.sampled_from(["odata", "python"]))
@settings(max_examples=60)
def test_no_text_raises(text: str, form: Any) -> None:
    answer = parse(text, form)
    assert (answer.status == "unparseable") == (answer.reason is not None)


@given(st.text(alphabet="\\xuUN{}0'\"abn 7fF", max_size=12))
def test_string_escapes_are_pythons(body: str) -> None:
    import ast
    import warnings

    token = f"'{body}'"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = ast.literal_eval(token)
        except (SyntaxError, ValueError):
            return
    if "'" in body.replace("\\'", "").replace("\\\\", ""):
        return
    try:
        assert decode_string(token)[0] == expected
    except StringError:
        raise AssertionError(token) from None
