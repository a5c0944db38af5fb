"""Branches of calls: what is a site, which outcomes happened, and that probes change no result."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from exe.records import Job
from exe.sandbox.branches import sites
from exe.sandbox.host import Sandbox

PROGRAM = """
def f(a, b=()):
    if a > 10:
        return "large"
    elif a < 0:
        raise ValueError("negative")
    found = [x for x in b if x]
    for x in b:
        if x == 3:
            break
    while a:
        a -= 1
    try:
        1 / len(b)
    except ZeroDivisionError:
        return "none"
    except (TypeError, KeyError):
        return "never"
    match b:
        case [1, *_] if found:
            raise KeyError(b)
        case [y]:
            return y
    return "odd" if len(b) % 2 else "even"
"""
KINDS = ["if", "if", "raise", "filter", "for", "if", "while", "except", "except", "case", "raise", "case", "ifexp"]


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def test_sites_are_numbered_from_the_outside_in() -> None:
    found = sites(PROGRAM)
    assert [site.kind for site in found] == KINDS
    assert [number for site in found for number in site.outcomes] == list(range(20))
    assert found[0].line == 3


def taken(box: Sandbox, call: str, *, batch: bool = False) -> set[tuple[int, int]]:
    """(line, outcome) of what happened."""
    (outcome,) = next(iter(box.execute([Job(source=PROGRAM, calls=(call,), cover=True, batch=batch)])))
    by_number = {number: (site.line, at) for site in sites(PROGRAM) for at, number in enumerate(site.outcomes)}
    return {by_number[number] for number in outcome.branches}


@pytest.mark.parametrize("batch", [False, True])
def test_what_a_call_takes(box: Sandbox, batch: bool) -> None:
    assert taken(box, "f(11)", batch=batch) == {(3, 0)}
    assert taken(box, "f(-1)", batch=batch) == {(3, 1), (5, 0), (6, 0)}
    assert taken(box, "f(0)", batch=batch) == {(3, 1), (5, 1), (8, 1), (11, 1), (15, 0)}
    loop = {(3, 1), (5, 1), (7, 0), (7, 1), (8, 0), (9, 0), (9, 1), (11, 0), (11, 1)}
    assert taken(box, "f(1, [1, 3, 0])", batch=batch) == loop | {(20, 0), (21, 0)}
    assert taken(box, "f(0, [0, 4])", batch=batch) == {
        (3, 1), (5, 1), (7, 0), (7, 1), (8, 0), (8, 1), (9, 1), (11, 1), (24, 1),
    }  # fmt: skip


def test_each_call_of_a_batch_has_its_own(box: Sandbox) -> None:
    calls = ("f(11)", "f(-1)", "f(11)")
    outcomes = next(iter(box.execute([Job(source=PROGRAM, calls=calls, cover=True, batch=True)])))
    assert outcomes[0].branches == outcomes[2].branches != outcomes[1].branches


CALLS = ("f(11)", "f(-1)", "f(0)", "f(1, [1, 3, 0])", "f(0, [0, 4])", "f(2, [7])", "f('x')", "f(3, {1, 2})")


def test_probes_change_no_outcome(box: Sandbox) -> None:
    plain = next(iter(box.execute([Job(source=PROGRAM, calls=CALLS)])))
    probed = next(iter(box.execute([Job(source=PROGRAM, calls=CALLS, cover=True)])))
    assert [(one.status, one.plain, one.typed) for one in plain] == [
        (one.status, one.plain, one.typed) for one in probed
    ]
    assert not any(one.branches for one in plain)


def test_truth_is_asked_once(box: Sandbox) -> None:
    source = (
        "class T:\n    asked = 0\n    def __bool__(self):\n        T.asked += 1\n        return True\n"
        "def f():\n    if T():\n        pass\n    x = 1 if T() else 2\n    y = [1 for _ in [1] if T()]\n    return T.asked\n"
    )
    (outcome,) = next(iter(box.execute([Job(source=source, calls=("f()",), cover=True)])))
    assert outcome.plain == {"value": 3}


ENDLESS = """
def spin(n):
    while n:
        try:
            n += 1
        except BaseException:
            pass
    return n
def add(n):
    return sum(range(n))
"""


@pytest.mark.parametrize("batch", [False, True])
def test_a_call_may_come_to_so_many_branches(box: Sandbox, batch: bool) -> None:
    calls = ("spin(0)", "spin(1)", "spin(-5)", "add(10**12)", "spin(0)")
    job = Job(source=ENDLESS, calls=calls, cover=True, batch=batch, steps=1000, cpu_seconds=0.25)
    outcomes = next(iter(box.execute([job])))
    assert [one.status for one in outcomes] == ["value", "timeout", "value", "timeout", "value"]
    assert [outcomes[at].detail for at in (1, 3)] == ["more branches than the limit", "more CPU time than the limit"]


def test_programs_that_follow_each_other_are_not_taken_for_one_another() -> None:
    jobs = [
        Job(source=f"def f(n):\n    return {name} if n else 0\n", calls=(call,), cover=True, batch=True)
        for name in (1, 2, 1)
        for call in ("f(1)", "f(0)", "f(1)")
    ]
    with Sandbox(workers=1) as one:
        found = [(outcome.plain or {})["value"] for (outcome,) in one.execute(jobs)]
    assert found == [1, 0, 1, 2, 0, 2, 1, 0, 1]


def test_metrics_and_branches_do_not_mix(box: Sandbox) -> None:
    with pytest.raises(ValueError, match="probes"):
        next(iter(box.execute([Job(source=PROGRAM, calls=("f(1)",), cover=True, trace=True)])))


SHARED = "if len('load'):\n    seen = []\ndef f(n):\n    seen.append(n)\n    return len(seen) if n else 1 / n\n"


@pytest.mark.parametrize(("cover", "expected"), [(True, [1, 2, None, 4]), (False, [1, 1, None, 1])])
def test_a_batch_with_probes_loads_the_program_once(box: Sandbox, cover: bool, expected: list[int | None]) -> None:
    calls = ("f(1)", "f(2)", "f(0)", "f(3)")
    outcomes = next(iter(box.execute([Job(source=SHARED, calls=calls, cover=cover, batch=True)])))
    assert [(one.plain or {}).get("value") for one in outcomes] == expected
    if cover:
        assert [one.branches for one in outcomes] == [(2,), (2,), (3,), (2,)]  # none of those taken while it loaded
