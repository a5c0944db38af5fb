"""The flow: programs once more, then the originals module by module, then the comparison."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from exe import codec
from exe.analysis import Project, read_project
from exe.errors import SandboxError
from exe.records import Case, Job, Outcome, Program, Rejection
from exe.sandbox.host import Preload, Sandbox
from exe.taskset import TaskSet
from exe.values import dumps, integer_digits
from exe.verify.compare import Pair, compare
from exe.verify.constructs import constructs
from exe.verify.drop import UNFAITHFUL
from exe.verify.findings import CaseCheck, FunctionCheck, Report
from exe.verify.originals import Key, Original, Unavailable
from exe.verify.stand_in import observed, observing, stand_in

_HASH_SEED = 0  # that of the run which the cases state


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where and how the calls are made; `done` hears of each function, once for its program and once for its original."""

    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    unsafe: bool = False
    done: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One program with its cases, and the expressions that are evaluated: every call, then every observation."""

    program: Program
    cases: tuple[Case, ...]

    @property
    def calls(self) -> tuple[str, ...]:
        return tuple(case.call for case in self.cases)

    @property
    def observations(self) -> tuple[str | None, ...]:
        return tuple(observing(call) for call in self.calls)

    def job(self, source: str) -> Job:
        """All of it for the sandbox, in the namespace of `source`."""
        return Job(source=observed(source), calls=(*self.calls, *(text for text in self.observations if text)))

    def pairs(self, outcomes: Sequence[Outcome]) -> list[Pair]:
        """The outcomes of `job`, by case."""
        shown = iter(outcomes[len(self.cases) :])
        return [
            Pair(call=outcome, arguments=next(shown) if observation else None)
            for outcome, observation in zip(outcomes, self.observations, strict=False)
        ]


def verify(tasks: TaskSet, found: Mapping[Key, Original | Unavailable], bench: Bench) -> Report:
    """Compares every case of the set. Raises IsolationError and SandboxError; what happens to a package is in the report.

    Each entry module is imported once, in a worker of its own, as a fresh interpreter would; every call is a fork of that.
    """
    by_program: dict[str, list[Case]] = {identity: [] for identity in tasks.programs}
    for case in tasks.cases:
        by_program[case.program].append(case)
    listed = [_Task(program=tasks.programs[key], cases=tuple(cases)) for key, cases in by_program.items() if cases]
    with Sandbox(workers=bench.workers, unsafe=bench.unsafe, hash_seed=_HASH_SEED) as box:
        programs: dict[str, list[Pair]] = {}
        for task, outcomes in zip(listed, box.execute(task.job(task.program.source) for task in listed), strict=True):
            programs[task.program.id] = task.pairs(outcomes)
            bench.done()
    projects = {key: read_project(one.package) for key, one in found.items() if isinstance(one, Original)}
    checks: list[FunctionCheck] = []
    with _pool(bench.workers) as pool:
        for group in pool.map(lambda group: _module(group, found, programs, bench), _by_module(listed)):
            for task, cases in group:
                checks.append(_function(task, cases, projects.get(_key(task.program))))
    checks.sort(key=lambda one: (one.package, one.version, one.module, one.qualname, one.program))
    return Report(name=tasks.name, functions=tuple(checks), dropped_before=_dropped_before(tasks))


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that take up nothing more once the block is left by an exception, Ctrl-C above all."""
    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _key(program: Program) -> Key:
    return program.origin.package, program.origin.version


def _by_module(listed: Sequence[_Task]) -> list[list[_Task]]:
    groups: dict[tuple[Key, str], list[_Task]] = {}
    for task in listed:
        groups.setdefault((_key(task.program), task.program.origin.module), []).append(task)
    return list(groups.values())


Checked = list[tuple[_Task, tuple[CaseCheck, ...]]]


def _module(
    group: Sequence[_Task],
    found: Mapping[Key, Original | Unavailable],
    programs: Mapping[str, list[Pair]],
    bench: Bench,
) -> Checked:
    """All functions of one entry module beside their originals."""
    origin = group[0].program.origin
    original = found.get(_key(group[0].program))
    if original is None:
        detail = f"the manifest names no source {origin.package} {origin.version}"
        original = Unavailable(reason="no-origin", detail=detail)
    result: Checked = []
    with contextlib.closing(_outcomes(group, original, bench)) as answers:
        for task, pairs in zip(group, answers, strict=True):
            mine = programs[task.program.id]
            if isinstance(pairs, Unavailable):
                checks = tuple(_not_compared(case, pairs, pair) for case, pair in zip(task.cases, mine, strict=True))
            else:
                roots = original.roots if isinstance(original, Original) else frozenset()
                rows = zip(task.cases, pairs, mine, strict=True)
                checks = tuple(compare(case, one, other, roots) for case, one, other in rows)
            result.append((task, checks))
            bench.done()
    return result


def _outcomes(
    group: Sequence[_Task], original: Original | Unavailable, bench: Bench
) -> Generator[list[Pair] | Unavailable, None, None]:
    """What the originals did, a function at a time."""
    if isinstance(original, Unavailable):
        for _ in group:
            yield original
        return
    module = group[0].program.origin.module
    preload = Preload(folders=tuple(map(str, original.folders)), source=f"import {module}\n")
    with Sandbox(workers=1, unsafe=bench.unsafe, hash_seed=_HASH_SEED, preload=preload) as box:
        answered = 0
        try:
            for task, outcomes in zip(group, box.execute(_original_jobs(group)), strict=True):
                if box.preload_failure:
                    outcomes = tuple(Outcome(status="unloadable", detail=box.preload_failure) for _ in outcomes)
                answered += 1
                yield task.pairs(outcomes)
        except SandboxError as error:
            if box.preloaded:
                raise
            for _ in group[answered:]:
                yield Unavailable(reason="import-fails", detail=f"import {module} ends the process: {error}")


def _original_jobs(group: Sequence[_Task]) -> Iterator[Job]:
    return (task.job(stand_in(task.program, task.calls)) for task in group)


def _not_compared(case: Case, obstacle: Unavailable, program: Pair) -> CaseCheck:
    """A program that does not load is a mismatch, whatever there is to compare it with."""
    if program.call.status == "unloadable":
        return CaseCheck(
            case=case.id,
            call=case.call,
            verdict="different",
            reason="program-fails",
            original=obstacle.detail,
            program=f"unloadable: {program.call.detail}",
        )
    return CaseCheck(
        case=case.id, call=case.call, verdict="not-comparable", reason=obstacle.reason, original=obstacle.detail
    )


def _function(task: _Task, checks: tuple[CaseCheck, ...], project: Project | None) -> FunctionCheck:
    origin = task.program.origin
    with integer_digits():
        outcomes = {dumps(case.typed) for case in task.cases}
    return FunctionCheck(
        program=task.program.id,
        package=origin.package,
        version=origin.version,
        module=origin.module,
        qualname=origin.qualname,
        varied=len(outcomes) > 1,
        constructs=constructs(task.program, project),
        cases=checks,
    )


def _dropped_before(tasks: TaskSet) -> int:
    """Functions that an earlier `--drop` removed."""
    rejections = codec.read_jsonl(tasks.directory / "rejections.jsonl", Rejection)
    return sum(one.reason == UNFAITHFUL and one.subject.count(":") == 2 for one in rejections)
