"""pass@k against enumeration, and intervals that stay intervals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from runners.intervals import estimate
from runners.score import pass_at_k


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_with_a_right_sample(counts: tuple[int, int, int]) -> None:
    n, c, k = counts
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == float(Fraction(sum(map(any, draws)), len(draws)))


@given(st.lists(st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=1, max_size=6), min_size=1, max_size=12))
def test_intervals_lie_within_bounds_and_hold_the_mean(clusters: list[list[float]]) -> None:
    found = estimate(clusters, samples=10)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.high > found.low


@given(st.lists(st.lists(st.booleans().map(float), min_size=1, max_size=5), min_size=2, max_size=10))
def test_the_interval_mirrors(clusters: list[list[float]]) -> None:
    there, back = estimate(clusters), estimate([[1 - value for value in group] for group in clusters])
    assert abs(there.low - (1 - back.high)) < 1e-9
    assert abs(there.high - (1 - back.low)) < 1e-9
