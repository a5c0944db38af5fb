"""The recorded faults of other harnesses, and CRUXEval's 800 functions, through the sandbox."""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from exe.certify import certify
from exe.records import Call, Job, Origin, Outcome, Program, Rejection
from exe.sandbox.host import Limits, Sandbox

SHARED = Path(os.environ.get("EXE_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data")
FAULTS = SHARED / "fault_cases.jsonl"
CRUXEVAL = SHARED / "cruxeval" / "cruxeval.jsonl"
LIMITS = Limits(wall_seconds=6.0, cpu_seconds=0.6, memory_bytes=512 << 20, output_bytes=1 << 20)

# what DESIGN and the walls decide where a row lists alternatives or speaks another harness's language
STATUSES = {
    "exec-os-exit": "crashed",
    "exec-timeout-swallowed": "timeout",
    "exec-recursion-c-stack": "crashed" if sys.version_info < (3, 12) else "error",  # later ones guard their C stack
    "exec-huge-stdout": "overflow",  # the row's output_limit
    "exec-memory": "memory",  # the row's resource_limit: machine dependent, excluded
    "exec-thread-left-running": "impure",  # no program may start a thread, so none is left running
}
NONDETERMINISTIC = {"exec-hash-truncated-set", "exec-hash-value", "exec-home-dir"}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


EXECUTE = [row for row in rows(FAULTS) if row["stage"] == "execute"]


def run(sandbox: Sandbox, row: dict[str, Any], calls: int = 1) -> tuple[Outcome, ...]:
    return next(sandbox.execute([Job(source=row["input"]["code"], calls=(row["input"]["call"],) * calls)]))


@pytest.fixture(scope="module")
def patient() -> Any:
    with Sandbox(workers=1, limits=LIMITS) as sandbox:
        yield sandbox


@pytest.mark.skipif(not EXECUTE, reason=f"no recorded faults: {FAULTS} is absent")
def test_every_recorded_fault_is_known() -> None:
    values = {row["id"] for row in EXECUTE if "repr" in row["expected"]}
    assert {row["id"] for row in EXECUTE} == values | set(STATUSES) | NONDETERMINISTIC


@pytest.mark.parametrize("row", EXECUTE, ids=lambda row: row["id"])
def test_recorded_fault(row: dict[str, Any], patient: Sandbox) -> None:
    if row["id"] in NONDETERMINISTIC:
        origin = Origin(package="p", version="1", module="m", qualname="f", path="m.py", line=1)
        source = row["input"]["code"]
        program = Program(id="p", entry="f", source=source, parameters={}, returns="int", origin=origin, provenance={})
        with Sandbox(workers=1, limits=LIMITS, hash_seed=1) as other:
            call = Call(program="p", arguments={}, call=row["input"]["call"])
            (judged,) = certify(program, [call], patient.execute, other.execute)
        assert isinstance(judged, Rejection)
        assert judged.reason == "nondeterministic"
        return
    outcomes = run(patient, row, calls=2)
    if row["id"] in STATUSES:
        assert {outcome.status for outcome in outcomes} == {STATUSES[row["id"]]}
        return
    expected = row["expected"]
    wanted = [expected["repr"], expected.get("second_task_same_process_repr", expected["repr"])]
    if row["id"] == "exec-global-state":
        wanted = ["1", "1"]  # each call has a process of its own
    assert [outcome.plain for outcome in outcomes] == [{"value": ast.literal_eval(text)} for text in wanted]
    if row["id"] == "exec-mutates-argument":
        assert all(outcome.mutates_arguments for outcome in outcomes)


@pytest.mark.skipif(not CRUXEVAL.exists(), reason=f"{CRUXEVAL} is absent")
def test_cruxeval_800_of_800() -> None:
    items = rows(CRUXEVAL)
    assert len(items) == 800
    jobs = (Job(source=item["code"], calls=(f"repr(f({item['input']}))",)) for item in items)
    wrong = []
    with Sandbox(limits=LIMITS) as sandbox:
        for item, (outcome,) in zip(items, sandbox.execute(jobs), strict=True):
            truth = repr(ast.literal_eval(item["output"]))
            if outcome.plain != {"value": truth}:
                wrong.append((item["id"], outcome, truth))
    assert wrong == []
