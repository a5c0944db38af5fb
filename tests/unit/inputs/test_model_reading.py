"""What a model says, read as inputs: forms that are accepted, limits, and nothing evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exe.errors import InputError
from exe.inputs.model import PROMPT_VERSION
from exe.inputs.model.journal import Journal, Question, Spent, answers, rows, spent
from exe.inputs.model.reading import LONGEST, MOST, inputs_of, proposals_of, said
from exe.records import Completion, Message, Program, ToolCompletion
from tests.unit.inputs.building import ORIGIN

INPUTS = [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    "text",
    [
        '{"inputs": [{"a": 1}, {"a": 2}]}',
        '[{"a": 1}, {"a": 2}]',
        'Here they are:\n```json\n{"inputs": [{"a": 1}, {"a": 2}]}\n```\nDone.',
        'First ```json\n{"inputs": [{"a": 9}]}\n``` but better ```json\n{"inputs": [{"a": 1}, {"a": 2}]}\n```',
        'Sure! {"inputs": [{"a": 1}, {"a": 2}]} I hope this helps.',
        '{"a": 1}\n{"a": 2}',
        '{"a": 1},\n\n{"a": 2},',
        '  [{"a": 1},\n {"a": 2}]  ',
    ],
)
def test_forms_that_are_read(text: str) -> None:
    assert inputs_of(text) == (INPUTS, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        '{"inputs": {"a": 1}}',
        '{"a": 1}',
        "[1, 2",
        "__import__('os').getcwd()",
        "[" * 100_000,
        "{'a': 1}",
        "3",
    ],
)
def test_what_cannot_be_read_says_so(text: str) -> None:
    found, problem = inputs_of(text)
    assert found == []
    assert problem is not None


def test_limits() -> None:
    assert inputs_of("[" + "1," * LONGEST + "1]")[0] == []
    found, problem = inputs_of("[" + ",".join(["{}"] * (MOST + 5)) + "]")
    assert len(found) == MOST
    assert problem is not None
    assert str(MOST + 5) in problem


def test_numbers_stay_exact() -> None:
    assert inputs_of('{"inputs": [{"a": 123456789012345678901234567890}]}')[0] == [
        {"a": 123456789012345678901234567890}
    ]


def asking(attempt: int, *told: str) -> Question:
    program = Program(id="p", entry="f", source="", parameters={}, returns="int", origin=ORIGIN, provenance={})
    messages = (Message(role="user", content="?"),)
    return Question(program=program, attempt=attempt, cycle=0, told=told, messages=messages, schema={"type": "object"})


def test_a_journal_asks_once_whatever_was_cut_off(tmp_path: Path) -> None:
    asked: list[Any] = []

    def ask(question: Question) -> Completion:
        asked.append(question)
        return Completion(text=f"answer {len(asked)}", usage={"input": 3, "output": None})

    path = tmp_path / "journal"
    kept = Journal(path).keeping("m", ask)
    assert kept(asking(0)).text == kept(asking(0)).text == "answer 1"
    assert kept(asking(1)).text == "answer 2"
    assert Journal(path).keeping("other", ask)(asking(0)).text == "answer 3"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])  # a kill in the middle of a line
    again = Journal(path).keeping("m", ask)
    assert again(asking(0)) == Completion(text="answer 1", usage={"input": 3, "output": None})
    assert len(asked) == 3
    assert path.read_bytes() == whole
    assert Journal(tmp_path / "new", answers(path)).keeping("m", ask)(asking(1)).text == "answer 2"


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    spent = Spent()
    spent.add(Completion(text="", usage={"input": 10, "output": 4}, cost_usd=0.5, retries=2))
    assert spent.share(2) == {
        "requests": 0.5, "retries": 1.0, "input_tokens": 5.0, "output_tokens": 2.0, "cost_usd": 0.25,
    }  # fmt: skip
    spent.add(Completion(text="", usage={"input": 10}))
    assert spent.share(1)["output_tokens"] is None
    assert spent.share(1)["cost_usd"] is None
    assert spent.share(1)["input_tokens"] == 20


def test_calls_of_a_tool_go_before_text() -> None:
    calls = ('{"inputs": [{"a": 1}]}', '{"inputs": [{"a": 2}, {"a": 3}]}')
    reply = ToolCompletion(text='{"inputs": [{"a": 9}]}', calls=calls)
    assert proposals_of(reply) == ([{"a": 1}, {"a": 2}, {"a": 3}], None)
    assert said(reply) == "\n".join(calls)
    assert proposals_of(Completion(text=calls[0])) == ([{"a": 1}], None)
    found, problem = proposals_of(ToolCompletion(text="", calls=(calls[0], "{nothing")))
    assert found == [{"a": 1}]
    assert problem is not None
    many = json.dumps({"inputs": [{"a": n} for n in range(MOST)]})
    found, problem = proposals_of(ToolCompletion(text="", calls=(many, many)))
    assert len(found) == MOST
    assert str(2 * MOST) in str(problem)
    assert proposals_of(ToolCompletion(text="", calls=("[" * LONGEST, "{}")))[0] == []


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"inputs": [{"a": 1}, {"a": [2', [{"a": 1}]),
        ('Here:\n```json\n{"inputs": [\n {"a": 1},\n {"a": "}"},\n {"a', [{"a": 1}, {"a": "}"}]),
        ('{"inputs": [{"a": 1}, {"a": NaN}]}', [{"a": 1}]),
    ],
)
def test_of_an_answer_that_breaks_off_the_whole_inputs_are_read_and_it_is_told(text: str, whole: list[object]) -> None:
    found, problem = inputs_of(text)
    assert found == whole
    assert "breaks off" in str(problem)


def test_a_journal_keeps_calls(tmp_path: Path) -> None:
    reply = ToolCompletion(text="", calls=('{"inputs": []}',), usage={"input": 7, "output": 2})
    path = tmp_path / "completions.jsonl"
    assert Journal(path).keeping("m", lambda *_: reply)(asking(0)) == reply

    def never(*_: object) -> Completion:
        raise AssertionError("asked again")

    assert Journal(path).keeping("m", never)(asking(0)) == reply


def test_a_journal_tells_whose_answer_each_is(tmp_path: Path) -> None:
    path = tmp_path / "completions.jsonl"
    Journal(path).keeping("m", lambda _: Completion(text="x", usage={"input": 3, "output": 1}))(asking(1, "echo"))
    row = json.loads(path.read_text())
    assert {name: row[name] for name in ("model", "function", "program", "prompt", "attempt", "cycle")} == {
        "model": "m", "function": "demo:demo:f", "program": "p", "prompt": PROMPT_VERSION, "attempt": 1, "cycle": 0,
    }  # fmt: skip
    assert row["messages"] == [{"role": "user", "content": "?"}]
    assert row["told"] == ["echo"]
    assert spent(path, {"demo:demo:f"})["m"] == Spent(1, 0, 3, 1, None, {"echo": 1})
    assert spent(path, {"demo:demo:g"}) == {}
    path.write_text('{"model": "m"}\n')
    with pytest.raises(InputError, match="no line of a journal"):
        spent(path, {"demo:demo:f"})


@pytest.mark.parametrize("text", ["\ud800", "\u2028\x85\n", "[" * 100_000, "long " * 1_000_000, '{"inputs": [NaN]}'])
def test_any_answer_can_be_kept(text: str, tmp_path: Path) -> None:
    path = tmp_path / "completions.jsonl"
    Journal(path).keeping("m", lambda _: Completion(text=text))(asking(0))
    assert [kept.text for kept in answers(path).values()] == [text]
    assert list(rows([path])) == path.read_text().splitlines()


def test_what_is_no_journal_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "completions.jsonl"
    assert answers(path) == {}
    path.write_text('{"key": "k", "completion": {"text": "x"}}\n{"key": 1}\n')
    with pytest.raises(InputError, match=r"completions\.jsonl:2: no line of a journal"):
        Journal(path)


def test_the_file_of_a_set_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "completions.jsonl"
    Journal(path).keeping("m", lambda _: Completion(text="x"))(asking(0))
    path.write_bytes(path.read_bytes().rstrip())  # somebody's editor
    assert len(answers(path)) == 1
    assert not path.read_bytes().endswith(b"\n")
