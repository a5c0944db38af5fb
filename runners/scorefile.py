"""score.json of a run folder: read run.json and attempts.jsonl, score, write; and the same after grading again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from exe import codec
from exe.errors import InputError, UsageError
from exe.records import Attempt, Case, Json
from exe.taskset import TaskSet
from runners import results
from runners.attempts import regraded
from runners.lock import Locked, exclusive
from runners.sampling import limited, selected
from runners.score import Score, score

FORMAT = 1
_TOKENS = ("input", "output", "cached", "reasoning")


def score_run(folder: Path, taskset: TaskSet, ks: Sequence[int] = (1,)) -> Score:
    """Score the run in `folder` and write its score.json: the Score, and the tokens and money that it took.

    Raises InputError where run.json is missing or of another task set, UsageError for a k above the samples.
    """
    described = results.read_run(folder)
    cases, samples = planned(described, taskset, folder)
    spent = _Spent()
    attempts = spent.counting(results.read_attempts(folder / results.ATTEMPTS))
    packages = {program.id: program.origin.package for program in taskset.programs.values()}
    try:
        found = score(cases, attempts, ks=ks, samples=samples, packages=packages)
    except InputError as error:
        path = str(folder / results.ATTEMPTS)
        raise error if path in str(error) else InputError(f"{path}: {error}; mend or remove the line") from None
    judge = described.get("judge")
    results.write_object(
        folder / results.SCORE, {"format": FORMAT, **asdict(found), "judge": judge, "spent": spent.json()}
    )
    return found


def regrade(folder: Path, taskset: TaskSet) -> int:
    """Give every stored attempt today's verdict, atomically; returns how many verdicts changed. Asks no model.

    Raises UsageError while the run is being written.
    """
    by_id = taskset.by_id()
    path = folder / results.ATTEMPTS
    planned(results.read_run(folder), taskset, folder)
    changed = 0

    def attempts() -> Iterator[Attempt]:
        nonlocal changed
        for attempt in results.read_attempts(path):
            if attempt.case not in by_id:
                raise InputError(f"{path}: case {attempt.case} is not in the task set {taskset.name}")
            again = regraded(attempt, by_id[attempt.case], taskset.manifest)
            changed += (again.verdict, again.strict) != (attempt.verdict, attempt.strict)
            yield again

    try:
        with exclusive(folder / results.LOCK, wait=False):
            codec.write_jsonl(path, attempts())
    except Locked:
        raise UsageError(f"{folder} is being written by a run; grade it again when that has ended") from None
    return changed


def planned(described: dict[str, Json], taskset: TaskSet, folder: Path) -> tuple[tuple[Case, ...], int]:
    """The cases and samples that the run of a run.json (`results.read_run`) planned.

    Raises InputError where it is of another task set.
    """
    sha256, settings = described["taskset"]["sha256"], described["settings"]
    names = ("kinds", "max_source", "limit", "seed", "samples")
    kinds, max_source, limit, seed, samples = (settings[name] for name in names)
    if sha256 != taskset.sha256:
        raise InputError(
            f"{folder} is a run on another version of the set {taskset.name}; give the set it was made with"
        )
    cases = limited(selected(taskset.cases, taskset.programs, kinds, max_source), limit, seed)
    shard = results.shard_of(described)
    return cases if shard is None else shard.part(cases), samples


class _Spent:
    """Tokens and money of the attempts that pass through; unknown stays None."""

    def __init__(self) -> None:
        self._tokens: Counter[str] = Counter()
        self._unknown: set[str] = set()
        self._cost: float | None = None
        self._retries = self._repairs = 0
        self._unpriced = False
        self._rulings: dict[str, dict[str, Json]] = {}

    def counting(self, attempts: Iterator[Attempt]) -> Iterator[Attempt]:
        for attempt in attempts:
            self._repairs += attempt.repair is not None
            if attempt.completion is None:  # it was asked, and nobody knows what that took
                self._unknown.update(_TOKENS)
                self._unpriced = True
            for completion in (attempt.completion, attempt.repair):
                if completion is None:
                    continue
                self._retries += completion.retries
                for name in _TOKENS:
                    count = completion.usage.get(name)
                    if count is None:
                        self._unknown.add(name)
                    else:
                        self._tokens[name] += count
                if completion.cost_usd is None:
                    self._unpriced = True
                else:
                    self._cost = (self._cost or 0.0) + completion.cost_usd
            if attempt.judge is not None:
                self._rulings[attempt.judge["of"]] = {**attempt.judge["usage"], "cost_usd": attempt.judge["cost_usd"]}
            yield attempt

    def json(self) -> dict[str, Json]:
        """A total is None where any completion leaves its part unknown: a partial sum would read as the whole."""
        return {
            "tokens": {name: None if name in self._unknown else self._tokens[name] for name in _TOKENS},
            "cost_usd": None if self._unpriced else self._cost,
            "retries": self._retries,
            "repairs": self._repairs,
            "judge": self._judge(),
        }

    def _judge(self) -> dict[str, Json] | None:
        """What the rulings took on which the verdicts rest, each once; None where there are none."""
        if not self._rulings:
            return None
        total: dict[str, Json] = {"rulings": len(self._rulings)}
        for name in ("input", "output", "cost_usd"):
            parts = [ruling.get(name) for ruling in self._rulings.values()]
            total[name] = None if None in parts else sum(part or 0 for part in parts)
        return total
