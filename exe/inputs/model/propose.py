"""The loop: ask for inputs, run them, say what is wrong with them, ask again; two attempts of three cycles (paper, A.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from exe.inputs.decode import ArgumentError, call_text, canonical_key
from exe.inputs.explore import Execute
from exe.inputs.generate import Generated
from exe.inputs.model.journal import Ask, Question, Spent
from exe.inputs.model.prompt import BATCH, answer_schema, opening, reply
from exe.inputs.model.reading import proposals_of, said
from exe.inputs.schema import Signature, plain_schema, read_schema
from exe.inputs.select import select
from exe.inputs.validators import MIN_CASES, Trial, conformity, feedback, final, trial
from exe.records import Call, Completion, Job, Json, Message, Program, Rejection

ATTEMPTS: Final = 2
CYCLES: Final = 3
REPEATED: Final = 60_000
"""Characters of an answer that are sent back as the model's own turn."""
UNREAD: Final = "reading"
RETURNS: Final = "returns"
"""What answers are told besides the seven validators: that they could not be read whole, that inputs do not raise where all should."""
WITHHELD: Final = ("context_overflow", "content_filter")
"""Finish reasons of a question that no further turn can mend."""

__all__ = ["Ask", "propose"]


@dataclass(frozen=True, slots=True)
class _Task:
    """What all conversations about one program share."""

    program: Program
    signature: Signature
    execute: Execute
    ask: Ask
    errors_only: bool


@dataclass(frozen=True, slots=True)
class _Talk:
    """What one conversation gave; `done` where its last answer satisfied all validators."""

    trials: list[Trial]
    done: bool = False
    refusal: Rejection | None = None


