"""Attempts → pass@k with 95% intervals. Pure; denominators are planned, never counted from what survived."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import get_args

from exe.errors import InputError, UsageError
from exe.records import Attempt, Case, Verdict
from runners.intervals import Estimate, estimate

VERDICTS: tuple[str, ...] = (*get_args(Verdict), "missing")
MAX_REASONS = 40
RULES = ("json", "typed", "python", "format")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The cases that share `value` in `group` (outcome, kind, package, language)."""

    group: str
    value: str
    cases: int
    clusters: int
    planned: int
    verdicts: dict[str, int]  # every verdict and "missing", summing to planned
    pass_at: dict[str, Estimate | None]  # by k; None where the slice is incomplete
    macro: dict[str, Estimate | None]  # the same, every function counting once
    rules: dict[str, Estimate | None]  # share of attempts right by each rule; None where incomplete or not applied
    type_only: Estimate | None  # share of attempts with the right exception class, over the slice's error cases


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a run amounts to. All shares are of planned attempts, in 0..1.

    An attempt that is missing or `failed` makes every number it belongs to None, and the run incomplete; `bounds` then
    hold pass@1 between all of them being wrong and all being right.
    """

    complete: bool
    cases: int
    clusters: int
    samples: int
    planned: int
    recorded: int  # attempts with a verdict on the model: neither missing nor failed
    verdicts: dict[str, int]
    rates: dict[str, float]  # verdicts over planned
    reasons: dict[str, int]  # "verdict: reason" without its details, most frequent first
    pass_at: dict[str, Estimate | None]
    macro: dict[str, Estimate | None]
    bounds: tuple[float, float]
    rules: dict[str, Estimate | None]
    type_only: Estimate | None
    credit: Estimate | None
    slices: tuple[Slice, ...]


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate of pass@k from `n` samples of which `c` are correct: 1 - C(n-c, k) / C(n, k).

    Chen et al., *Evaluating Large Language Models Trained on Code*, 2021, eq. 1; exact, rounded once to a float. Raises
    UsageError for k > n, where it is not defined, and ValueError for numbers that are no counts.
    """
    for name, number in (("n", n), ("c", c), ("k", k)):
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError(f"{name} must be a whole number, not {number!r}")
    if n < 1 or k < 1 or not 0 <= c <= n:
        raise ValueError(f"pass@k needs n >= 1, k >= 1 and 0 <= c <= n, not n={n}, c={c}, k={k}")
    if k > n:
        raise UsageError(f"pass@{k} is not defined for {n} samples a case: take at least {k} samples or a smaller k")
    return float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


def score(
    cases: Sequence[Case],
    attempts: Iterable[Attempt],
    *,
    ks: Sequence[int] = (1,),
    samples: int = 1,
    packages: Mapping[str, str] | None = None,
) -> Score:
    """Score a run that planned `samples` attempts (numbered from 0) at each of `cases`.

    `packages` maps program ids to package names. An attempt of a case or sample that was not planned, and a second
    verdict on the same (case, sample), is an InputError; a `failed` attempt may be followed by another try. UsageError for
    k > samples.
    """
    if not cases:
        raise InputError("no cases to score: the task set or the selection is empty")
    for k in ks:
        pass_at_k(samples, 0, k)
    tallies = _tallies(cases, attempts, samples)
    verdicts = _verdicts(tallies)
    planned = len(tallies) * samples
    micro, macro = _pass_at(tallies, ks, samples)
    right = verdicts["correct"]
    unknown = verdicts["missing"] + verdicts["failed"]
    return Score(
        complete=unknown == 0,
        cases=len(tallies),
        clusters=len({tally.cluster for tally in tallies}),
        samples=samples,
        planned=planned,
        recorded=planned - unknown,
        verdicts=verdicts,
        rates={name: count / planned for name, count in verdicts.items()},
        reasons=_reasons(tallies),
        pass_at=micro,
        macro=macro,
        bounds=(right / planned, (right + unknown) / planned),
        rules=_rules(tallies, samples),
        type_only=_type_only(tallies, samples),
        credit=_mean(tallies, samples, lambda mark: mark.credit),
        slices=tuple(_slices(tallies, ks, samples, packages)),
    )


@dataclass(frozen=True, slots=True)
class _Mark:
    """What counts of an attempt."""

    verdict: str
    reason: str | None
    credit: float
    rules: tuple[bool | None, ...]  # by RULES
    type_only: bool | None


@dataclass(slots=True)
class _Tally:
    """One planned case and the marks of its samples, None where there is none yet."""

    case: Case
    cluster: str
    marks: list[_Mark | None]

    @property
    def complete(self) -> bool:
        return all(mark is not None and mark.verdict != "failed" for mark in self.marks)

    @property
    def correct(self) -> int:
        return sum(mark is not None and mark.verdict == "correct" for mark in self.marks)


def _tallies(cases: Sequence[Case], attempts: Iterable[Attempt], samples: int) -> list[_Tally]:
    tallies: dict[str, _Tally] = {}
    for case in cases:
        if case.id in tallies:
            raise InputError(f"case {case.id} stands twice in the task set")
        tallies[case.id] = _Tally(case, case.cluster or case.program, [None] * samples)
    shared: dict[_Mark, _Mark] = {}
    for attempt in attempts:
        tally = tallies.get(attempt.case)
        if tally is None:
            raise InputError(f"an attempt at case {attempt.case}, which is not in the task set or the selection")
        if not 0 <= attempt.sample < samples:
            raise InputError(f"sample {attempt.sample} of case {attempt.case} is beyond the {samples} planned")
        mark = _mark(attempt)
        before = tally.marks[attempt.sample]
        if before is not None and before.verdict != "failed":
            if mark.verdict == "failed":
                continue
            raise InputError(f"two verdicts on case {attempt.case} sample {attempt.sample}")
        tally.marks[attempt.sample] = shared.setdefault(mark, mark)
    return list(tallies.values())


