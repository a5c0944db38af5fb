"""A whole set certified again, by other interpreters too, and its grading proved: `recertify(set, bench) -> Report`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Literal

from exe import taskset
from exe.certify import SEEDS, Execute, agree, certify, shown, stated
from exe.errors import InputError, UsageError
from exe.proof import Fault, prove
from exe.records import Call, Case, Job, Manifest, Outcome, Program, Rejection
from exe.sandbox.host import Sandbox
from exe.taskset import TaskSet
from exe.values import decode, integer_digits, same_python

ANOTHER = "another-truth"
Rule = Literal["json", "typed", "python"]
Same = Callable[[Outcome, Outcome], bool]
Verdict = Literal["certified", "refused", "not-python"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """How to certify: interpreters beside this one, by path, and whether to go without isolation where there is none."""

    pythons: tuple[str, ...] = ()
    unsafe: bool = False
    done: Callable[[], None] = lambda: None
    """Called once a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is known of one case. `rejection` is None where it is certified; `differs` holds both outcomes by version."""

    case: Case
    verdict: Verdict
    rejection: Rejection | None = None
    differs: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings, in the order of the set. `versions` are the interpreters that took part, this one first."""

    name: str
    versions: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether no case was refused and none is graded wrongly. Differences between versions are no fault."""
        return not any(one.rejection or one.faults for one in self.findings)


def recertify(tasks: TaskSet, bench: Bench) -> Report:
    """Certifies every case of the set anew and compares with what it states; proves the grader on each.

    Raises InputError for a set that another minor version of Python made, UsageError for a path that is no interpreter,
    IsolationError, SandboxError.
    """
    _same_interpreter(tasks.manifest)
    rule = tasks.manifest.rule
    by_program: dict[str, list[Case]] = {}
    for case in tasks.cases:
        by_program.setdefault(case.program, []).append(case)
    found: dict[str, Finding] = {}
    with ExitStack() as stack:
        boxes = [stack.enter_context(Sandbox(workers=1, unsafe=bench.unsafe, hash_seed=seed)) for seed in SEEDS]
        others = [stack.enter_context(_other(path, bench.unsafe)) for path in bench.pythons]
        for program, cases in by_program.items():
            for one in _program(tasks.programs[program], cases, [box.execute for box in boxes], others, rule):
                faults = prove(one.case, tasks.manifest.answer_format, rule)
                found[one.case.id] = replace(one, faults=tuple(faults))
            bench.done()
        versions = tuple(dict.fromkeys(box.python for box in (boxes[0], *others) if box.python))
    return Report(name=tasks.name, versions=versions, findings=tuple(found[case.id] for case in tasks.cases))


def tagged(tasks: TaskSet, report: Report) -> Manifest:
    """Writes the set anew: refused cases leave it as Rejections, those that differ by version name the versions."""
    kept, gone = [], []
    for one in report.findings:
        if one.rejection is not None:
            gone.append(one.rejection)
        else:
            kept.append(replace(one.case, differs=tuple(sorted(map(_minor, one.differs))) or None))
    return taskset.rewrite(tasks, kept, gone)


def _same_interpreter(manifest: Manifest) -> None:
    here = "{}.{}".format(*sys.version_info)
    if _minor(manifest.python) != here:
        raise InputError(
            f"{manifest.name} was made with Python {manifest.python}, this is {here}; certify it with the same minor version"
        )


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _other(python: str, unsafe: bool) -> Sandbox:
    try:
        return Sandbox(workers=1, unsafe=unsafe, python=python)
    except LookupError as error:
        raise UsageError(f"--python: {error}") from None


def _program(
    program: Program, cases: Sequence[Case], boxes: Sequence[Execute], others: Sequence[Sandbox], rule: Rule
) -> Iterator[Finding]:
    """One finding a case. What is no Python program is executed by nobody."""
    foreign = [case for case in cases if case.language not in (None, "python")]
    yield from (Finding(case=case, verdict="not-python") for case in foreign)
    cases = [case for case in cases if case.language in (None, "python")]
    if not cases:
        return
    calls = [_call(case) for case in cases]
    judged = certify(program, calls, boxes[0], boxes[1], boxes[2:])
    elsewhere = [_elsewhere(program, cases, other, _same_plain if rule == "json" else agree) for other in others]
    for place, (case, one) in enumerate(zip(cases, judged, strict=True)):
        rejection = _against(case, one, one_literal=rule == "python")
        if rejection is not None:
            yield Finding(case=case, verdict="refused", rejection=rejection)
        else:
            differs = {version: told[place] for version, told in elsewhere if place in told}
            yield Finding(case=case, verdict="certified", differs=differs)


def _call(case: Case) -> Call:
    return Call(program=case.program, arguments=case.arguments, call=case.call, generator=case.generator)


def _against(case: Case, judged: Case | Rejection, *, one_literal: bool) -> Rejection | None:
    """Why the truth that a case states does not stand; with `one_literal`, an equal Python value is the same truth."""
    if isinstance(judged, Rejection):
        return replace(judged, subject=case.id)
    with integer_digits():
        ours, found = stated(case), stated(judged)
        if agree(ours, found) or (one_literal and _same_literal(case, judged)):
            return None
        detail = f"{shown(ours)} | {shown(found)}"
    return Rejection(subject=case.id, stage="certify", reason=ANOTHER, detail=detail)


def _same_literal(case: Case, found: Case) -> bool:
    """What a suite writes down as a literal cannot say which parts of a value are one object."""
    if "error" in case.typed or "error" in found.typed:
        return False
    return same_python(case.typed["value"], decode(found.typed["value"]))


def _same_plain(first: Outcome, second: Outcome) -> bool:
    """Whether two outcomes are graded alike by rule `json`: what only the typed form shows may be the standard library's own."""
    return (first.status, first.plain) == (second.status, second.plain)


def _elsewhere(program: Program, cases: Sequence[Case], box: Sandbox, same: Same) -> tuple[str, dict[int, str]]:
    """The version of another interpreter, and by place of a case both outcomes where its own is another there."""
    told: dict[int, str] = {}
    with integer_digits():
        calls = tuple(case.call for case in cases)
        (outcomes,) = box.execute([Job(source=program.source, calls=calls, batch=True)])
        doubtful = [
            at
            for at, (case, outcome) in enumerate(zip(cases, outcomes, strict=True))
            if not same(stated(case), outcome)
        ]
        if doubtful:
            (outcomes,) = box.execute([Job(source=program.source, calls=tuple(calls[at] for at in doubtful))])
            for at, outcome in zip(doubtful, outcomes, strict=True):
                if not same(ours := stated(cases[at]), outcome):
                    told[at] = f"{shown(ours)} | {shown(outcome)}"
    return box.python, told
