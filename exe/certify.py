"""Is this ground truth stable? Runs that share nothing by luck must agree before a call becomes a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import assert_never

from exe import hashing
from exe.codec import canonical, content_id
from exe.records import Call, Case, Job, Json, Outcome, Program, Rejection
from exe.values import dumps, integer_digits

Execute = Callable[[Iterable[Job]], Iterator[tuple[Outcome, ...]]]
"""`Sandbox.execute`, or anything that behaves like it."""

KIND = "output"
AGAIN = 3  # runs of a call that a batch did not confirm
WITNESSES = (1, 2)  # the poles of `exe.sandbox.witness`
SEEDS = tuple(range(8))
"""Hash seeds: of `execute_a`, of `execute_b`, and of the others for programs in which hashing shows.

Two seeds order two strings in a set alike half of the time; eight, less than once in a hundred.
"""
_CLIP = 160


def certify(
    program: Program, calls: Sequence[Call], execute_a: Execute, execute_b: Execute, more: Sequence[Execute] = ()
) -> list[Case | Rejection]:
    """One Case or Rejection a call, in the order of the calls.

    `execute_a` runs each call in a process of its own, in order, traced, under the canonical surroundings: its outcome
    is what the case states. `execute_b` must differ in hash seed and surroundings (`Sandbox(hash_seed=…)`) and runs the
    calls in reversed order, as one batch: to agree there, a result must not depend on what other calls leave behind
    either. Then it is the witness, twice: a batch under conditions that differ in all that `exe.sandbox.witness` changes.
    Where hashing shows in the program or a call (`exe.hashing`), each of `more`, of other hash seeds, is one more witness.

    A disagreement of a batch alone proves nothing, so such a call is run again in the same way, AGAIN times in processes
    of their own, and every one of them must agree: with fewer a result that is random among two would have better chances
    to pass than by a single second run.

    A call whose outcomes differ in value, typed value, exception class or message is `nondeterministic`, both shown; one
    whose result holds text that cannot be stable (an address, a temporary path) is `unstable-text`, even if the runs
    agree. A call that in any run has no outcome to ask about is rejected at stage `execute` with that status as the
    reason. The subject is the case's id.

    Raises ValueError for a call of another program, or when an executor does not answer every call.
    """
    strangers = [call.program for call in calls if call.program != program.id]
    if strangers:
        raise ValueError(f"a call of program {strangers[0]} cannot be certified with program {program.id}")
    if not calls:
        return []
    expressions = tuple(call.call for call in calls)
    first = _run(execute_a, Job(source=program.source, calls=expressions, trace=True))
    second = list(first)
    views = [(execute_b, 0), *((execute_b, number) for number in WITNESSES)]
    if more and any(hashing.shows(text) for text in (program.source, *expressions)):
        views += [(execute, number) for number, execute in enumerate(more, WITNESSES[-1] + 1)]
    with integer_digits():
        for turn, (execute, number) in enumerate(views):
            open_ = [at for at, (a, b) in enumerate(zip(first, second, strict=True)) if agree(a, b)]
            for at, outcome in _seen(execute, program.source, expressions, _order(open_, turn), first, number):
                second[at] = outcome
        return [_judge(program, call, a, b) for call, a, b in zip(calls, first, second, strict=True)]


def _order(places: Sequence[int], turn: int) -> list[int]:
    """The order of a batch: reversed, then as it is, then turned round by one call more each time."""
    by = turn // 2 % len(places) if places else 0
    turned = [*places[by:], *places[:by]]
    return turned if turn % 2 else turned[::-1]


def _seen(
    execute: Execute, source: str, expressions: Sequence[str], places: list[int], first: Sequence[Outcome], witness: int
) -> Iterator[tuple[int, Outcome]]:
    """What one batch, and runs by itself of what it does not confirm, give for the calls at these places."""
    if not places:
        return
    calls = tuple(expressions[at] for at in places)
    found = dict(zip(places, _run(execute, Job(source=source, calls=calls, batch=True, witness=witness)), strict=True))
    doubtful = [at for at in places if not agree(first[at], found[at])]
    if doubtful:
        repeated = tuple(expressions[at] for at in doubtful for _ in range(AGAIN))
        again = iter(_run(execute, Job(source=source, calls=repeated, witness=witness)))
        for at in doubtful:
            runs = [next(again) for _ in range(AGAIN)]
            found[at] = next((run for run in runs if not agree(first[at], run)), runs[0])
    yield from found.items()


def case_id(program: str, kind: str, question: Json, arguments: dict[str, Json]) -> str:
    """The id of a case: a content hash of what is asked, not of the answer."""
    return content_id({"program": program, "kind": kind, "question": question, "arguments": arguments})


def _run(execute: Execute, job: Job) -> tuple[Outcome, ...]:
    outcomes = next(iter(execute([job])), ())
    if len(outcomes) != len(job.calls):
        raise ValueError(f"{len(outcomes)} outcomes for {len(job.calls)} calls")
    return outcomes


def _judge(program: Program, call: Call, first: Outcome, second: Outcome) -> Case | Rejection:
    """The case that two outcomes allow, or why they allow none."""
    identity = case_id(program.id, KIND, None, call.arguments)
    for outcome in (first, second):
        match outcome.status:
            case "value" | "error":
                continue
            case (
                "timeout" | "memory" | "crashed" | "overflow" | "unrepresentable" | "impure" | "unloadable" | "forged"
            ) as status:
                return Rejection(subject=identity, stage="execute", reason=status, detail=_clip(outcome.detail))
            case _:
                assert_never(outcome.status)
    if first.plain is None or first.typed is None:
        raise ValueError(f"an outcome of status {first.status} without its value")
    unstable = first.unstable or second.unstable
    if unstable is not None:
        detail = f"{_clip(unstable)}: {shown(first)} | {shown(second)}"
        return Rejection(subject=identity, stage="certify", reason="unstable-text", detail=detail)
    if _text(first) != _text(second):
        detail = f"{shown(first)} | {shown(second)}"
        return Rejection(subject=identity, stage="certify", reason="nondeterministic", detail=detail)
    runtime: dict[str, int | float] = dict(first.runtime)
    return Case(
        id=identity,
        program=call.program,
        kind=KIND,
        arguments=call.arguments,
        call=call.call,
        expected=first.plain,
        typed=first.typed,
        runtime=runtime,
        generator=call.generator,
    )


def _asked(outcome: Outcome) -> bool:
    """Whether an outcome is one to ask about."""
    return outcome.plain is not None and outcome.typed is not None


def agree(first: Outcome, second: Outcome) -> bool:
    """Whether two outcomes are ones to ask about, and the same in all that counts."""
    return _asked(first) and _asked(second) and _text(first) == _text(second)


def _text(outcome: Outcome) -> tuple[str, str, str]:
    """All that must agree. The typed form counts as it is written, since the order of a dict is part of a value."""
    return outcome.status, canonical(outcome.plain), dumps(outcome.typed)


def stated(case: Case) -> Outcome:
    """What a case states, as an outcome."""
    return Outcome(status="error" if "error" in case.expected else "value", plain=case.expected, typed=case.typed)


def shown(outcome: Outcome) -> str:
    """An outcome for people, in a bounded length."""
    return _clip(canonical(outcome.plain) if outcome.plain is not None else f"{outcome.status}: {outcome.detail}")


def _clip(text: str) -> str:
    return text if len(text) <= _CLIP else text[: _CLIP - 1] + "…"
