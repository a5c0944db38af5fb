"""Seeded nondeterminism of every kind is caught, programs that only look like it are certified, state does not leak."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from exe.certify import SEEDS, Execute, certify
from exe.errors import IsolationError
from exe.records import Call, Case, Job, Origin, Program, Rejection
from exe.sandbox.host import Limits, Sandbox

TABLES = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "nondeterminism.py"))
LIMITS = Limits(wall_seconds=10.0, cpu_seconds=4.0)
ORIGIN = Origin(package="p", version="1", module="m", qualname="f", path="m.py", line=1)


@pytest.fixture(scope="module")
def boxes() -> Iterator[list[Execute]]:
    with ExitStack() as stack:
        try:
            opened = [Sandbox(workers=1, limits=LIMITS, hash_seed=seed) for seed in SEEDS]
        except IsolationError as error:
            pytest.skip(str(error))
        yield [stack.enter_context(box).execute for box in opened]


def judged(boxes: list[Execute], source: str, count: int = 3) -> list[Case | Rejection]:
    program = Program(id="p", entry="f", source=source, parameters={}, returns="int", origin=ORIGIN, provenance={})
    calls = [Call(program="p", arguments={"n": n}, call=f"f({n})") for n in range(count)]
    return certify(program, calls, boxes[0], boxes[1], boxes[2:])


@pytest.mark.parametrize("kind", TABLES["SEEDED"])
def test_seeded_nondeterminism_is_caught(kind: str, boxes: list[Execute]) -> None:
    assert [one for one in judged(boxes, TABLES["SEEDED"][kind]) if isinstance(one, Case)] == []


@pytest.mark.parametrize("kind", TABLES["CONTROLS"])
def test_what_is_stable_is_certified(kind: str, boxes: list[Execute]) -> None:
    assert [one for one in judged(boxes, TABLES["CONTROLS"][kind]) if isinstance(one, Rejection)] == []


@pytest.mark.parametrize("kind", TABLES["STATEFUL"])
def test_state_shows_in_a_batch_and_in_no_truth(kind: str, boxes: list[Execute]) -> None:
    source = TABLES["STATEFUL"][kind]
    calls = tuple(f"f({n})" for n in range(3))
    (batch,) = boxes[0]([Job(source=source, calls=calls, batch=True)])
    alone = [outcome.plain for (outcome,) in boxes[0](Job(source=source, calls=(call,)) for call in calls)]
    assert [outcome.plain for outcome in batch] != alone
    found = judged(boxes, source)
    assert [one.expected for one in found if isinstance(one, Case)] == alone
    innocent = (
        "import calendar, decimal, json, logging, os.path, re, string, sys, warnings\ndef f(n):\n    return max(n, 1)\n"
    )
    ((after,),) = boxes[0]([Job(source=innocent, calls=("f(0)",), batch=True)])
    assert after.plain == {"value": 1}


@pytest.mark.parametrize("group", ["SEEDED", "STATEFUL", "CONTROLS"])
def test_the_page_lists_every_kind(group: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "CERTIFICATION.md").read_text("utf-8")
    assert "; ".join(TABLES[group]) in page
    assert f"| {len(TABLES[group])} of {len(TABLES[group])} " in page
