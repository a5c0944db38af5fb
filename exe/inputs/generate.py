"""The offline generator: inputs for one program from its types and its own text; the same seed gives the same bytes.

The budget counts executions: a first pool (`explore`) of three times the wanted count, then further ones until several in a row bring
nothing new, calls do not end, or the budget is spent, which is smaller for long programs. No clock is read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from exe.inputs.explore import ENDING, Execute, Pool, explore, run
from exe.inputs.schema import read_schema
from exe.inputs.select import select
from exe.inputs.validators import Trial, final
from exe.records import Call, Program, Rejection

FIRST, NEXT = 3, 2  # sizes of the first pool and of all others, in multiples of the wanted count
MOST = 24  # pools
ALONE = 6  # multiples of the wanted count that are run alone where a program remembers earlier calls
QUIET = 4  # pools in a row that bring nothing new before it ends; twice as many while few values were returned
STALE = 8  # pools in a row that bring nothing but new paths; the same
LOADED = 6_000_000  # characters of program text that are loaded at most, the first two pools apart
FORK = 20_000  # characters that a process of its own counts for


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
    trials: list[Trial] = []
    patience = _Patience(enough=count // 2)
    for index, pool in enumerate(explore(program, seed=seed, sizes=sizes, execute=execute)):
        trials += pool.trials
        if trials and all(one.outcome is not None and one.outcome.status == "unloadable" for one in trials):
            detail = trials[0].outcome.detail if trials[0].outcome is not None else ""
            return Generated([], [Rejection(subject=program.id, stage="generate", reason="unloadable", detail=detail)])
        loads = index + 1 + sum(one.outcome is None or one.outcome.status in ENDING for one in trials)
        if patience.ends(pool) or (index > 0 and loads * (len(program.source) + FORK) > LOADED):
            break
    return _settle(program, trials, count, execute)


@dataclass(slots=True)
class _Patience:
    """Counts pools that brought nothing; while no more than `enough` different values were returned, a further one is something."""

    enough: int
    quiet: int = 0
    stale: int = 0
    returned: set[str] = field(default_factory=set)

    def ends(self, pool: Pool) -> bool:
        """Whether there were too many of them in a row, this pool being the last."""
        values = {one.output for one in pool.trials if one.usable and not one.raises}
        few = len(self.returned) <= self.enough
        wanted = few and not values <= self.returned
        self.returned |= values
        self.quiet = 0 if pool.novel or wanted else self.quiet + 1
        self.stale = 0 if pool.further or wanted else self.stale + 1
        longer = 2 if few else 1
        return self.quiet >= QUIET * longer or self.stale >= STALE * longer


def _settle(program: Program, trials: list[Trial], count: int, execute: Execute) -> Generated:
    """Select, then apply the final rules; what did not run to an outcome is told by status."""
    statuses = Counter(one.outcome.status for one in trials if one.outcome is not None and not one.usable)
    details = {one.outcome.status: one.outcome.detail for one in reversed(trials) if one.outcome is not None}
    alike = len(statuses) == 1 and statuses.total() == len(trials)
    rejections = [
        Rejection(
            subject=program.id,
            stage="generate",
            reason=status,
            detail=f"{'all of ' if alike else ''}{number} inputs, the first: {details[status]}",
        )
        for status, number in sorted(statuses.items())
    ]
    if alike:  # whatever it is given, it comes to that
        return Generated([], rejections)
    chosen, ran = _confirmed(program, [one for one in trials if one.usable], count, execute)
    kept, dropped = final(program.id, chosen)
    if not kept:  # then the reason is told of all that ran
        kept, dropped = final(program.id, ran)
        if len(kept) > count:
            kept, dropped = final(program.id, kept[:count])
    return Generated([one.call for one in kept if one.call is not None], [*rejections, *dropped])


def _confirmed(program: Program, trials: list[Trial], count: int, execute: Execute) -> tuple[list[Trial], list[Trial]]:
    """The selected trials as they run alone, and all that are known to be usable.

    Pools run with what earlier calls left behind in the program. Where that shows in one that is selected, further ones
    are run alone as well, and the selection is made of these.
    """
    signature = read_schema(program.parameters)

    def alone(asked: list[Trial]) -> list[Trial]:
        ran = run(
            program, signature, [(one.key, one.call) for one in asked if one.key and one.call], execute, alone=True
        )
        return [one for one in ran if one.usable]

    chosen = select(trials, count)
    known = alone(chosen)
    if [(one.key, one.output) for one in known] == [(one.key, one.output) for one in chosen]:
        return known, trials
    keys = {one.key for one in chosen}
    known += alone([one for one in trials if one.key not in keys][: ALONE * count])
    return select(known, count), known
