"""Generators of inputs compared on the same functions: how many cases, how different, what they reach, what they cost.

A function counts where every set tried to make inputs for it: its program is in the set, or a Rejection of stage `generate` or later
says why not. A generator without a case there has zero of them, it does not leave the comparison.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from exe import codec
from exe.inputs.mine import find_entry
from exe.inputs.model import Spent
from exe.inputs.model.journal import spent
from exe.records import Case, Job, Outcome, Rejection
from exe.sandbox.branches import Site, sites
from exe.taskset import COMPLETIONS, TaskSet

Execute = Callable[[Iterable[Job]], Iterator[tuple[Outcome, ...]]]
TRIED = ("generate", "execute", "certify")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What one generator gave in one set for the functions compared. Unknown is None.

    `outcomes` are distinct results a function, summed; `own` are those that no other generator has. `raising` is the share of
    cases that raise, `branches` the mean over functions of the share of the entry's own branches that its cases take, where it
    has any. `spent` is for all that was asked about these functions; None where no model was asked.
    """

    set: str
    generator: str
    functions: int
    with_cases: int
    cases: int
    median_cases: float
    outcomes: int
    own: int
    raising: float | None
    branches: float | None
    spent: Spent | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All generators of all sets, and how many functions were left out since a set never tried them."""

    rows: tuple[Quality, ...]
    functions: int
    left_out: int


def compare(sets: Sequence[TaskSet], execute: Execute | None = None) -> Comparison:
    """Compare every generator of these sets. `execute` runs the cases once more for the branches they take; None leaves those unknown."""
    tried = [_tried(one) for one in sets]
    common = sorted(set.intersection(*tried))
    shares = [_shares(one, common) for one in sets]
    reached = {(index, name): _outcomes(cases) for index, share in enumerate(shares) for name, cases in share.items()}
    rows = []
    for index, (one, share) in enumerate(zip(sets, shares, strict=True)):
        costs = spent(one.directory / COMPLETIONS, set(common))
        for name, cases in share.items():
            others = set().union(*(found for key, found in reached.items() if key != (index, name)))
            counts = [len(found) for found in cases.values()]
            flat = [case for found in cases.values() for case in found]
            rows.append(
                Quality(
                    set=one.name,
                    generator=name,
                    functions=len(common),
                    with_cases=sum(count > 0 for count in counts),
                    cases=len(flat),
                    median_cases=float(median(counts)) if counts else 0.0,
                    outcomes=len(reached[index, name]),
                    own=len(reached[index, name] - others),
                    raising=sum("error" in case.expected for case in flat) / len(flat) if flat else None,
                    branches=None if execute is None else _branches(one, cases, execute),
                    spent=costs.get(name),
                )
            )
    return Comparison(rows=tuple(rows), functions=len(common), left_out=len(set.union(*tried)) - len(common))


def _tried(one: TaskSet) -> set[str]:
    """The functions that a set made inputs for, or tried to."""
    rejections = codec.read_jsonl(one.directory / "rejections.jsonl", Rejection)
    stopped = {found.subject for found in rejections if found.stage in TRIED and found.subject.count(":") == 2}
    return stopped | {program.origin.function for program in one.programs.values()}


def _shares(one: TaskSet, common: Sequence[str]) -> dict[str, dict[str, list[Case]]]:
    """The cases of each generator by function, an empty list where it has none."""
    found: dict[str, dict[str, list[Case]]] = {
        name: {subject: [] for subject in common} for name in one.manifest.generator.split(",")
    }
    for case in one.cases:
        subject = one.program(case).origin.function
        if case.generator in found and subject in found[case.generator]:
            found[case.generator][subject].append(case)
    return found


def _outcomes(cases: Mapping[str, Sequence[Case]]) -> set[tuple[str, str]]:
    return {(subject, codec.canonical(case.typed)) for subject, found in cases.items() for case in found}


def _branches(one: TaskSet, cases: Mapping[str, Sequence[Case]], execute: Execute) -> float | None:
    """The mean share of branches taken; a function whose cases there are none of counts zero."""
    programs = {program.origin.function: program for program in one.programs.values()}
    shares: dict[str, float] = defaultdict(float)
    for subject, program in programs.items():
        places = own_places(program.source, program.entry)
        own = {number for place in places if place.kind != "raise" for number in place.outcomes}
        if subject not in cases or not own:
            continue
        shares[subject] = 0.0
        if calls := tuple(case.call for case in cases[subject]):
            (outcomes,) = execute([Job(source=program.source, calls=calls, cover=True)])
            taken = {number for outcome in outcomes for number in outcome.branches}
            shares[subject] = len(own & taken) / len(own)
    return mean(shares.values()) if shares else None


def own_places(source: str, entry: str) -> tuple[Site, ...]:
    """The branching places in the body of the entry."""
    node = find_entry(ast.parse(source).body, entry)
    if node is None:
        return ()
    first, last = node.body[0].lineno, node.end_lineno or node.lineno
    return tuple(place for place in sites(source) if first <= place.line <= last)
