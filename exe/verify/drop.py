"""The set without what the oracle found unfaithful: nothing leaves it without a Rejection."""

from __future__ import annotations

import json
from pathlib import Path

from exe import codec, taskset
from exe.records import Json, Manifest, Rejection
from exe.taskset import TaskSet
from exe.verify.findings import Report

UNFAITHFUL = "unfaithful"


def without_unfaithful(tasks: TaskSet, report: Report) -> Manifest:
    """Writes the set anew in its folder, without every program that has a case which differs.

    Such a program goes whole: one Rejection for the function, one for each of its cases; those that differ hold both
    outcomes. Cases that could not be compared stay. Raises StorageError.
    """
    gone = {one.program for one in report.functions if any(check.verdict == "different" for check in one.cases)}
    rejections = list(codec.read_jsonl(tasks.directory / "rejections.jsonl", Rejection))
    for one in report.functions:
        if one.program not in gone:
            continue
        different = [check for check in one.cases if check.verdict == "different"]
        reasons = ", ".join(sorted({check.reason for check in different}))
        rejections.append(_rejection(one.name, f"{len(different)} of {len(one.cases)} cases differ: {reasons}"))
        for check in one.cases:
            detail = f"another case of {one.name} differs"
            if check.verdict == "different":
                detail = f"{check.reason}; original {check.original} | program {check.program}"
            rejections.append(_rejection(check.case, detail))
    kept = [case for case in tasks.cases if case.program not in gone]
    return taskset.write_set(
        tasks.directory,
        tasks.manifest,
        [program for program in tasks.programs.values() if program.id not in gone],
        kept,
        rejections,
        _measurements(tasks.directory / taskset.MEASUREMENTS, {case.id for case in kept}),
    )


def _rejection(subject: str, detail: str) -> Rejection:
    return Rejection(subject=subject, stage="certify", reason=UNFAITHFUL, detail=detail)


def _measurements(path: Path, kept: set[str]) -> list[Json]:
    """The measured rows of the cases that stay."""
    if not path.is_file():
        return []
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row for row in rows if row.get("case") in kept]
