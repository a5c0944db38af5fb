"""Growth: what counts as novel, that it goes on where there is more, and that what is finite ends by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exe.inputs.grow import SETTLED, Growth, grow
from exe.sandbox.host import Sandbox
from tests.unit.inputs.building import build


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def grown(box: Sandbox, root: Path, source: str, wanted: int = 150, limit: int = 3_000) -> list[Growth]:
    steps = []
    _, program, _ = build(root, source)
    for now in grow(program, seed=1, wanted=wanted, execute=box.execute):
        steps.append(now)
        if now.executions > limit:
            break
    return steps


def test_novel_cases_keep_coming(box: Sandbox, tmp_path: Path) -> None:
    steps = grown(box, tmp_path, "def f(a: str, b: int) -> str:\n    return a[:b].upper() if b > 2 else a * b\n")
    assert steps[-1].novel >= 150
    assert not steps[-1].exhausted
    assert [one.novel for one in steps] == sorted(one.novel for one in steps)
    calls = [call.call for one in steps for call in one.fresh]
    assert len(calls) == len(set(calls)) == steps[-1].novel


def test_a_longer_text_that_does_the_same_is_no_novelty(box: Sandbox, tmp_path: Path) -> None:
    steps = grown(box, tmp_path, "def f(a: str) -> bool:\n    return len(a) >= 0\n")
    assert steps[-1].valid > 500
    assert steps[-1].novel == steps[-1].outputs == 1


def test_few_outcomes_of_inputs_without_end_settle(box: Sandbox, tmp_path: Path) -> None:
    steps = grown(box, tmp_path, "def f(a: int) -> bool:\n    return a % 2 == 0\n", limit=20_000)
    assert steps[-1].settled
    assert not steps[-1].exhausted
    assert steps[-1].novel == 2
    assert steps[-1].executions > 10 * SETTLED


def test_a_finite_domain_says_that_it_ended(box: Sandbox, tmp_path: Path) -> None:
    steps = grown(box, tmp_path, "def f(a: bool, b: bool, c: bool) -> int:\n    return a + 2 * b + 4 * c\n")
    assert steps[-1].exhausted
    assert steps[-1].valid == steps[-1].novel == 8
