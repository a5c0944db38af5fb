"""The loop: ask for inputs, run them, say what is wrong with them, ask again; two attempts of three cycles (paper, A.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from exe.inputs.decode import ArgumentError, call_text
from exe.inputs.explore import Execute
from exe.inputs.generate import Generated
from exe.inputs.model.journal import Ask, Spent
from exe.inputs.model.prompt import answer_schema, question, reply
from exe.inputs.model.reading import proposals_of, said
from exe.inputs.schema import Signature, plain_schema, read_schema
from exe.inputs.select import select
from exe.inputs.validators import Trial, conformity, feedback, final, trial
from exe.records import Call, Completion, Job, Json, Message, Program, Rejection

ATTEMPTS: Final = 2
CYCLES: Final = 3
REPEATED: Final = 60_000
"""Characters of an answer that are sent back as the model's own turn."""
WITHHELD: Final = ("context_overflow", "content_filter")
"""Finish reasons of a question that no further turn can mend."""

__all__ = ["Ask", "propose"]


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

    An attempt ends with the first answer that satisfies all validators; what fits of every answer is kept, and the last
    rules decide among all of it. `earlier` are inputs that are there already. Whatever the model says is a Rejection at worst;
    raises what `ask` raises: a failure of the infrastructure is no property of the function.
    """
    signature = read_schema(program.parameters)
    schema = answer_schema(program.parameters)
    spent = Spent()
    trials: list[Trial] = []
    refusals: list[Rejection] = []
    done = False
    for attempt in range(ATTEMPTS):
        shown = [call.arguments for call in earlier] + [one.arguments for one in trials if one.usable]
        messages = question(program, count, shown, seed + attempt, errors_only=errors_only)
        for _ in range(CYCLES):
            completion = ask(messages, schema, attempt)
            spent.add(completion)
            if completion.finish_reason in WITHHELD:
                refusals.append(_refusal(program, completion))
                break
            proposed, problem = proposals_of(completion)
            batch = _run(program, signature, proposed, execute)
            trials += batch
            problems = [problem] if problem is not None else []
            if proposed or problem is None:  # a list without inputs is one that is too short
                problems += _problems(batch, errors_only=errors_only)
            done = not problems
            if done:
                break
            turn = Message(role="assistant", content=said(completion)[:REPEATED] or "(nothing)")
            messages = (*messages, turn, reply(problems, count))
        if refusals or done or _enough(trials, count, errors_only=errors_only):
            break
    generated = _settle(program, trials, count, model, errors_only=errors_only)
    return Generated(generated.calls, [*refusals, *generated.rejections]), spent


def _refusal(program: Program, completion: Completion) -> Rejection:
    detail = f"the provider gave no answer: {completion.finish_reason}"
    return Rejection(subject=program.id, stage="generate", reason="withheld", detail=detail)


def _run(program: Program, signature: Signature, proposed: Sequence[Json], execute: Execute) -> list[Trial]:
    """Each proposal as a trial, in order; those that conform have been run."""
    plain = plain_schema(dict(program.parameters))
    found: list[Trial] = []
    waiting: list[tuple[int, str, Call]] = []
    for arguments in proposed:
        key, problem = conformity(plain, signature, arguments)
        if key is not None and isinstance(arguments, dict):
            try:
                call = Call(
                    program=program.id, arguments=arguments, call=call_text(program.entry, signature, arguments)
                )
            except ArgumentError as error:
                problem = str(error)
            else:
                waiting.append((len(found), key, call))
        found.append(Trial(arguments=arguments, problem=problem))
    if waiting:
        calls = tuple(call.call for _, _, call in waiting)
        (outcomes,) = execute([Job(source=program.source, calls=calls, batch=True, cover=True)])
        for (at, key, call), outcome in zip(waiting, outcomes, strict=True):
            found[at] = trial(signature, key, call, outcome)
    return found


def _problems(batch: Sequence[Trial], *, errors_only: bool) -> list[str]:
    said = feedback(batch)
    if not errors_only:
        return list(said.values())
    returned = [one for one in batch if one.usable and not one.raises]
    problems = [text for name, text in said.items() if name not in ("errors", "constant", "echo")]
    if returned:
        shown = "\n".join(f"- {one.call.call[:200]}" for one in returned[:5] if one.call is not None)
        problems.append(f"These inputs do not raise:\n{shown}")
    return problems


def _enough(trials: Sequence[Trial], count: int, *, errors_only: bool) -> bool:
    keys = {one.key for one in trials if one.usable and (one.raises or not errors_only)}
    return len(keys) >= count


def _settle(program: Program, trials: Sequence[Trial], count: int, model: str, *, errors_only: bool) -> Generated:
    """The inputs to keep, and by reason what was not."""
    distinct: dict[str, Trial] = {}
    for one in trials:
        if one.key is not None and one.usable and (one.raises or not errors_only):
            distinct.setdefault(one.key, one)
    rejections: list[Rejection] = []
    if errors_only:
        kept = list(distinct.values())[:count]
    else:
        kept, rejections = final(program.id, select(list(distinct.values()), count))
    misfits = [one for one in trials if one.key is None]
    if misfits:
        detail = f"{len(misfits)} proposals, the first: {misfits[0].problem}"
        rejections.insert(0, Rejection(subject=program.id, stage="generate", reason="nonconforming", detail=detail))
    failed = [one for one in trials if one.key is not None and not one.usable]
    if failed and failed[0].outcome is not None:
        detail = f"{len(failed)} proposals, the first: {failed[0].outcome.status}"
        rejections.insert(0, Rejection(subject=program.id, stage="generate", reason="not-run", detail=detail))
    if not kept and not any(one.reason not in ("nonconforming", "not-run") for one in rejections):
        detail = "the model proposed no input that raises" if errors_only else "the model proposed no input that runs"
        rejections.append(Rejection(subject=program.id, stage="generate", reason="no-cases", detail=detail))
    calls = [
        Call(program=program.id, arguments=one.call.arguments, call=one.call.call, generator=model)
        for one in kept
        if one.call is not None
    ]
    return Generated(calls, rejections)
