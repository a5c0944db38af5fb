"""How good the inputs are: branches and `raise` statements of real functions that 15 cases reach, beside plain Hypothesis.

    python benchmarks/inputs.py [development|unseen|NAME ...] [--functions N] [--cases N] [--seed N] [--pynguin COMMAND] [--json]

Functions are drawn by seed from those of the packages (lists: `corpus.toml`) whose own body has at least four branching places,
spread over packages. Each is inlined, given inputs by the offline generator, and measured on the inputs that were kept: the share of
the branch outcomes of the entry's own body (`exe.sandbox.branches`) that at least one of them takes. Hypothesis draws from the
same types without any hint for as much CPU time, process tree and sandbox included; told are the outcomes that all its distinct
inputs take, and those of its first 15. Pynguin (a command of an environment of its own) is given the first `--pynguin-functions` of them
and `--pynguin-seconds` of search each, much more than the generator takes; told are the outcomes that all its tests take. A function of
which no input of either returned a value has no case to be had: it is counted apart, with the reason, and in the figures named
`all_drawn` only. What a thousand functions take on two cores is reckoned from all that were drawn; `--alone --functions 1000` runs them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pynguin_peer
from branching import Subject, Watched, cpu, drawn

from exe import inputs
from exe.errors import InputError
from exe.inputs.mine import Hints
from exe.inputs.validators import VALIDATORS, Trial, trial
from exe.records import Job
from exe.sandbox.host import Sandbox

WORKING = 10  # cases that a function should give at least
DRAWS = 40  # of Hypothesis at a time
PART = 8  # of its inputs, between two looks at the clock


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
    parser.add_argument(
        "--record", type=Path, help="a line a function goes here; what stands there is not measured again"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    subjects = drawn(options.names, options.cache, options.functions, options.seed)
    measured = recorded(options.record, subjects)
    names = {one.name for one in measured}
    asked = sum(one.pynguin is not None or bool(one.pynguin_problem) for one in measured)
    with Sandbox(workers=1) as sandbox:
        for subject in subjects:
            if subject.name in names:
                continue
            found = measure(subject, sandbox, options.cases, options.seed, alone=options.alone)
            if found is None:
                continue
            if options.pynguin and found.returns and asked < options.pynguin_functions:
                asked += 1
                found = with_pynguin(found, subject, sandbox, options)
            measured.append(found)
            if options.record is not None:
                with options.record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(found)) + "\n")
            print(f"{len(measured)} of {len(subjects)}: {found.coverage:.2f} {found.name}", file=sys.stderr, flush=True)
    return report(measured, as_json=options.json)


def recorded(path: Path | None, subjects: Sequence[Subject]) -> list[Measured]:
    """What an earlier run wrote of these functions."""
    if path is None or not path.exists():
        return []
    names = {one.name for one in subjects}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Measured(**{**row, "holds": tuple(row["holds"])}) for row in rows if row["name"] in names]


# ---- one function ---------------------------------------------------------------------------------------------------


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
        for begin in range(0, len(fresh), PART):
            part = tuple(fresh[begin : begin + PART])
            if cpu() >= until:
                break
            (outcomes,) = execute([Job(source="", calls=part, cover=True, batch=True)])
            for at, outcome in enumerate(outcomes, start=ran):
                every.update(outcome.branches)
                returns = returns or outcome.status == "value"
                if at < cases:
                    first.update(outcome.branches)
            ran += len(part)
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
            "cpu_seconds_mean": statistics.fmean(one.seconds for one in every),
            "minutes_for_a_thousand_on_2_cores": statistics.fmean(one.seconds for one in every) * 1000 / 2 / 60,
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
