"""Pools of inputs for one program without end, each guided by what the ones before it showed; the same seed gives the same.

Every input runs with probes at the program's branches, in batches. A pool is made of variants that aim at comparisons which earlier
runs made (`aim`), of inputs that brought something new before (a branch, an exception, a shape of output, a path) varied, and of fresh ones.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from exe.analysis.text import SourceFault
from exe.errors import InputError
from exe.inputs.aim import Pair, aimed
from exe.inputs.decode import ArgumentError, call_and_key
from exe.inputs.encode import example_arguments
from exe.inputs.mine import Hints, mine
from exe.inputs.schema import Signature, read_schema
from exe.inputs.select import features, novel
from exe.inputs.strategies import Maker
from exe.inputs.validators import Trial, trial
from exe.inputs.vary import LATEST
from exe.records import Call, Job, Json, Outcome, Program

BATCHES = 4  # draws of a pool's size before its shortfall is taken as the domain's end
LONGEST = 4_000  # characters of a call: nobody reads a longer one
FURTHER = ("branch", "error", "shape")  # features that are more than another path
ENDING = ("impure", "memory", "crashed", "overflow", "timeout")  # outcomes after which a program is loaded anew
LOOK = 18  # first inputs: where all of them end so, all others are taken to
SLOW = 3  # first inputs: where all of them take too long, all others are taken to
SLOWEST = 8  # inputs that took too long, after which there are no further ones
STEPS = (
    400_000  # branches that an input may come to while it only guides: a count, so that the same seed gives the same
)
SECONDS = 0.3  # of CPU time that it may take; stands behind the count, for what takes long without branching
LOADING = 1e-6  # seconds more for each character of the program, which a call may have to load
KEPT = 60  # inputs that brought something new, from which others are made

Execute = Callable[[Iterable[Job]], Iterator[tuple[Outcome, ...]]]


@dataclass(frozen=True, slots=True)
class Pool:
    """Inputs that no pool before it had, as they ran, and those of them that showed something new, simple ones first."""

    trials: list[Trial]
    novel: list[Trial]
    further: bool  # whether any of these showed more than a new path through branches that were known


def explore(program: Program, *, seed: int, sizes: Iterable[int], execute: Execute) -> Iterator[Pool]:
    """A pool of at most each of these sizes; fewer or no trials where the types have no further values.

    `execute` runs jobs and yields their outcomes in order. Raises InputError where the program's schema or source is
    not one of ours.
    """
    signature = read_schema(program.parameters)
    try:
        hints = mine(program.source, program.entry)
    except SourceFault as error:
        raise InputError(f"program {program.id}: not Python: {error}") from error
    examples = list(example_arguments(program.entry, signature, hints.examples))
    known: set[str] = set()
    seen: frozenset[tuple[str, str]] = frozenset()
    fruitful: list[dict[str, Json]] = []
    returning: list[dict[str, Json]] = []
    targets = examples
    tried: set[Pair] = set()
    ran = slow = 0
    hopeless = False
    for index, size in enumerate(sizes):
        bases = [*examples[:10], *fruitful[-KEPT:], *_scarce(returning, ran)]
        calls = _keyed(program, signature, targets[: size if index else None])
        calls |= draw(program, signature, hints, seed=_mix(seed, program.id, index), size=size, examples=bases)
        fresh = [(key, call) for key, call in calls.items() if key not in known][:size]
        known.update(key for key, _ in fresh)
        trials: list[Trial] = []
        while len(trials) < len(fresh) and not hopeless:
            at = len(trials)
            trials += run(program, signature, fresh[at:][: _step(ran + at, slow)], execute)
            slow += sum(_status(one) == "timeout" for one in trials[at:])
            ended = not index and len(trials) >= LOOK and all(_status(one) in ENDING for one in trials)
            hopeless = slow >= SLOWEST or slow == len(trials) + ran or ended
        ran += len(trials)
        found = novel(trials, seen)
        fruitful += [one.arguments for one in found]
        returning += [one.arguments for one in trials if one.usable and not one.raises]
        targets = _targets(trials, found, tried)
        shown = frozenset(feature for one in found for feature in features(one))
        further = any(kind in FURTHER for kind, _ in shown - seen)
        seen |= shown
        yield Pool(trials, found, further)
        if hopeless:
            return


def _step(ran: int, slow: int) -> int:
    """How many inputs to run before the next look: more and more, but few while many of them take too long."""
    return max(SLOWEST - slow, ran // (2 * slow)) if slow else ran + SLOW


def _scarce(returning: Sequence[dict[str, Json]], ran: int) -> list[dict[str, Json]]:
    """The latest inputs that returned a value, to be preferred where few did."""
    latest = returning[-LATEST:] if len(returning) * 4 < ran else []
    return list(itertools.islice(itertools.cycle(latest), LATEST))


def _status(one: Trial) -> str:
    return one.outcome.status if one.outcome is not None else ""


def _targets(pool: Sequence[Trial], found: Sequence[Trial], tried: set[Pair]) -> list[dict[str, Json]]:
    """Inputs that aim at the comparisons of a pool, those of what was new in it first; each comparison once a program.

    Where an empty text was met all depends on what else there is, so what was new may aim at it again.
    """
    result: list[dict[str, Json]] = []
    for at, one in enumerate((*found, *pool)):
        if one.outcome is not None:
            again = at < len(found)
            fresh = [pair for pair in one.outcome.compared if pair not in tried or (again and pair[0] == "")]
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
            text, key = call_and_key(program.entry, signature, arguments)
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


def run(
    program: Program, signature: Signature, calls: list[tuple[str, Call]], execute: Execute, *, alone: bool = False
) -> list[Trial]:
    """The calls, by canonical key, with their outcomes and branches; `alone` each in a process of its own.

    In a batch the outcomes only guide the choice of inputs: the truth is found by `certify`.
    """
    if not calls:
        return []
    texts = tuple(call.call for _, call in calls)
    job = Job(source=program.source, calls=texts, cover=True)
    seconds = SECONDS + LOADING * len(program.source)
    (outcomes,) = execute([job if alone else replace(job, batch=True, steps=STEPS, cpu_seconds=seconds)])
    return [trial(signature, key, call, outcome) for (key, call), outcome in zip(calls, outcomes, strict=True)]
