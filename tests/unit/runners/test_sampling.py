from __future__ import annotations

from collections import Counter

import pytest

from runners.sampling import limited, selected
from tests.support import tasks

CASES = [tasks.case(n, turn) for n in range(12) for turn in range(1 + n % 7)]


def test_no_limit_is_everything() -> None:
    assert limited(CASES, None, 0) == tuple(CASES)
    assert limited(CASES, 10_000, 0) == tuple(CASES)


@pytest.mark.parametrize("seed", [0, 1, 99])
def test_samples_are_nested_in_file_order_and_exact_in_size(seed: int) -> None:
    order = {case.id: number for number, case in enumerate(CASES)}
    before: set[str] = set()
    for limit in range(len(CASES) + 1):
        ids = [case.id for case in limited(CASES, limit, seed)]
        assert len(ids) == limit
        assert sorted(ids, key=order.__getitem__) == ids
        assert before <= set(ids)
        before = set(ids)


def test_a_sample_is_spread_over_functions() -> None:
    have = Counter(case.program for case in CASES)
    for limit in (5, 12, 20, 30):
        taken = Counter(case.program for case in limited(CASES, limit, 3))
        with_more = [taken[program] for program in have if taken[program] < have[program]]
        assert not with_more or max(taken.values()) - min(with_more) <= 1


def test_the_seed_decides() -> None:
    assert limited(CASES, 10, 1) == limited(CASES, 10, 1)
    assert limited(CASES, 10, 1) != limited(CASES, 10, 2)


def test_the_order_of_the_file_does_not_decide_who_is_in() -> None:
    forward = {case.id for case in limited(CASES, 17, 5)}
    assert {case.id for case in limited(CASES[::-1], 17, 5)} == forward


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        limited(CASES, -1, 0)


def test_error_is_the_slice_of_output_that_raises() -> None:
    raising = [case for case in CASES if "error" in case.expected]
    assert raising
    assert selected(CASES, {}, (), None) == tuple(CASES)
    assert selected(CASES, {}, ("output",), None) == tuple(CASES)
    assert selected(CASES, {}, ("error",), None) == tuple(raising)
    assert selected(CASES, {}, ("input",), None) == ()