def _mark(attempt: Attempt) -> _Mark:
    if attempt.verdict not in get_args(Verdict):
        raise InputError(f"unknown verdict {attempt.verdict!r} of case {attempt.case} sample {attempt.sample}")
    if not 0.0 <= attempt.credit <= 1.0:
        raise InputError(f"credit {attempt.credit} of case {attempt.case} sample {attempt.sample} is not within 0..1")
    return _Mark(
        attempt.verdict,
        attempt.reason,
        attempt.credit,
        tuple(attempt.strict.get(rule) for rule in RULES),
        attempt.strict.get("type_only"),
    )


def _verdicts(tallies: Iterable[_Tally]) -> dict[str, int]:
    counts = Counter(mark.verdict if mark else "missing" for tally in tallies for mark in tally.marks)
    return {name: counts[name] for name in VERDICTS}


def _reasons(tallies: Iterable[_Tally]) -> dict[str, int]:
    """How often each reason was given, its details left out; beyond `MAX_REASONS` the rarest are counted together."""
    counts = Counter(
        f"{mark.verdict}: {mark.reason.partition(':')[0]}"
        for tally in tallies
        for mark in tally.marks
        if mark and mark.reason
    )
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _, count in ranked[MAX_REASONS:])
    return dict(ranked[:MAX_REASONS]) | ({"other": rest} if rest else {})


def _clusters(tallies: Sequence[_Tally], values: Iterable[float]) -> list[list[float]]:
    """The `values`, one a tally, by cluster."""
    groups: dict[str, list[float]] = {}
    for tally, value in zip(tallies, values, strict=True):
        groups.setdefault(tally.cluster, []).append(value)
    return list(groups.values())


def _pass_at(
    tallies: Sequence[_Tally], ks: Sequence[int], samples: int
) -> tuple[dict[str, Estimate | None], dict[str, Estimate | None]]:
    """pass@k over cases (micro) and over functions (macro: the mean of each function's mean)."""
    if not all(tally.complete for tally in tallies):
        return {str(k): None for k in ks}, {str(k): None for k in ks}
    micro: dict[str, Estimate | None] = {}
    macro: dict[str, Estimate | None] = {}
    for k in ks:
        table = [pass_at_k(samples, c, k) for c in range(samples + 1)]
        groups = _clusters(tallies, (table[tally.correct] for tally in tallies))
        micro[str(k)] = estimate(groups, samples)
        macro[str(k)] = estimate(([math.fsum(group) / len(group)] for group in groups), samples * _smallest(groups))
    return micro, macro


def _smallest(groups: Iterable[Sequence[float]]) -> int:
    return min(map(len, groups))


def _mean(tallies: Sequence[_Tally], samples: int, value: Callable[[_Mark], float]) -> Estimate | None:
    """The mean of `value` over all attempts; None while there are unknown ones."""
    if not tallies or not all(tally.complete for tally in tallies):
        return None
    means = (math.fsum(value(mark) for mark in tally.marks if mark) / samples for tally in tallies)
    return estimate(_clusters(tallies, means), samples)


def _rules(tallies: Sequence[_Tally], samples: int) -> dict[str, Estimate | None]:
    """By rule, the share of attempts that it accepts; None for a rule that was applied to none."""
    rules: dict[str, Estimate | None] = {}
    for index, rule in enumerate(RULES):
        accepted = [mark.rules[index] for tally in tallies for mark in tally.marks if mark]
        applied = any(verdict is not None for verdict in accepted)
        rules[rule] = _mean(tallies, samples, partial(_accepts, index)) if applied else None
    return rules


def _accepts(index: int, mark: _Mark) -> float:
    return float(mark.rules[index] is True)


def _type_only(tallies: Sequence[_Tally], samples: int) -> Estimate | None:
    errors = [tally for tally in tallies if "error" in tally.case.typed]
    return _mean(errors, samples, lambda mark: float(mark.type_only is True))


def _slices(
    tallies: Sequence[_Tally], ks: Sequence[int], samples: int, packages: Mapping[str, str] | None
) -> Iterable[Slice]:
    groups: tuple[tuple[str, Callable[[_Tally], str | None]], ...] = (
        ("outcome", lambda tally: "error" if "error" in tally.case.typed else "output"),
        ("kind", lambda tally: tally.case.kind),
        ("package", lambda tally: (packages or {}).get(tally.case.program)),
        ("language", lambda tally: tally.case.language),
    )
    for group, key in groups:
        members: dict[str, list[_Tally]] = {}
        for tally in tallies:
            value = key(tally)
            if value is not None:
                members.setdefault(value, []).append(tally)
        for value, part in sorted(members.items()):
            micro, macro = _pass_at(part, ks, samples)
            yield Slice(
                group=group,
                value=value,
                cases=len(part),
                clusters=len({tally.cluster for tally in part}),
                planned=len(part) * samples,
                verdicts=_verdicts(part),
                pass_at=micro,
                macro=macro,
                rules=_rules(part, samples),
                type_only=_type_only(part, samples),
            )
