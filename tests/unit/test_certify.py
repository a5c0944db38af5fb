"""Certification: with real sandboxes where behaviour matters, with recorded outcomes where only the judgement does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from exe.certify import AGAIN, case_id, certify
from exe.errors import IsolationError
from exe.records import Call, Case, Job, Origin, Outcome, Program, Rejection
from exe.sandbox.host import Limits, Sandbox

LIMITS = Limits(wall_seconds=5.0, cpu_seconds=0.5)
ORIGIN = Origin(package="p", version="1", module="m", qualname="f", path="m.py", line=1)


def program(source: str) -> Program:
    return Program(id="p1", entry="f", source=source, parameters={}, returns="int", origin=ORIGIN, provenance={})


def calls(*texts: str) -> list[Call]:
    return [Call(program="p1", arguments={"n": number}, call=text) for number, text in enumerate(texts)]


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Sandbox, Sandbox]]:
    try:
        first, second = (Sandbox(workers=1, limits=LIMITS, hash_seed=seed) for seed in (0, 1))
    except IsolationError as error:
        pytest.skip(str(error))
    with first, second:
        yield first, second


def run(pair: tuple[Sandbox, Sandbox], source: str, *texts: str) -> list[Case | Rejection]:
    first, second = pair
    return certify(program(source), calls(*texts), first.execute, second.execute)


def test_stable_values_and_errors_become_cases(pair: tuple[Sandbox, Sandbox]) -> None:
    value, error = run(pair, "def f(n):\n    return {'a': (1, n)} if n else [][n]\n", "f(1)", "f(0)")
    assert isinstance(value, Case)
    assert isinstance(error, Case)
    assert value.expected == {"value": {"a": [1, 1]}}
    assert value.typed["value"]["a"]["@odata.type"] == "#tuple"
    assert value.runtime["lines_executed"] == 1
    assert error.expected == {"error": {"code": "IndexError", "message": "list index out of range"}}
    assert (value.program, value.kind, value.call, value.arguments) == ("p1", "output", "f(1)", {"n": 0})


@pytest.mark.parametrize(
    "body",
    [
        "list({'a', 'b', 'c', 'd', 'e', 'f'})",
        "sorted(list({'a', 'b', 'c', 'd', 'e'})[:2])",
        "hash('a') % 1000",
        "str({'x', 'y', 'z', 'u', 'v'})",
        "__import__('random').random()",
        "__import__('time').time_ns()",
        "__import__('os').urandom(4).hex()",
        "str(__import__('uuid').uuid4())",
        "id(object())",
        "__import__('datetime').datetime.fromtimestamp(0).isoformat()",
        "__import__('os').path.expanduser('~/file.txt')",
        "__import__('os').path.abspath('x')",
        "{}[hash('a')]",
    ],
)
def test_nondeterminism_is_caught(pair: tuple[Sandbox, Sandbox], body: str) -> None:
    (rejection,) = run(pair, f"def f():\n    return {body}\n", "f()")
    assert isinstance(rejection, Rejection), body
    assert (rejection.stage, rejection.subject) == ("certify", case_id("p1", "output", None, {"n": 0}))
    assert rejection.reason in ("nondeterministic", "unstable-text")
    assert " | " in rejection.detail


def test_an_address_is_named(pair: tuple[Sandbox, Sandbox]) -> None:
    (rejection,) = run(pair, "def f():\n    return [repr(object())]\n", "f()")
    assert isinstance(rejection, Rejection)
    assert (rejection.stage, rejection.reason) == ("certify", "unstable-text")
    assert "address" in rejection.detail


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f():\n    while True: pass\n", "timeout"),
        ("def f():\n    return open('x', 'w')\n", "impure"),
        ("def f():\n    return f\n", "unrepresentable"),
        ("import os\ndef f():\n    os._exit(0)\n", "crashed"),
        ("raise ValueError\n", "unloadable"),
        ("def f():\n    return bytearray(10 ** 13)\n", "memory"),
    ],
)
def test_no_outcome_is_a_rejection_of_execution(pair: tuple[Sandbox, Sandbox], source: str, reason: str) -> None:
    (rejection,) = run(pair, source, "f()")
    assert isinstance(rejection, Rejection)
    assert (rejection.stage, rejection.reason) == ("execute", reason)


def answers(*plains: Any, **fields: Any) -> list[Outcome]:
    return [Outcome(status="value", plain={"value": p}, typed={"value": p}, **fields) for p in plains]


class Recorded:
    """Answers the first job with `outcomes`, a later batch with the same by call, one by themselves with `again` or the first."""

    def __init__(self, outcomes: list[Outcome], again: list[Outcome] | None = None) -> None:
        self.outcomes = tuple(outcomes)
        self.again = again
        self.jobs: list[Job] = []

    def __call__(self, jobs: Iterable[Job]) -> Iterator[tuple[Outcome, ...]]:
        for job in jobs:
            self.jobs.append(job)
            if len(self.jobs) == 1:
                yield self.outcomes
            elif job.batch:
                known = dict(zip(self.jobs[0].calls, self.outcomes, strict=True))
                yield tuple(known[call] for call in job.calls)
            else:
                yield tuple(self.again or self.outcomes[:1] * len(job.calls))


def test_the_second_run_is_reversed_and_the_first_is_traced() -> None:
    first, second = Recorded(answers(1, 2, 3)), Recorded(answers(3, 2, 1))
    cases = certify(program(""), calls("f(1)", "f(2)", "f(3)"), first, second)
    assert [case.expected for case in cases if isinstance(case, Case)] == [{"value": 1}, {"value": 2}, {"value": 3}]
    assert (first.jobs[0].calls, first.jobs[0].trace) == (("f(1)", "f(2)", "f(3)"), True)
    assert [(job.calls, job.batch, job.witness) for job in second.jobs] == [
        (("f(3)", "f(2)", "f(1)"), True, 0),
        (("f(1)", "f(2)", "f(3)"), True, 1),
        (("f(1)", "f(3)", "f(2)"), True, 2),
    ]
    assert not first.jobs[0].batch


def test_what_a_batch_does_not_confirm_is_run_again_by_itself() -> None:
    first = Recorded(answers(1, 2, 3))
    second = Recorded(answers(3, 9, 1), again=answers(2) * AGAIN)
    cases = certify(program(""), calls("f(1)", "f(2)", "f(3)"), first, second)
    assert [case.expected for case in cases if isinstance(case, Case)] == [{"value": 1}, {"value": 2}, {"value": 3}]
    assert (second.jobs[1].calls, second.jobs[1].batch) == (("f(2)",) * AGAIN, False)


def test_then_every_run_must_agree() -> None:
    second = Recorded(answers(9), again=[*answers(1), *answers(8), *answers(1)])
    (rejection,) = certify(program(""), calls("f(1)"), Recorded(answers(1)), second)
    assert isinstance(rejection, Rejection)
    assert (rejection.reason, rejection.detail) == ("nondeterministic", '{"value":1} | {"value":8}')


def test_a_call_without_an_outcome_is_not_run_again() -> None:
    second = Recorded(answers(1))
    certify(program(""), calls("f(1)"), Recorded([Outcome(status="timeout")]), second)
    assert not second.jobs


def test_other_seeds_are_asked_where_hashing_shows() -> None:
    for source, asked in (("def f(n):\n    return n", 0), ("def f(n):\n    return [*{n}]", 1)):
        third = Recorded(answers(1))
        certify(program(source), calls("f(1)"), Recorded(answers(1)), Recorded(answers(1)), [third])
        assert [(job.batch, job.witness) for job in third.jobs] == [(True, 3)] * asked


def test_a_witness_that_disagrees_is_shown() -> None:
    third = Recorded(answers(2))
    source = "def f(n):\n    return hash(n)"
    (rejection,) = certify(program(source), calls("f(1)"), Recorded(answers(1)), Recorded(answers(1)), [third])
    assert isinstance(rejection, Rejection)
    assert (rejection.reason, rejection.detail) == ("nondeterministic", '{"value":1} | {"value":2}')


LEAKS = (
    "import collections\nkept = collections.__dict__.setdefault('kept', [])\n"
    "def f(n):\n    kept.append(n)\n    return len(kept)\n"
)


def test_state_that_other_calls_would_find_does_not_spoil_a_stable_result(pair: tuple[Sandbox, Sandbox]) -> None:
    """In the batch each call sees those before it; by itself each is 1, which is the truth."""
    found = run(pair, LEAKS, "f(1)", "f(2)", "f(3)")
    assert [case.expected for case in found if isinstance(case, Case)] == [{"value": 1}] * 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (answers(1), answers(2)),
        (answers(1), answers(1.0)),
        (answers(1), answers(True)),
        (answers(10**5000), answers(10**5000 + 1)),
        (answers("x" * 500 + "a"), answers("x" * 500 + "b")),
        (answers({"a": 1, "b": 2}), answers({"b": 2, "a": 1})),
        (answers(1), [Outcome(status="error", plain={"error": {"code": "E"}}, typed={"error": {"code": "E"}})]),
        (answers([1]), [Outcome(status="value", plain={"value": [1]}, typed={"value": {"@odata.type": "#tuple"}})]),
    ],
)
def test_any_difference_is_enough(first: list[Outcome], second: list[Outcome]) -> None:
    (rejection,) = certify(program(""), calls("f()"), Recorded(first), Recorded(second))
    assert isinstance(rejection, Rejection)
    assert rejection.reason == "nondeterministic"
    assert len(rejection.detail) < 400


def test_a_status_of_the_second_run_counts_too() -> None:
    late = Recorded([Outcome(status="timeout", detail="slow")])
    (rejection,) = certify(program(""), calls("f()"), Recorded(answers(1)), late)
    assert rejection == Rejection(
        subject=case_id("p1", "output", None, {"n": 0}), stage="execute", reason="timeout", detail="slow"
    )


def test_unstable_text_is_no_case_though_both_agree() -> None:
    same = Recorded(answers("<A at 0x7f0000000000>", unstable="address: <A at …>"))
    (rejection,) = certify(program(""), calls("f()"), same, same)
    assert isinstance(rejection, Rejection)
    assert rejection.reason == "unstable-text"


def test_case_ids_hash_what_is_asked() -> None:
    base = case_id("p", "output", None, {"a": 1})
    assert base == case_id("p", "output", None, {"a": 1})
    others = {case_id("q", "output", None, {"a": 1}), case_id("p", "line", None, {"a": 1}), case_id("p", "output", {"line": 1}, {"a": 1}), case_id("p", "output", None, {"a": 2})}  # fmt: skip
    assert len(others | {base}) == 5


def test_misuse_is_an_exception() -> None:
    fine = Recorded(answers(1))
    with pytest.raises(ValueError, match="program p2"):
        certify(program(""), [Call(program="p2", arguments={}, call="f()")], fine, fine)
    with pytest.raises(ValueError, match="1 outcomes for 2 calls"):
        certify(program(""), calls("f()", "f()"), fine, fine)
    assert certify(program(""), [], fine, fine) == []
