"""The offline generator: inputs for one program from its types and its own text; the same seed gives the same bytes.

The budget counts executions: a first pool of three times the wanted count, then two more of once the count, each
mutating what was novel before, and stopping where a pool brings nothing new. No clock is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from exe.errors import InputError
from exe.inputs.decode import ArgumentError, call_text, canonical_key
from exe.inputs.encode import example_arguments
from exe.inputs.mine import Hints, mine
from exe.inputs.schema import Signature, read_schema
from exe.inputs.select import features, novel, select
from exe.inputs.strategies import arguments_strategy
from exe.inputs.validators import Trial, final, trial
from exe.records import Call, Job, Json, Outcome, Program, Rejection

POOLS = (3, 1, 1)  # sizes of the pools, in multiples of the wanted count
BATCHES = 4  # draws of a pool's size before its shortfall is taken as the domain's end
LONGEST = 4_000  # characters of a call: nobody reads a longer one

Execute = Callable[[Iterable[Job]], Iterator[tuple[Outcome, ...]]]


class Generated(NamedTuple):
    """The calls kept, and what was dropped on the way, by reason. Without calls the last rejection says why."""

    calls: list[Call]
    rejections: list[Rejection]


def generate(program: Program, *, seed: int, count: int, execute: Execute) -> Generated:
    """At most `count` inputs for a program that satisfy the seven validators as far as they can be made to.

    `execute` runs jobs and yields their outcomes in order. Raises InputError where the program's schema or source is
    not one of ours; whatever the program does is a Rejection.
    """
    signature = read_schema(program.parameters)
    try:
        hints = mine(program.source, program.entry)
    except SyntaxError as error:
        raise InputError(f"program {program.id}: not Python: {error}") from error
    examples = list(example_arguments(program.entry, signature, hints.examples))
    trials: list[Trial] = []
    keys: set[str] = set()
    seen: frozenset[tuple[str, str]] = frozenset()
    for index, factor in enumerate(POOLS):
        known = examples if index == 0 else []
        calls = draw(
            program, signature, hints, seed=_mix(seed, program.id, index), size=factor * count, examples=examples
        )
        fresh = _unseen(signature, [*_as_calls(program, signature, known), *calls], keys)[: factor * count]
        pool = _run(program, signature, fresh, execute)
        if isinstance(pool, Rejection):
            return Generated([], [pool])
        found = novel(pool, seen)
        trials += pool
        if not found:
            break
        examples = [*examples[:10], *(one.arguments for one in found[:20])]
        seen |= frozenset(feature for one in found for feature in features(one))
    return _settle(program, trials, count)


def draw(
    program: Program,
    signature: Signature,
    hints: Hints,
    *,
    seed: int,
    size: int,
    examples: Sequence[dict[str, Json]] = (),
) -> list[Call]:
    """Draw at most `size` distinct calls, nothing executed. The same arguments give the same calls in any process."""
    found: dict[str, Call] = {}
    for batch in range(BATCHES):
        for arguments in _samples(signature, hints, examples, _mix(seed, "batch", batch), size):
            for call in _as_calls(program, signature, [arguments]):
                found.setdefault(canonical_key(signature, call.arguments), call)
        if len(found) >= size:
            break
    return list(found.values())[:size]


def _as_calls(program: Program, signature: Signature, arguments: Iterable[dict[str, Json]]) -> Iterator[Call]:
    """Calls of a readable length; a parameter left out where a later positional one is given makes none."""
    for one in arguments:
        try:
            text = call_text(program.entry, signature, one)
        except ArgumentError as error:
            if "cannot be left out" not in str(error):
                raise
            continue
        if len(text) <= LONGEST:
            yield Call(program=program.id, arguments=one, call=text)


def _unseen(signature: Signature, calls: Iterable[Call], keys: set[str]) -> list[Call]:
    fresh = []
    for call in calls:
        key = canonical_key(signature, call.arguments)
        if key not in keys:
            keys.add(key)
            fresh.append(call)
    return fresh


def _samples(
    signature: Signature, hints: Hints, examples: Sequence[dict[str, Json]], seed: int, size: int
) -> list[dict[str, Json]]:
    _set_storage()
    import hypothesis

    samples: list[dict[str, Json]] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=size,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(arguments_strategy(signature, hints, examples))
    def collect(arguments: dict[str, Json]) -> None:
        samples.append(arguments)

    collect()
    return samples


def _set_storage() -> None:
    """Keep Hypothesis, on its first import, from writing its folder into the current directory."""
    if "hypothesis" not in sys.modules and "HYPOTHESIS_STORAGE_DIRECTORY" not in os.environ:
        from hypothesis.configuration import set_hypothesis_home_dir
        from platformdirs import user_cache_path

        set_hypothesis_home_dir(user_cache_path("execution-eval") / "hypothesis")


def _mix(seed: int, *parts: object) -> int:
    text = json.dumps([seed, *map(str, parts)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _run(program: Program, signature: Signature, calls: list[Call], execute: Execute) -> list[Trial] | Rejection:
    if not calls:
        return []
    (outcomes,) = execute([Job(source=program.source, calls=tuple(call.call for call in calls))])
    if all(outcome.status == "unloadable" for outcome in outcomes):
        return Rejection(subject=program.id, stage="generate", reason="unloadable", detail=outcomes[0].detail)
    return [trial(signature, call, outcome) for call, outcome in zip(calls, outcomes, strict=True)]


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
