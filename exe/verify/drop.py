"""The set without what the oracle found unfaithful: nothing leaves it without a Rejection."""

from __future__ import annotations

from exe import taskset
from exe.records import Manifest, Rejection
from exe.taskset import TaskSet
from exe.verify.findings import Report

UNFAITHFUL = "unfaithful"


def without_unfaithful(tasks: TaskSet, report: Report) -> Manifest:
    """Writes the set anew in its folder, without every program that has a case which differs.

    Such a program goes whole: one Rejection for the function, one for each of its cases; those that differ hold both
    outcomes. Cases that could not be compared stay. Raises StorageError.
    """
    gone = {one.program for one in report.functions if any(check.verdict == "different" for check in one.cases)}
    rejections: list[Rejection] = []
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
    return taskset.rewrite(tasks, [case for case in tasks.cases if case.program not in gone], rejections)


def _rejection(subject: str, detail: str) -> Rejection:
    return Rejection(subject=subject, stage="certify", reason=UNFAITHFUL, detail=detail)
