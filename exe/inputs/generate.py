"""The offline generator: inputs for one program from its types and its own text; the same seed gives the same bytes.

Every input runs with probes at the program's branches, in batches. The budget counts executions: a first pool of three times the
wanted count, then further ones that vary what was new before (a branch, an exception, a shape of output, a path), until three in
a row bring nothing new, or the budget is spent, which is smaller for long programs. No clock is read.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from exe.analysis.text import SourceFault
from exe.errors import InputError
from exe.inputs.aim import aimed
from exe.inputs.decode import ArgumentError, call_text, canonical_key
from exe.inputs.encode import example_arguments
from exe.inputs.mine import Hints, mine
from exe.inputs.schema import Signature, read_schema
from exe.inputs.select import features, novel, select
from exe.inputs.strategies import Maker
from exe.inputs.validators import Trial, final, trial
from exe.records import Call, Job, Json, Outcome, Program, Rejection

FIRST, NEXT = 3, 2  # sizes of the first pool and of all others, in multiples of the wanted count
MOST = 24  # pools
QUIET = 3  # pools in a row that bring nothing new before it ends
LOADED = 20_000_000  # characters of program text that are executed at most, the first two pools apart
KEPT = 60  # inputs that brought something new, from which others are made
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
    except SourceFault as error:
        raise InputError(f"program {program.id}: not Python: {error}") from error
    examples = list(example_arguments(program.entry, signature, hints.examples))
    trials: list[Trial] = []
    known: set[str] = set()
    seen: frozenset[tuple[str, str]] = frozenset()
    fruitful: list[dict[str, Json]] = []
    targets: list[dict[str, Json]] = []
    tried: set[tuple[str | int | float, str | int | float]] = set()
    quiet = 0
    for index in range(MOST):
        size = (NEXT if index else FIRST) * count
        if quiet == QUIET or (index > 1 and (len(known) + size) * len(program.source) > LOADED):
            break
        bases = [*examples[:10], *fruitful[-KEPT:]]
        calls = _keyed(program, signature, targets[:size] if index else examples)
        calls |= draw(program, signature, hints, seed=_mix(seed, program.id, index), size=size, examples=bases)
        fresh = [(key, call) for key, call in calls.items() if key not in known][:size]
        known.update(key for key, _ in fresh)
        pool = _run(program, signature, fresh, execute)
        if isinstance(pool, Rejection):
            return Generated([], [pool])
        found = novel(pool, seen)
        trials += pool
        quiet = 0 if found else quiet + 1
        fruitful += [one.arguments for one in found]
        targets = _targets(pool, found, tried)
        seen |= frozenset(feature for one in found for feature in features(one))
    return _settle(program, trials, count)


def _targets(
    pool: Sequence[Trial], found: Sequence[Trial], tried: set[tuple[str | int | float, str | int | float]]
) -> list[dict[str, Json]]:
    """Inputs that aim at the comparisons of a pool, those of what was new in it first; each comparison once a program."""
    result: list[dict[str, Json]] = []
    for one in (*found, *pool):
        if one.outcome is not None:
            fresh = [pair for pair in one.outcome.compared if pair not in tried]
            aims = list(aimed(one.arguments, fresh))
            if aims:
                tried.update(fresh)
                result += aims
    return result


def draw(
    program: Program,
    signature: Signature,
    hints: Hints,
    *,
    seed: int,
    size: int,
    examples: Sequence[dict[str, Json]] = (),
) -> dict[str, Call]:
    """Draw at most `size` distinct calls by canonical key, nothing executed.

    The same arguments give the same calls in any process; `examples` are mutated now and then.
    """
    found: dict[str, Call] = {}
    for batch in range(BATCHES):
        samples = _samples(signature, hints, examples, _mix(seed, batch), size)
        for key, call in _keyed(program, signature, samples).items():
            found.setdefault(key, call)
        if len(found) >= size:
            break
    return dict(list(found.items())[:size])


def _keyed(program: Program, signature: Signature, inputs: Iterable[dict[str, Json]]) -> dict[str, Call]:
    """Calls of a readable length by canonical key; a positional-only argument after one left out makes none."""
    found: dict[str, Call] = {}
    for arguments in inputs:
        try:
            text = call_text(program.entry, signature, arguments)
            key = canonical_key(signature, arguments)
        except ArgumentError:  # a variant that aims at a comparison may not fit its type
            continue
        if len(text) <= LONGEST:
            found.setdefault(key, Call(program=program.id, arguments=arguments, call=text))
    return found


def _samples(
    signature: Signature, hints: Hints, examples: Sequence[dict[str, Json]], seed: int, size: int
) -> Iterator[dict[str, Json]]:
    """Arguments made from a seeded source of choices: the makers of the strategies without an engine above them."""
    choices = random.Random(seed)
    for _ in range(size):
        yield Maker(lambda bound: int(choices.random() * bound), hints, signature.names).arguments(signature, examples)


def _mix(seed: int, *parts: object) -> int:
    text = json.dumps([seed, *map(str, parts)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _run(
    program: Program, signature: Signature, calls: list[tuple[str, Call]], execute: Execute
) -> list[Trial] | Rejection:
    if not calls:
        return []
    # a batch: what is seen here only guides the choice of inputs, the truth is found by `certify`
    (outcomes,) = execute(
        [Job(source=program.source, calls=tuple(call.call for _, call in calls), batch=True, cover=True)]
    )
    if all(outcome.status == "unloadable" for outcome in outcomes):
        return Rejection(subject=program.id, stage="generate", reason="unloadable", detail=outcomes[0].detail)
    return [trial(signature, key, call, outcome) for (key, call), outcome in zip(calls, outcomes, strict=True)]


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
