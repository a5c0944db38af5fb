"""A batch answers as a process a call would, in fewer processes."""

from __future__ import annotations

import pytest

from exe.records import Job, Outcome
from exe.sandbox.host import Sandbox

MIXED = """
import os, sys
LIST = []
def f(n, kept=None):
    LIST.append(n)
    if n == 0:
        return len(LIST), kept
    if n == 1:
        raise KeyError(n)
    if n == 2:
        os._exit(0)
    if n == 3:
        open('x', 'w')
    if n == 4:
        return f
    if n == 5:
        return len(bytearray(10 ** 13))
    if n == 6:
        for d in range(3, 64):
            try:
                os.write(d, b'junk')
            except OSError:
                pass
    if n == 7:
        return 'x' * (1 << 17)
    if n == 8:
        while True:
            print('x' * 10000)
    if n == 9:
        sys.setrecursionlimit(60)
        return sys.getrecursionlimit()
    if n == 10:
        return sys.getrecursionlimit()
    if n == 11:
        kept.append(1)
        return kept
    if n == 12:
        os.abort()
    return str(7 ** 20000)
"""
STATUSES = ["value", "error", "crashed", "impure", "unrepresentable", "memory", "forged", "overflow", "overflow", "value",
            "value", "value", "crashed", "error"]  # fmt: skip


def run(sandbox: Sandbox, source: str, *calls: str, batch: bool = True) -> tuple[Outcome, ...]:
    return next(sandbox.execute([Job(source=source, calls=calls, batch=batch)]))


def test_a_batch_answers_as_a_process_a_call(sandbox: Sandbox) -> None:
    calls = [f"f({n}, [])" for n in range(len(STATUSES))]
    order = [*calls, *calls[::-1], "f(0) or 1", "f(", "f(1, [])", "g()"]
    single, batch = (run(sandbox, MIXED, *order, batch=batch) for batch in (False, True))
    assert [outcome.status for outcome in single[: len(STATUSES)]] == STATUSES
    for call, alone, among in zip(order, single, batch, strict=True):
        assert (among.status, among.plain, among.typed) == (alone.status, alone.plain, alone.typed), call
        assert (among.mutates_arguments, among.unstable) == (alone.mutates_arguments, alone.unstable), call


def test_one_process_serves_all_calls(sandbox: Sandbox) -> None:
    source = "import os\ndef f(n):\n    return os.getpid() if n else os._exit(3)\n"
    batch = run(sandbox, source, "f(1)", "f(1)", "f(0)", "f(1)", "f(1)")
    first, second, _, third, fourth = (outcome.plain for outcome in batch)
    assert first == second != third == fourth
    assert len({str(outcome.plain) for outcome in run(sandbox, source, *["f(1)"] * 3, batch=False)}) == 3


def test_time_is_counted_a_call(sandbox: Sandbox) -> None:
    """Each call takes more than half of its CPU time; one takes all of it, one its wall-clock time."""
    source = (
        "import time\ndef f(n):\n    end = time.process_time() + 0.3\n"
        "    while n == 2 or time.process_time() < end:\n        pass\n    return n\n"
    )
    batch = run(sandbox, source, "f(0)", "f(1)", "f(2)", "f(3)")
    assert [outcome.status for outcome in batch] == ["value", "value", "timeout", "value"]
    assert "CPU" in batch[2].detail
    assert all(outcome.cpu_seconds is not None and outcome.cpu_seconds > 0.25 for outcome in batch)


def test_what_earlier_calls_left_behind_takes_no_call_down(sandbox: Sandbox) -> None:
    """Memory that is kept for good, and output, add up over a batch; a call is judged by what it needs itself."""
    memory = (
        "import string\nstring.kept = getattr(string, 'kept', [])\n"
        "def f(n):\n    string.kept.append(bytearray(60 << 20))\n    return n\n"
    )
    output = "def f(n):\n    print('x' * 300_000, flush=True)\n    return n\n"
    for source in (memory, output):
        batch = run(sandbox, source, *[f"f({n})" for n in range(10)])
        assert [outcome.plain for outcome in batch] == [{"value": n} for n in range(10)]


@pytest.mark.parametrize("source", ["def f(:\n", "1 / 0\n", "x = '\0'", "import os\nos._exit(1)\n"])
def test_a_program_that_does_not_load(sandbox: Sandbox, source: str) -> None:
    single, batch = (run(sandbox, source, "f(1)", "f(2)", "f(3)", batch=batch) for batch in (False, True))
    assert [(o.status, o.detail) for o in batch] == [(o.status, o.detail) for o in single]


def test_depth_is_the_same_in_every_call(sandbox: Sandbox) -> None:
    source = "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nLOADED = f(997)\n"
    calls = ("f(998)", "f(998) + 0", "f(999)", "f(999) + 0") * 2
    for batch in (False, True):
        outcomes = run(sandbox, source, *calls, batch=batch)
        assert [outcome.status for outcome in outcomes] == ["value", "value", "error", "error"] * 2


def test_a_killed_worker_goes_on_with_the_rest_of_a_batch(sandbox: Sandbox) -> None:
    jobs = [Job(source="def f(n):\n    return n\n", calls=tuple(f"f({n})" for n in range(50)), batch=True)] * 4
    seen = []
    for outcomes in sandbox.execute(jobs):
        seen.append([outcome.plain for outcome in outcomes])
        sandbox._workers[0].process.kill()
    assert seen == [[{"value": n} for n in range(50)]] * 4


def test_a_batch_is_not_traced(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="not traced"):
        next(sandbox.execute([Job(source="", calls=("f()",), batch=True, trace=True)]))
