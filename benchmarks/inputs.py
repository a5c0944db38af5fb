"""How good the inputs are: branches and `raise` statements of real functions that 15 cases reach, beside plain Hypothesis.

    python benchmarks/inputs.py [development|unseen|NAME ...] [--functions N] [--cases N] [--seed N] [--pynguin COMMAND] [--json]

Functions are drawn by seed from those of the packages (lists: `corpus.toml`) whose own body has at least four branching places,
spread over packages. Each is inlined, given inputs by the offline generator, and measured on the inputs that were kept: the share of
the branch outcomes of the entry's own body (`exe.sandbox.branches`) that at least one of them takes. Hypothesis draws from the
same types without any hint for as much CPU time, process tree and sandbox included; told are the outcomes that all its distinct
inputs take, and those of its first 15. Pynguin (a command of an environment of its own) is given the first `--pynguin-functions` of them
and `--pynguin-seconds` of search each, much more than the generator takes; told are the outcomes that all its tests take. A function of
which no input of either returned a value has no case to be had: it is counted apart, with the reason, and in the figures named
`all_drawn` only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pynguin_peer

from exe import chain, inputs, screen
from exe.analysis import functions, read_project, signatures
from exe.errors import InputError
from exe.inline import Inlined, inline
from exe.inputs.mine import Hints, find_entry
from exe.inputs.validators import VALIDATORS, Trial, trial
from exe.records import Candidate, Job, Package, Program
from exe.sandbox.branches import Site, sites
from exe.sandbox.host import Sandbox
from exe.sources import scrape

LISTS = Path(__file__).resolve().parent / "corpus.toml"
PLACES = 4  # branching places that an entry has at least
WORKING = 10  # cases that a function should give at least
DRAWS = 40  # of Hypothesis, between two looks at the clock


@dataclass(frozen=True, slots=True)
class Subject:
    """A program to measure, its armed copy, and the branching places of its entry's own body."""

    name: str
    program: Program
    armed: str
    places: tuple[Site, ...]

    def numbers(self, *kinds: str, but: bool = False) -> set[int]:
        """The outcomes of the places of these kinds, or of all others."""
        return {number for place in self.places if (place.kind in kinds) is not but for number in place.outcomes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One function. Shares are of 1; `hypothesis` is of all that it drew, `hypothesis_first` of the first 15."""

    name: str
    cases: int
    branches: int
    coverage: float
    raises: int
    raises_reached: int
    hypothesis: float | None
    hypothesis_first: float | None
    hypothesis_raises: int | None
    hypothesis_inputs: int | None
    pynguin: float | None
    pynguin_raises: int | None
    pynguin_problem: str  # why there are no tests of it, "" where there are or none were asked for
    seconds: float
    holds: tuple[str, ...]  # the validators that the cases satisfy
    returns: bool  # one of all the inputs made an outcome that a case could have
    reason: str  # why there are no cases


def main() -> int:
    """Print a table, or with `--json` one object. Exit status 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["development"], help="lists of corpus.toml, or packages")
    parser.add_argument("--functions", type=int, default=200)
    parser.add_argument("--cases", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("EXE_CACHE", Path.home() / ".cache" / "exe")))
    parser.add_argument("--alone", action="store_true", help="leave Hypothesis out")
    parser.add_argument("--pynguin", help="the command, such as /path/to/bin/pynguin; without it Pynguin is left out")
    parser.add_argument("--pynguin-functions", type=int, default=12)
    parser.add_argument("--pynguin-seconds", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    subjects = drawn(options.names, options.cache, options.functions, options.seed)
    measured: list[Measured] = []
    asked = 0
    with Sandbox(workers=1) as sandbox:
        for subject in subjects:
            found = measure(subject, sandbox, options.cases, options.seed, alone=options.alone)
            if found is None:
                continue
            if options.pynguin and found.returns and asked < options.pynguin_functions:
                asked += 1
                found = with_pynguin(found, subject, sandbox, options)
            measured.append(found)
    return report(measured, as_json=options.json)


# ---- which functions ------------------------------------------------------------------------------------------------


def drawn(names: Sequence[str], cache: Path, count: int, seed: int) -> list[Subject]:
    """The functions, an equal number of each package as far as it has them; in an order drawn by seed."""
    lists = tomllib.loads(LISTS.read_text())
    packages = [name for one in names for name in lists.get(one, [one])]
    found: list[Subject] = []
    waiting = [subjects(name, cache, seed) for name in packages]
    while waiting and len(found) < count:
        for one in list(waiting):
            subject = next(one, None)
            if subject is None:
                waiting.remove(one)
            elif len(found) < count:
                found.append(subject)
    return found


def subjects(name: str, cache: Path, seed: int) -> Iterator[Subject]:
    """The functions of a package that have branches and can be programs."""
    for package in scrape(f"pypi:{name}", cache=cache):
        if not isinstance(package, Package):
            continue
        project = read_project(package)
        order = {
            one: hashlib.sha256(f"{seed}:{one.module.name}:{one.qualname}".encode()).hexdigest()
            for one in functions(project)
        }
        for function in sorted(order, key=order.__getitem__):
            candidate = signatures.candidate(project, function, package, why_not=screen.why_not_function)
            if isinstance(candidate, Candidate):
                made = inline(project, candidate)
                subject = _subject(made, candidate) if isinstance(made, Inlined) else None
                if subject is not None:
                    yield subject


def _subject(made: Inlined, candidate: Candidate) -> Subject | None:
    program = chain.to_program(made, candidate)
    classes = [made.names[origin] for origin in candidate.origins]
    if screen.purity(program.source, program.entry, made=classes) is not None:
        return None
    try:
        armed = screen.armed(program.source, program.entry, chain.suspects(made, program.source), classes)
        places = own_places(armed, program.entry)
    except (screen.Untrappable, SyntaxError):
        return None
    if sum(place.kind != "raise" for place in places) < PLACES:
        return None
    package = candidate.package
    return Subject(f"{package.name}=={package.version}:{candidate.module}:{candidate.qualname}", program, armed, places)


def own_places(source: str, entry: str) -> tuple[Site, ...]:
    """The branching places in the body of the entry."""
    import ast

    node = find_entry(ast.parse(source).body, entry)
    if node is None:
        return ()
    first, last = node.body[0].lineno, node.end_lineno or node.lineno
    return tuple(place for place in sites(source) if first <= place.line <= last)


# ---- one function ---------------------------------------------------------------------------------------------------


class Watched:
    """The sandbox for one subject: runs its armed copy, with probes, and notes all branches."""

    def __init__(self, subject: Subject, sandbox: Sandbox) -> None:
        self.subject, self.sandbox = subject, sandbox

    def __call__(self, jobs: Iterable[Job]) -> Iterator[Any]:
        yield from self.sandbox.execute(
            Job(source=self.subject.armed, calls=job.calls, batch=job.batch, cover=job.cover) for job in jobs
        )

    def taken(self, calls: Sequence[str]) -> tuple[set[int], list[Any]]:
        """The branches that any of these calls takes, each in a process of its own, and the outcomes."""
        if not calls:
            return set(), []
        (outcomes,) = self([Job(source="", calls=tuple(calls), cover=True)])
        return {number for one in outcomes for number in one.branches}, list(outcomes)


def measure(subject: Subject, sandbox: Sandbox, cases: int, seed: int, *, alone: bool) -> Measured | None:
    """Both ways to make inputs on one function; None where its types are beyond the generator."""
    execute = Watched(subject, sandbox)
    before = cpu()
    try:
        generated = inputs.generate(subject.program, seed=seed, count=cases, execute=execute)
    except InputError:
        return None
    seconds = cpu() - before
    taken, outcomes = execute.taken([call.call for call in generated.calls])
    own, raises = subject.numbers("raise", but=True), subject.numbers("raise")
    signature = inputs.read_schema(subject.program.parameters)
    trials = [
        trial(signature, inputs.canonical_key(signature, call.arguments), call, outcome)
        for call, outcome in zip(generated.calls, outcomes, strict=True)
    ]
    drawn = None if alone else by_hypothesis(subject, execute, seconds, cases)
    return Measured(
        name=subject.name,
        cases=len(generated.calls),
        branches=len(own),
        coverage=len(own & taken) / len(own),
        raises=len(raises),
        raises_reached=len(raises & taken),
        hypothesis=None if drawn is None else len(own & drawn[0]) / len(own),
        hypothesis_first=None if drawn is None else len(own & drawn[1]) / len(own),
        hypothesis_raises=None if drawn is None else len(raises & drawn[0]),
        hypothesis_inputs=None if drawn is None else drawn[2],
        pynguin=None,
        pynguin_raises=None,
        pynguin_problem="",
        seconds=seconds,
        holds=satisfied(trials),
        returns=bool(trials) or (drawn is not None and drawn[3]),
        reason="" if generated.calls else next((one.reason for one in generated.rejections[::-1]), "no-cases"),
    )


def satisfied(trials: Sequence[Trial]) -> tuple[str, ...]:
    """The validators that a batch of inputs satisfies."""
    return tuple(one.name for one in VALIDATORS if one.rule(trials) is None)


def by_hypothesis(
    subject: Subject, execute: Watched, seconds: float, cases: int
) -> tuple[set[int], set[int], int, bool]:
    """Branches of all distinct inputs that it draws in that time, of the first ones, how many it drew, whether one returned."""
    from hypothesis import HealthCheck, Phase, given, settings

    from exe.inputs.strategies import arguments_strategy

    signature = inputs.read_schema(subject.program.parameters)
    calls: dict[str, None] = {}

    @settings(
        max_examples=DRAWS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(arguments_strategy(signature, Hints()))
    def draw(arguments: dict[str, Any]) -> None:
        try:
            text = inputs.call_text(subject.program.entry, signature, arguments)
        except ValueError:
            return
        if len(text) <= 4_000:
            calls.setdefault(text)

    every: set[int] = set()
    first: set[int] = set()
    ran = 0
    returns = False
    until = cpu() + seconds
    while cpu() < until:
        draw()
        fresh = list(calls)[ran:]
        if not fresh:
            break
        (outcomes,) = execute([Job(source="", calls=tuple(fresh), cover=True, batch=True)])
        for at, outcome in enumerate(outcomes, start=ran):
            every.update(outcome.branches)
            returns = returns or outcome.status == "value"
            if at < cases:
                first.update(outcome.branches)
        ran = len(calls)
    return every, first, ran, returns


def with_pynguin(found: Measured, subject: Subject, sandbox: Sandbox, options: argparse.Namespace) -> Measured:
    """The figures with those of Pynguin, whose tests run behind the program, each in a process of its own."""
    entry = subject.program.entry
    try:
        written = pynguin_peer.tests(
            options.pynguin, subject.armed, entry, seconds=options.pynguin_seconds, seed=options.seed
        )
        source, calls = pynguin_peer.with_tests(subject.armed, written)
    except (pynguin_peer.PeerFailed, SyntaxError) as error:
        return replace(found, pynguin_problem=str(error))
    outcomes = next(sandbox.execute([Job(source=source, calls=calls, cover=True)])) if calls else ()
    taken = {number for one in outcomes for number in one.branches}
    own, raises = subject.numbers("raise", but=True), subject.numbers("raise")
    return replace(found, pynguin=len(own & taken) / len(own), pynguin_raises=len(raises & taken))


def cpu() -> float:
    """CPU seconds of this process and of all processes below it, those that are alive included."""
    ours = time.process_time()
    return ours + sum(map(_of_process, _below(os.getpid())))


def _below(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _below(child)


def _of_process(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its own and its ended children's


# ---- what it comes to -----------------------------------------------------------------------------------------------


def _share(measured: Sequence[Measured], name: str) -> float | None:
    """Of the `raise` statements of these functions, the share that this figure counts; None where they have none."""
    raises = sum(one.raises for one in measured)
    return sum(getattr(one, name) or 0 for one in measured) / raises if raises else None


def report(measured: Sequence[Measured], *, as_json: bool) -> int:
    """All figures as shares of 1, the targets, and each function's own."""
    if not measured:
        print("no function to measure", file=sys.stderr)
        return 2
    every, measured = measured, [one for one in measured if one.returns]
    raises = sum(one.raises for one in measured)
    holding = Counter(name for one in measured for name in one.holds)
    beside = [one for one in measured if one.hypothesis is not None]
    by_pynguin = [one for one in measured if one.pynguin is not None]
    figures = {
        "drawn": len(every),
        "nothing_returns": Counter(one.reason for one in every if not one.returns),
        "functions": len(measured),
        "packages": len({one.name.partition("==")[0] for one in measured}),
        "branch_coverage_median": statistics.median(one.coverage for one in measured),
        "branch_coverage_mean": statistics.fmean(one.coverage for one in measured),
        "functions_with_10_cases": sum(one.cases >= WORKING for one in measured) / len(measured),
        "raises_reached": _share(measured, "raises_reached"),
        "raise_statements": raises,
        "validators": {one.name: holding[one.name] / len(measured) for one in VALIDATORS},
        "cpu_seconds_median": statistics.median(one.seconds for one in measured),
        "cpu_seconds_mean": statistics.fmean(one.seconds for one in measured),
        "hypothesis": None
        if not beside
        else {
            "branch_coverage_median": statistics.median(one.hypothesis or 0.0 for one in beside),
            "branch_coverage_mean": statistics.fmean(one.hypothesis or 0.0 for one in beside),
            "first_15_median": statistics.median(one.hypothesis_first or 0.0 for one in beside),
            "raises_reached": _share(beside, "hypothesis_raises"),
            "inputs_median": statistics.median(one.hypothesis_inputs or 0 for one in beside),
        },
        "pynguin": None
        if not by_pynguin
        else {
            "functions": len(by_pynguin),
            "failed": sum(bool(one.pynguin_problem) for one in measured),
            "branch_coverage_median": statistics.median(one.pynguin or 0.0 for one in by_pynguin),
            "branch_coverage_mean": statistics.fmean(one.pynguin or 0.0 for one in by_pynguin),
            "ours_on_these_median": statistics.median(one.coverage for one in by_pynguin),
            "ours_on_these_mean": statistics.fmean(one.coverage for one in by_pynguin),
            "raises_reached": _share(by_pynguin, "pynguin_raises"),
            "ours_on_these_raises_reached": _share(by_pynguin, "raises_reached"),
        },
        "all_drawn": {
            "branch_coverage_median": statistics.median(one.coverage for one in every),
            "functions_with_10_cases": sum(one.cases >= WORKING for one in every) / len(every),
            "raises_reached": _share(every, "raises_reached"),
        },
    }
    met = (
        figures["branch_coverage_median"] >= 0.85,
        figures["functions_with_10_cases"] >= 0.90,
        (figures["raises_reached"] or 0.0) >= 0.40,
    )
    if as_json:
        print(json.dumps({**figures, "per_function": [asdict(one) for one in measured]}))
    else:
        for one in sorted(measured, key=lambda one: one.coverage):
            beaten = "" if one.hypothesis is None else f"{one.hypothesis:7.2f}"
            print(
                f"{one.coverage:6.2f}{beaten}  {one.cases:3} cases  {one.raises_reached}/{one.raises} raises"
                f"  {one.seconds:5.2f} s  {one.name}"
            )
        print(json.dumps(figures, indent=2))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
