from __future__ import annotations

import ast
import dataclasses
import json
from typing import Any

import jsonschema
import pytest

from exe.errors import UsageError
from runners import prompt
from tests.support import tasks


def ask(**changes: Any) -> tuple[Any, ...]:
    given = {"style": "direct", "answer_format": "odata", "examples": False, "python": "3.11.7", **changes}
    return prompt.messages(tasks.program(1), tasks.case(1, 2), **given)


@pytest.mark.parametrize("answer_format", ["odata", "python"])
@pytest.mark.parametrize("style", ["direct", "cot"])
@pytest.mark.parametrize("examples", [False, True])
def test_every_prompt_shows_program_call_and_version_and_never_the_truth(
    style: str, answer_format: str, examples: bool
) -> None:
    case = dataclasses.replace(tasks.case(1, 2), expected={"value": "SECRET"}, typed={"value": "SECRET"})
    found = prompt.messages(
        tasks.program(1),
        case,
        style=style,  # type: ignore[arg-type]
        answer_format=answer_format,  # type: ignore[arg-type]
        examples=examples,
        python="3.11.7",
    )
    assert tasks.program(1).source.strip() in found[-1].content
    assert case.call in found[-1].content
    assert "CPython 3.11.7" in found[0].content
    assert [message.role for message in found] == ["user", "assistant"] * (len(found) // 2) + ["user"]
    assert not any("SECRET" in message.content for message in found)
    assert not any("{fence}" in message.content or "{python}" in message.content for message in found)


def test_the_instructions_stand_there_once_however_many_examples() -> None:
    text = "\n".join(message.content for message in ask(examples=True))
    assert text.count("base64url") == 1


@pytest.mark.parametrize("example", prompt.EXAMPLES, ids=lambda example: example.call)
def test_the_worked_examples_are_true(example: prompt.Example) -> None:
    namespace: dict[str, Any] = {}
    exec(example.source, namespace)
    outcome: dict[str, Any]
    try:
        value = eval(example.call, namespace)
        outcome = {"value": json.loads(json.dumps(value))}
        if example.python is not None:
            assert ast.literal_eval(example.python) == value
    except Exception as error:  # noqa: BLE001 - whatever the example raises is its truth
        outcome = {"error": {"code": type(error).__name__, "message": str(error)}}
        assert example.python is None
    if example.odata is not None:
        assert json.loads(example.odata) == outcome


@pytest.mark.parametrize("example", prompt.EXAMPLES, ids=lambda example: example.call)
def test_the_schema_takes_what_the_examples_say_and_no_other_envelope(example: prompt.Example) -> None:
    check = jsonschema.Draft202012Validator(prompt.ANSWER_SCHEMA)
    if example.odata is not None:
        assert check.is_valid(json.loads(example.odata))
    for wrong in ({}, {"value": 1, "error": None}, {"error": "x"}, {"answer": 1}, 1):
        assert not check.is_valid(wrong)


def test_a_program_cannot_close_its_fence() -> None:
    program = dataclasses.replace(tasks.program(1), source='def f():\n    return """\n````\nnot code\n"""\n')
    found = prompt.messages(
        program, tasks.case(1, 2), style="direct", answer_format="odata", examples=False, python="3.11.7"
    )
    assert "`````python\ndef f" in found[0].content
    assert found[0].content.count("`````") == 4


def test_braces_in_a_source_are_left_alone() -> None:
    program = dataclasses.replace(tasks.program(1), source="X = '{call} {source} {fence} {python}'\n")
    found = prompt.messages(
        program, tasks.case(1, 2), style="direct", answer_format="odata", examples=False, python="3.11.7"
    )
    assert "X = '{call} {source} {fence} {python}'" in found[0].content


def test_each_format_and_style_asks_for_its_own_form() -> None:
    assert "JSON object alone" in ask()[0].content
    assert "step by step" in ask(style="cot")[0].content
    python = ask(answer_format="python", style="cot")[0].content
    assert "Python literal" in python
    assert "OData" not in python
    assert '{"error"' not in python


def test_a_kind_without_a_prompt_is_refused() -> None:
    case = dataclasses.replace(tasks.case(1, 2), kind="input")
    with pytest.raises(UsageError, match="kind 'input'"):
        prompt.messages(tasks.program(1), case, style="direct", answer_format="odata", examples=False, python="3.11.7")


def test_the_repair_message_says_the_error_and_takes_braces() -> None:
    found = prompt.repair_message("expected '{error}' at 3")
    assert found.role == "user"
    assert "expected '{error}' at 3" in found.content


def test_wording_and_version_change_together() -> None:
    """A changed template changes this hash: then raise PROMPT_VERSION, say so in the CHANGELOG, and put it here."""
    assert (prompt.PROMPT_VERSION, prompt.PROMPT_SHA256[:12]) == (2, "1733e5d6792b")
