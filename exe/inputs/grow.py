"""How many novel cases a program gives: inputs without end, told by what each brings; what is finite ends by itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from exe.inputs.explore import Execute, explore
from exe.records import Call, Program

POOL = 100  # inputs
SETTLED = 50  # pools in a row that bring nothing novel: what the program can do has been seen
DRY = 3  # pools in a row without an input that was not there before: there are no more


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A moment of it. All counts are of distinct inputs, from the beginning on.

    `valid` ran to a value or an exception; `novel` of those had an outcome, or took a path through the branches, that none before
    had: a longer text that does the same is none. `fresh` are the novel ones of this step.
    """

    executions: int
    valid: int
    novel: int
    outputs: int
    paths: int
    exhausted: bool
    settled: bool
    fresh: tuple[Call, ...]


def grow(program: Program, *, seed: int, wanted: int, execute: Execute) -> Iterator[Growth]:
    """Steps of POOL inputs until `wanted` are novel, there are no further inputs (`exhausted`), or SETTLED steps brought nothing new (`settled`)."""
    executions = valid = novel = dry = barren = 0
    outputs: set[str] = set()
    paths: set[tuple[int, ...]] = set()
    for pool in explore(program, seed=seed, sizes=itertools.repeat(POOL), execute=execute):
        executions += len(pool.trials)
        dry = 0 if pool.trials else dry + 1
        fresh: list[Call] = []
        for one in pool.trials:
            if one.usable and one.outcome is not None and one.call is not None:
                valid += 1
                if one.output not in outputs or one.outcome.branches not in paths:
                    fresh.append(one.call)
                outputs.add(one.output)
                paths.add(one.outcome.branches)
        novel += len(fresh)
        barren = 0 if fresh else barren + 1
        yield Growth(
            executions=executions,
            valid=valid,
            novel=novel,
            outputs=len(outputs),
            paths=len(paths),
            exhausted=dry == DRY,
            settled=barren == SETTLED,
            fresh=tuple(fresh),
        )
        if novel >= wanted or dry == DRY or barren == SETTLED:
            return
