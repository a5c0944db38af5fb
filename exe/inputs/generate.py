"""The offline generator: inputs for one program from its types and its own text; the same seed gives the same bytes.

The budget counts executions: a first pool (`explore`) of three times the wanted count, then further ones until three in a row bring
nothing new, or the budget is spent, which is smaller for long programs. No clock is read.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from exe.inputs.explore import Execute, explore
from exe.inputs.select import select
from exe.inputs.validators import Trial, final
from exe.records import Call, Program, Rejection

FIRST, NEXT = 3, 2  # sizes of the first pool and of all others, in multiples of the wanted count
MOST = 24  # pools
STALLED = 3  # calls that do not end: what comes near them costs as much again
QUIET = 3  # pools in a row that bring nothing new before it ends
LOADED = 20_000_000  # characters of program text that are executed at most, the first two pools apart


class Generated(NamedTuple):
    """The calls kept, and what was dropped on the way, by reason. Without calls the last rejection says why."""

    calls: list[Call]
    rejections: list[Rejection]


def generate(program: Program, *, seed: int, count: int, execute: Execute) -> Generated:
    """At most `count` inputs for a program that satisfy the seven validators as far as they can be made to.

    `execute` runs jobs and yields their outcomes in order. Raises InputError where the program's schema or source is
    not one of ours; whatever the program does is a Rejection.
    """
    sizes = [FIRST * count, *[NEXT * count] * (MOST - 1)]
    affordable = LOADED // max(len(program.source), 1)
    trials: list[Trial] = []
    quiet = 0
    for index, pool in enumerate(explore(program, seed=seed, sizes=sizes, execute=execute)):
        trials += pool.trials
        if trials and all(one.outcome is not None and one.outcome.status == "unloadable" for one in trials):
            detail = trials[0].outcome.detail if trials[0].outcome is not None else ""
            return Generated([], [Rejection(subject=program.id, stage="generate", reason="unloadable", detail=detail)])
        quiet = 0 if pool.novel else quiet + 1
        if sum(one.outcome is not None and one.outcome.status == "timeout" for one in trials) >= STALLED:
            break
        if quiet == QUIET or (index > 0 and len(trials) + NEXT * count > affordable):
            break
    return _settle(program, trials, count)


def _settle(program: Program, trials: list[Trial], count: int) -> Generated:
    """Select, then apply the final rules; what did not run to an outcome is told by status."""
    statuses = Counter(one.outcome.status for one in trials if one.outcome is not None and not one.usable)
    details = {one.outcome.status: one.outcome.detail for one in reversed(trials) if one.outcome is not None}
    rejections = [
        Rejection(
            subject=program.id, stage="generate", reason=status, detail=f"{number} inputs, the first: {details[status]}"
        )
        for status, number in sorted(statuses.items())
    ]
    ran = [one for one in trials if one.usable]
    kept, dropped = final(program.id, select(ran, count))
    if not kept:  # then the reason is told of all that ran
        kept, dropped = final(program.id, ran)
        if len(kept) > count:
            kept, dropped = final(program.id, kept[:count])
    return Generated([one.call for one in kept if one.call is not None], [*rejections, *dropped])
