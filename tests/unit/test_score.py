"""Scores: pass@k, planned denominators, slices, intervals; numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from exe.errors import InputError, UsageError
from exe.records import Attempt, Case, Verdict
from runners.intervals import estimate, student_quantile, wilson
from runners.score import MAX_REASONS, pass_at_k, score


def case(name: str, program: str = "p", *, error: bool = False, **more: Any) -> Case:
    truth: dict[str, Any] = {"error": {"code": "E", "message": "m"}} if error else {"value": 1}
    return Case(
        id=name, program=program, kind="output", arguments={}, call="f()", expected=truth, typed=truth, **more
    )  # fmt: skip


def attempt(name: str, sample: int = 0, verdict: Verdict = "correct", **more: Any) -> Attempt:
    right = verdict == "correct"
    fields: dict[str, Any] = {
        "reason": None,
        "credit": float(right),
        "strict": {"json": right, "typed": False, "python": None, "type_only": None},
    }
    return Attempt(
        case=name,
        sample=sample,
        request_sha256="",
        completion=None,
        repair=None,
        answer=None,
        verdict=verdict,
        **(fields | more),
    )


def samples_of(name: str, right: int, wrong: int) -> list[Attempt]:
    verdicts: list[Verdict] = ["correct"] * right + ["wrong"] * wrong
    return [attempt(name, sample, verdict) for sample, verdict in enumerate(verdicts)]


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (10, 1, 1, 0.1),
        (10, 0, 5, 0.0),
        (10, 10, 5, 1.0),
        (10, 6, 5, 1.0),  # every five hold a right one
        (5, 2, 2, 0.7),
        (4, 1, 2, 0.5),
        (200, 1, 100, 0.5),
        (1, 1, 1, 1.0),
        (10_000, 1, 1, 0.0001),
    ],
)
def test_pass_at_k(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == expected


@pytest.mark.parametrize("c", [0, 1, 2])
def test_pass_at_k_is_not_defined_beyond_the_samples(c: int) -> None:
    with pytest.raises(UsageError, match=r"pass@5 is not defined for 2 samples"):
        pass_at_k(2, c, 5)


@pytest.mark.parametrize(
    "counts", [(0, 0, 1), (2, 3, 1), (2, -1, 1), (2, 1, 0), (True, 1, 1), (2.0, 1, 1), (2, None, 1)]
)
def test_pass_at_k_takes_counts_only(counts: tuple[Any, Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be|needs"):
        pass_at_k(*counts)


def test_problems_are_no_samples() -> None:
    """50 of 164 problems solved with one sample each is 30.5%; no k above 1 can be had from it."""
    cases = [case(f"c{i}", f"p{i}") for i in range(164)]
    attempts = [attempt(f"c{i}", 0, "correct" if i < 50 else "wrong") for i in range(164)]
    found = score(cases, attempts).pass_at["1"]
    assert found is not None
    assert found.value == pytest.approx(50 / 164, abs=1e-15)
    with pytest.raises(UsageError, match="not defined"):
        score(cases, attempts, ks=(10,))


def test_answers_that_cannot_be_read_stay_in_the_denominator() -> None:
    attempts = [
        attempt("c", 0, "correct"),
        attempt("c", 1, "wrong"),
        *(attempt("c", i, "unparseable") for i in range(2, 10)),
    ]
    found = score([case("c")], attempts, samples=10)
    assert found.pass_at["1"] is not None
    assert found.pass_at["1"].value == 0.1
    assert found.rates["unparseable"] == 0.8
    assert found.planned == sum(found.verdicts.values()) == 10


def test_missing_attempts_leave_the_run_without_a_number() -> None:
    cases = [case(f"c{i}", f"p{i}") for i in range(164)]
    found = score(cases, [attempt(f"c{i}") for i in range(19)])
    assert not found.complete
    assert (found.pass_at["1"], found.macro["1"], found.credit, found.rules["json"]) == (None, None, None, None)
    assert (found.recorded, found.verdicts["missing"]) == (19, 145)
    assert found.bounds == (19 / 164, 1.0)


def test_a_failed_attempt_is_neither_wrong_nor_left_out() -> None:
    cases = [case("a", "p1"), case("b", "p2", error=True)]
    found = score(cases, [attempt("a"), attempt("b", 0, "failed", strict={})])
    assert (found.complete, found.pass_at["1"], found.bounds) == (False, None, (0.5, 1.0))
    whole, part = (next(s for s in found.slices if s.value == value) for value in ("output", "error"))
    assert whole.pass_at["1"] is not None
    assert part.pass_at["1"] is None


def test_another_try_replaces_a_failed_attempt_and_nothing_else_does() -> None:
    again = [attempt("a", 0, "failed"), attempt("a"), attempt("a", 0, "failed")]
    assert score([case("a")], again).verdicts["correct"] == 1
    with pytest.raises(InputError, match="two verdicts on case a sample 0"):
        score([case("a")], [attempt("a"), attempt("a", 0, "wrong")])


@pytest.mark.parametrize(
    ("cases", "attempts", "message"),
    [
        ([], [], "no cases"),
        ([case("a"), case("a")], [], "twice"),
        ([case("a")], [attempt("b")], "case b, which is not"),
        ([case("a")], [attempt("a", 1)], "sample 1 of case a is beyond the 1 planned"),
        ([case("a")], [attempt("a", -1)], "sample -1"),
        ([case("a")], [attempt("a", credit=1.5)], "credit 1.5"),
        ([case("a")], [attempt("a", verdict="fine")], "unknown verdict 'fine'"),  # type: ignore[arg-type]
    ],
)
def test_foreign_attempts_are_refused(cases: Sequence[Case], attempts: Sequence[Attempt], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(cases, attempts)


def test_micro_and_macro_averages() -> None:
    cases = [case("a", "p1"), case("b", "p1"), case("c", "p1"), case("d", "p2")]
    attempts = [attempt("a"), attempt("b"), attempt("c"), attempt("d", 0, "wrong")]
    found = score(cases, attempts)
    assert found.pass_at["1"] is not None
    assert found.macro["1"] is not None
    assert (found.pass_at["1"].value, found.macro["1"].value) == (0.75, 0.5)
    assert (found.pass_at["1"].cases, found.pass_at["1"].clusters, found.macro["1"].cases) == (4, 2, 2)


def test_pass_at_several_k() -> None:
    cases = [case("a", "p1"), case("b", "p2")]
    found = score(cases, samples_of("a", 1, 3) + samples_of("b", 2, 2), ks=(1, 2, 4), samples=4)
    values = {k: entry.value for k, entry in found.pass_at.items() if entry}
    assert values == pytest.approx({"1": (1 / 4 + 2 / 4) / 2, "2": (1 / 2 + 5 / 6) / 2, "4": 1.0})


def test_a_case_may_name_its_own_cluster() -> None:
    cases = [case("a", "p1", cluster="x"), case("b", "p2", cluster="x"), case("c", "p3")]
    assert score(cases, [attempt(name) for name in "abc"]).clusters == 2


def test_slices() -> None:
    cases = [case("a", "p1"), case("b", "p2", error=True), case("c", "p3", error=True, language="lua")]
    attempts = [
        attempt("a"),
        attempt("b", 0, "wrong", strict={"json": False, "type_only": True}),
        attempt("c", strict={"json": True, "type_only": True}),
    ]
    found = score(cases, attempts, packages={"p1": "idna", "p2": "idna", "p3": "attrs"})
    values = {(s.group, s.value): s.pass_at["1"].value for s in found.slices if s.pass_at["1"]}
    assert values == {
        ("outcome", "error"): 0.5,
        ("outcome", "output"): 1.0,
        ("kind", "output"): 2 / 3,
        ("package", "attrs"): 1.0,
        ("package", "idna"): 0.5,
        ("language", "lua"): 1.0,
    }
    assert found.type_only is not None
    assert (found.type_only.value, found.type_only.cases) == (1.0, 2)
    assert next(s for s in found.slices if s.value == "output").type_only is None


def test_rules_are_shares_of_all_attempts() -> None:
    cases = [case("a", "p1"), case("b", "p2")]
    attempts = [
        attempt("a", strict={"json": True, "typed": True, "format": True}),
        attempt("b", 0, "unparseable", strict={"json": False, "typed": False, "format": False}),
    ]
    found = score(cases, attempts).rules
    assert {name: entry and entry.value for name, entry in found.items()} == {
        "json": 0.5,
        "typed": 0.5,
        "python": None,
        "format": 0.5,
    }


def test_reasons_are_counted_without_details_and_bounded() -> None:
    cases = [case(f"c{i}") for i in range(100)]
    plain = [attempt(f"c{i}", 0, "unparseable", reason=f"no literal: text {i}") for i in range(50)]
    varied = [attempt(f"c{i}", 0, "unparseable", reason=f"reason {i}") for i in range(50, 100)]
    reasons = score(cases, plain + varied).reasons
    assert reasons["unparseable: no literal"] == 50
    assert (len(reasons), sum(reasons.values())) == (MAX_REASONS + 1, 100)


def test_graded_credit_is_averaged_beside_the_verdicts() -> None:
    cases = [case("a", "p1"), case("b", "p2")]
    found = score(cases, [attempt("a", credit=0.25, verdict="wrong"), attempt("b")])
    assert found.credit is not None
    assert found.credit.value == 0.625


# intervals ------------------------------------------------------------------------------------------------------------


def test_clustered_variance_by_hand() -> None:
    """Clusters (1, 1), (0, 0), (1, 0): mean 1/2, cluster sums of residuals 1, -1, 0, so V = 3/2 · 2 / 36 = 1/12."""
    found = estimate([[1, 1], [0, 0], [1, 0]])
    assert found.value == 0.5
    assert found.standard_error == pytest.approx(math.sqrt(1 / 12))
    assert found.design_effect == pytest.approx((1 / 12) / (0.25 / 5))
    # n* = (1/4)/(1/12) = 3, t(2) = 4.302653: half width = t/(1 + t²/3) · √(1/12 + t²/36)
    t = 4.302652729911275
    half = t / (1 + t * t / 3) * math.sqrt(1 / 12 + t * t / 36)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_single_case_clusters_give_nearly_wilsons_interval() -> None:
    found = estimate([[1.0]] * 30 + [[0.0]] * 70)
    low, high = wilson(0.3, 100, 1.959963984540054)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.003)
    assert (low, high) == pytest.approx((0.2189, 0.3958), abs=1e-4)  # the textbook's example of Wilson's interval


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_extreme_means_count_clusters_not_cases(value: float) -> None:
    few = estimate([[value] * 100] * 10)
    many = estimate([[value]] * 1000)
    width = few.high - few.low
    assert 0.2 < width < 0.4  # ten functions say little, a hundred cases of each or not
    assert many.high - many.low < 0.005
    assert value in (few.low, few.high)


def test_one_cluster_says_nothing_about_other_functions() -> None:
    found = estimate([[1.0, 0.0, 1.0]])
    assert (found.low, found.high, found.standard_error) == (0.0, 1.0, None)


def test_equal_clusters_that_differ_within_are_not_taken_for_certain() -> None:
    found = estimate([[1.0, 0.0]] * 5)
    assert found.value == 0.5
    assert found.low < 0.4
    assert found.high > 0.6


@pytest.mark.parametrize("clusters", [[], [[]], [[1.5]], [[-0.1, 0.0]], [[math.nan]]])
def test_estimates_need_observations_within_bounds(clusters: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"observations"):
        estimate(clusters)


@pytest.mark.parametrize(
    ("degrees", "quantile"),  # two-sided 95%, as printed in tables of Student's distribution
    [(1, 12.7062), (2, 4.3027), (5, 2.5706), (10, 2.2281), (30, 2.0423), (100, 1.9840), (200, 1.9719), (1000, 1.9623)],
)
def test_students_quantiles(degrees: int, quantile: float) -> None:
    assert student_quantile(degrees) == pytest.approx(quantile, abs=6e-5)


def test_students_quantile_is_smooth_where_the_method_changes() -> None:
    steps = [student_quantile(d) - student_quantile(d + 1) for d in (199, 200, 201)]
    assert steps == sorted(steps, reverse=True)
    with pytest.raises(ValueError, match="degree"):
        student_quantile(0)
