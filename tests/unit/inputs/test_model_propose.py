"""A model's proposals in batches: how many are asked for, what is shown, what counts as new, when it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exe.inputs.mix import mix
from exe.inputs.model import Question, propose
from exe.inputs.model.prompt import EARLIER, SHOWN
from exe.records import Call, Completion, Program, Rejection
from tests.unit.inputs.building import build
from tests.unit.inputs.execution import execute

SOURCE = """
def f(text: str, n: int) -> str:
    if n < 0:
        raise ValueError(n)
    return text.upper() + str(n)
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return build(tmp_path, SOURCE)[1]


class Scripted:
    """A model whose answer is a function of how many questions came before; `questions` are those it was asked."""

    def __init__(self, answers: Callable[[int], list[dict[str, Any]]]) -> None:
        self.answers = answers
        self.questions: list[Question] = []

    def __call__(self, question: Question) -> Completion:
        self.questions.append(question)
        inputs = self.answers(len(self.questions) - 1)
        return Completion(text=json.dumps({"inputs": inputs}), usage={"input": 10, "output": 1})

    @property
    def places(self) -> list[tuple[int, int]]:
        return [(one.attempt, one.cycle) for one in self.questions]


def inputs(start: int, count: int = 15, text: str = "a") -> list[dict[str, Any]]:
    return [{"text": text, "n": n} for n in range(start, start + count)]


def proposed(program: Program, ask: Scripted, count: int, earlier: list[Call] | None = None) -> Any:
    return propose(program, seed=0, count=count, execute=execute, ask=ask, model="m", earlier=earlier or [])


def by_reason(rejections: list[Rejection]) -> dict[str, str]:
    return {one.reason: one.detail for one in rejections}


@pytest.mark.parametrize(("count", "requests"), [(3, 1), (15, 1), (16, 2), (30, 2), (45, 3), (100, 7)])
def test_as_many_batches_as_the_count_needs(count: int, requests: int, program: Program) -> None:
    ask = Scripted(lambda number: inputs(15 * number))
    generated, spent = proposed(program, ask, count)
    assert len(generated.calls) == min(count, 15 * requests)
    assert (spent.requests, spent.input_tokens) == (requests, 10 * requests)
    assert ask.places == [(2 * batch, 0) for batch in range(requests)]
    assert all("Write 15 inputs" in one.messages[1].content for one in ask.questions)


def earlier_lines(question: Question) -> list[str]:
    _, _, shown = question.messages[1].content.partition("These are there already; make others:\n")
    return shown.splitlines()


def test_later_batches_are_shown_some_of_what_is_there_already(program: Program) -> None:
    ask = Scripted(lambda number: inputs(15 * number))
    proposed(program, ask, 100)
    assert [len(earlier_lines(one)) for one in ask.questions] == [0, 15, 30, 45, EARLIER, EARLIER, EARLIER]
    there = [json.dumps(one) for one in inputs(0, 75)]
    assert set(earlier_lines(ask.questions[5])) <= set(there)
    assert set(earlier_lines(ask.questions[5])) != set(there[:60])


def test_what_is_shown_of_long_inputs_is_bounded(program: Program) -> None:
    ask = Scripted(lambda number: inputs(15 * number, text="a" * 1_900))
    proposed(program, ask, 45)
    lines = earlier_lines(ask.questions[2])
    assert 0 < len(lines) < 15
    assert sum(map(len, lines)) <= SHOWN


def test_a_model_that_repeats_itself_is_told_and_ends(program: Program) -> None:
    ask = Scripted(lambda _number: inputs(0))
    generated, _ = proposed(program, ask, 60)
    assert len(generated.calls) == 15
    assert ask.places == [(0, 0), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2)]
    told = ask.questions[2].messages[-1].content
    assert "occur more than once" in told
    assert "Only 0 usable inputs" in told
    assert [one.told for one in ask.questions[:4]] == [(), (), ("duplicates", "enough"), ("duplicates", "enough")]
    assert by_reason(generated.rejections)["duplicate"] == "90 proposals that were there already"


def test_a_batch_is_mended_before_the_next(program: Program) -> None:
    ask = Scripted(lambda number: inputs(0, 4) if number == 0 else inputs(15 * number))
    generated, _ = proposed(program, ask, 30)
    assert ask.places == [(0, 0), (0, 1), (2, 0)]
    assert len(generated.calls) == 30
    assert {call.generator for call in generated.calls} == {"m"}


def test_earlier_inputs_are_none_to_propose(program: Program) -> None:
    earlier = [Call(program="f", arguments=one, call="") for one in inputs(0)]
    ask = Scripted(lambda number: inputs(0) if number == 0 else inputs(10))
    generated, _ = proposed(program, ask, 15, earlier)
    assert sorted(call.arguments["n"] for call in generated.calls) == list(range(15, 25))
    assert len(earlier_lines(ask.questions[0])) == 15
    assert len(ask.questions) == 6  # five of fifteen are there already, and it never lets them be


def test_a_mix_takes_turns_and_shows_each_what_there_is(program: Program) -> None:
    ask = Scripted(lambda number: inputs(1_000 + 15 * number, text="x"))
    (calls, _), spent = mix(program, "offline,m", seed=0, count=15, execute=execute, asks={"m": ask})
    assert [call.generator for call in calls[:6]] == ["offline", "m"] * 3
    assert len({call.call for call in calls}) == len(calls)
    assert len(earlier_lines(ask.questions[0])) == sum(call.generator == "offline" for call in calls)
    assert {name: one.requests for name, one in spent.items()} == {"m": 1}