def propose(
    program: Program,
    *,
    seed: int,
    count: int,
    execute: Execute,
    ask: Ask,
    model: str,
    earlier: Sequence[Call] = (),
    errors_only: bool = False,
) -> tuple[Generated, Spent]:
    """At most `count` inputs that the model `model` proposes for a program, and what asking took.

    Asked are batches: as many as give `count` inputs where each brings the fewest that the validators accept, none after
    one that brings nothing new. A batch is one attempt or two; an attempt ends with the first answer that satisfies all
    validators. What fits of every answer is kept, and the last rules decide among all of it. `earlier` are inputs that are there
    already: none of them counts as proposed. Whatever the model says is a Rejection at worst; raises what `ask` raises: a
    failure of the infrastructure is no property of the function.
    """
    task = _Task(program, read_schema(program.parameters), execute, ask, errors_only)
    known: dict[str, Mapping[str, Json]] = {
        canonical_key(task.signature, call.arguments): call.arguments for call in earlier
    }
    spent = Spent()
    trials: list[Trial] = []
    refusals: list[Rejection] = []
    for batch in range(max(-(-count // BATCH), count // MIN_CASES)):
        before = len(_fitting(trials, errors_only=errors_only))
        wanted = min(before + BATCH, count)
        for attempt in range(ATTEMPTS * batch, ATTEMPTS * (batch + 1)):
            talk = _talk(task, known, seed, attempt, spent)
            trials += talk.trials
            refusals += [talk.refusal] if talk.refusal is not None else []
            known |= {one.key: one.arguments for one in talk.trials if one.key is not None and one.usable}
            there = len(_fitting(trials, errors_only=errors_only))
            if talk.done or refusals or there >= wanted:
                break
        if refusals or there >= count or there == before:
            break
    generated = _settle(program, trials, count, model, errors_only=errors_only)
    return Generated(generated.calls, [*refusals, *generated.rejections]), spent


def _talk(task: _Task, known: Mapping[str, Mapping[str, Json]], seed: int, attempt: int, spent: Spent) -> _Talk:
    """One conversation of at most CYCLES questions; `known` are the inputs that are there already, by canonical key."""
    program = task.program
    schema = answer_schema(program.parameters)
    messages = opening(program, list(known.values()), seed + attempt, errors_only=task.errors_only)
    trials: list[Trial] = []
    problems: dict[str, str] = {}
    for cycle in range(CYCLES):
        question = Question(
            program=program, attempt=attempt, cycle=cycle, told=tuple(problems), messages=messages, schema=schema
        )
        completion = task.ask(question)
        spent.add(completion)
        if completion.finish_reason in WITHHELD:
            return _Talk(trials, refusal=_refusal(program, completion))
        proposed, problem = proposals_of(completion)
        batch = _run(task, proposed, known)
        trials += batch
        problems = {UNREAD: problem} if problem is not None else {}
        if proposed or problem is None:  # a list without inputs is one that is too short
            problems |= _problems(batch, errors_only=task.errors_only)
        if not problems:
            return _Talk(trials, done=True)
        turn = Message(role="assistant", content=said(completion)[:REPEATED] or "(nothing)")
        messages = (*messages, turn, reply(list(problems.values())))
    return _Talk(trials)


def _refusal(program: Program, completion: Completion) -> Rejection:
    detail = f"the provider gave no answer: {completion.finish_reason}"
    return Rejection(subject=program.id, stage="generate", reason="withheld", detail=detail)


def _run(task: _Task, proposed: Sequence[Json], known: Mapping[str, Mapping[str, Json]]) -> list[Trial]:
    """Each proposal as a trial, in order; those that conform and are new have been run."""
    plain = plain_schema(dict(task.program.parameters))
    found: list[Trial] = []
    waiting: list[tuple[int, str, Call]] = []
    for arguments in proposed:
        key, problem = conformity(plain, task.signature, arguments)
        if key in known:
            found.append(Trial(arguments=arguments, key=key, known=True))
            continue
        if key is not None and isinstance(arguments, dict):
            try:
                text = call_text(task.program.entry, task.signature, arguments)
            except ArgumentError as error:
                problem = str(error)
            else:
                waiting.append((len(found), key, Call(program=task.program.id, arguments=arguments, call=text)))
        found.append(Trial(arguments=arguments, problem=problem))
    if waiting:
        calls = tuple(call.call for _, _, call in waiting)
        (outcomes,) = task.execute([Job(source=task.program.source, calls=calls, batch=True, cover=True)])
        for (at, key, call), outcome in zip(waiting, outcomes, strict=True):
            found[at] = trial(task.signature, key, call, outcome)
    return found


def _problems(batch: Sequence[Trial], *, errors_only: bool) -> dict[str, str]:
    """What is wrong with a batch: words by the name of the rule that has them."""
    found = feedback(batch)
    if not errors_only:
        return found
    found = {name: text for name, text in found.items() if name not in ("errors", "constant", "echo")}
    if returned := [one.call for one in batch if one.usable and not one.raises and one.call is not None]:
        shown = "\n".join(f"- {call.call[:200]}" for call in returned[:5])
        found[RETURNS] = f"These inputs do not raise:\n{shown}"
    return found


def _fitting(trials: Sequence[Trial], *, errors_only: bool) -> list[Trial]:
    """The trials that may become cases, each input once."""
    distinct: dict[str, Trial] = {}
    for one in trials:
        if one.key is not None and one.usable and (one.raises or not errors_only):
            distinct.setdefault(one.key, one)
    return list(distinct.values())


def _settle(program: Program, trials: Sequence[Trial], count: int, model: str, *, errors_only: bool) -> Generated:
    """The inputs to keep, and by reason what was not."""
    fitting = _fitting(trials, errors_only=errors_only)
    rejections: list[Rejection] = []
    if errors_only:
        kept = fitting[:count]
    else:
        kept, rejections = final(program.id, select(fitting, count))
    if repeated := sum(one.known for one in trials):
        detail = f"{repeated} proposals that were there already"
        rejections.insert(0, Rejection(subject=program.id, stage="generate", reason="duplicate", detail=detail))
    misfits = [one for one in trials if one.key is None]
    if misfits:
        detail = f"{len(misfits)} proposals, the first: {misfits[0].problem}"
        rejections.insert(0, Rejection(subject=program.id, stage="generate", reason="nonconforming", detail=detail))
    failed = [one for one in trials if one.outcome is not None and not one.usable]
    if failed and failed[0].outcome is not None:
        detail = f"{len(failed)} proposals, the first: {failed[0].outcome.status}"
        rejections.insert(0, Rejection(subject=program.id, stage="generate", reason="not-run", detail=detail))
    if not kept and not any(one.reason not in ("nonconforming", "not-run", "duplicate") for one in rejections):
        detail = "the model proposed no input that raises" if errors_only else "the model proposed no input that runs"
        rejections.append(Rejection(subject=program.id, stage="generate", reason="no-cases", detail=detail))
    calls = [
        Call(program=program.id, arguments=one.call.arguments, call=one.call.call, generator=model)
        for one in kept
        if one.call is not None
    ]
    return Generated(calls, rejections)
