"""Means of clustered observations with 95% intervals. Pure, exact arithmetic where it is cheap, no third-party packages.

Cases of one function are not independent, so the variance of a mean over cases is estimated between clusters (Taylor
linearisation of the ratio estimator; Cochran, *Sampling Techniques*, 3rd ed., 1977, ch. 9; Liang & Zeger 1986), with n
observations y_ci in G clusters and mean p:

    V = G/(G-1) · Σ_c (Σ_i (y_ci - p))² / n²

A mean of values in [0, 1] near 0 or 1 needs more than p ± t·√V. As Korn & Graubard (*Survey Methodology* 24, 1998) do for
clustered proportions, the variance gives an effective sample size, and that goes into an interval made for small n, here Wilson's
(*JASA* 22, 1927; for complex samples Franco, Little, Louis & Slud, *J. Survey Statistics and Methodology* 7, 2019):

    n* = p(1-p)/V,      centre = (p + t²/2n*) / (1 + t²/n*),      half width = t/(1 + t²/n*) · √(p(1-p)/n* + t²/4n*²)

with t the 97.5% quantile of Student's distribution with G-1 degrees of freedom. n* is at most the number of answers. Where V says
nothing (all observations equal), cases within a cluster are taken as copies of each other: n* = n²/Σ n_c² (Kish, *Survey Sampling*,
1965), which is G for clusters of one size. With a single cluster nothing is known about other functions: the interval is [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over planned cases, in 0..1.

    `low` and `high` bound the 95% interval; `standard_error` is clustered, None with fewer than two clusters;
    `design_effect` is the clustered over the unclustered variance, None where either is 0 or unknown.
    """

    value: float
    low: float
    high: float
    standard_error: float | None
    design_effect: float | None
    cases: int
    clusters: int


def estimate(clusters: Iterable[Sequence[float]], samples: int = 1) -> Estimate:
    """The mean of all observations in `clusters` (each in 0..1, averaged over `samples` answers) with its interval.

    Raises ValueError without any observation, or for one outside of 0..1.
    """
    groups = [group for group in clusters if group]
    n, count = sum(map(len, groups)), len(groups)
    if n == 0:
        raise ValueError("no observations")
    if not all(0.0 <= value <= 1.0 for group in groups for value in group):
        raise ValueError("observations must lie between 0 and 1")
    mean = min(1.0, math.fsum(value for group in groups for value in group) / n)
    if count == 1:
        return Estimate(value=mean, low=0.0, high=1.0, standard_error=None, design_effect=None, cases=n, clusters=1)
    between = math.fsum(math.fsum(value - mean for value in group) ** 2 for group in groups)
    variance = count / (count - 1) * between / n**2
    plain = math.fsum((value - mean) ** 2 for group in groups for value in group) / n / max(1, n - 1)
    spread = mean * (1.0 - mean)
    if variance <= 1e-18 or spread <= 0.0:
        effective = n**2 / sum(len(group) ** 2 for group in groups)
    else:
        effective = min(spread / variance, float(n * samples))
    low, high = wilson(mean, effective, student_quantile(count - 1))
    return Estimate(
        value=mean,
        low=low,
        high=high,
        standard_error=math.sqrt(variance),
        design_effect=variance / plain if plain > 1e-18 and variance > 1e-18 else None,
        cases=n,
        clusters=count,
    )


def wilson(mean: float, n: float, quantile: float) -> tuple[float, float]:
    """Wilson's score interval for a mean in 0..1 of `n` (effective) observations; it always holds the mean."""
    square = quantile**2
    centre = (mean + square / (2 * n)) / (1 + square / n)
    half = quantile / (1 + square / n) * math.sqrt(mean * (1 - mean) / n + square / (4 * n**2))
    return max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half))


@lru_cache(maxsize=1024)
def student_quantile(degrees: int, probability: float = 0.975) -> float:
    """The quantile of Student's t, for a probability in (0.5, 1) and at least one degree of freedom.

    Bisection on the exact finite series for whole degrees (Abramowitz & Stegun 26.7.3 and 26.7.4), accurate to 1e-9
    relative up to 200 degrees; beyond, their asymptotic expansion 26.7.5, whose error is below 1e-8 there.
    """
    if degrees < 1 or not 0.5 < probability < 1.0:
        raise ValueError("needs at least one degree of freedom and a probability between 0.5 and 1")
    if degrees > 200:
        return _expansion(degrees, probability)
    low, high = 0.0, 1.0
    while _central(high, degrees) < 2 * probability - 1:
        low, high = high, high * 2
    for _ in range(100):
        middle = (low + high) / 2
        if _central(middle, degrees) < 2 * probability - 1:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _central(t: float, degrees: int) -> float:
    """P(-t < T < t) with T of Student's distribution."""
    angle = math.atan(t / math.sqrt(degrees))
    cos2 = math.cos(angle) ** 2
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees > 1 or not odd else 0.0
    for i in range(3 if odd else 2, degrees - 1, 2):
        term *= cos2 * (i - 1) / i
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


def _expansion(degrees: int, probability: float) -> float:
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / degrees ** (i + 1) for i, term in enumerate(terms))
