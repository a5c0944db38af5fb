from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exe.errors import IsolationError, SandboxError
from exe.records import Job, Outcome
from exe.sandbox import isolation
from exe.sandbox.host import Limits, Sandbox
from tests.unit.sandbox.conftest import QUICK

ROOT = Path(__file__).parents[3]
ADD = "def f(a, b=0):\n    return a + b\n"


def one(sandbox: Sandbox, source: str, call: str) -> Outcome:
    ((outcome,),) = sandbox.execute([Job(source=source, calls=(call,))])
    return outcome


def test_outcomes_come_in_order_of_jobs_and_calls(sandbox: Sandbox) -> None:
    jobs = [Job(source=ADD, calls=tuple(f"f({i}, {j})" for j in range(i % 4))) for i in range(20)]
    seen = [[outcome.plain for outcome in outcomes] for outcomes in sandbox.execute(jobs)]
    assert seen == [[{"value": i + j} for j in range(i % 4)] for i in range(20)]


def test_an_endless_iterator_is_read_a_bounded_way_ahead(sandbox: Sandbox) -> None:
    taken = itertools.count()
    jobs = (Job(source=ADD, calls=(f"f({next(taken)})",)) for _ in itertools.count())
    seen = [outcomes[0].plain for outcomes in itertools.islice(sandbox.execute(jobs), 12)]
    assert seen == [{"value": i} for i in range(12)]
    assert next(taken) <= 12 + 8


def test_executions_may_interleave_and_be_abandoned(sandbox: Sandbox) -> None:
    first = sandbox.execute(Job(source=ADD, calls=(f"f({i})",)) for i in range(30))
    assert next(first)[0].plain == {"value": 0}
    assert one(sandbox, ADD, "f(99)").plain == {"value": 99}
    assert next(first)[0].plain == {"value": 1}
    first.close()
    assert one(sandbox, ADD, "f(98)").plain == {"value": 98}


def test_large_programs_and_results_pass(sandbox: Sandbox) -> None:
    source = "TEXT = " + repr("ü" * 300_000) + "\ndef f():\n    return TEXT[:10_000]\n"
    outcomes = next(sandbox.execute([Job(source=source, calls=("f()",) * 3)]))
    assert [outcome.plain for outcome in outcomes] == [{"value": "ü" * 10_000}] * 3


def test_a_program_over_the_limit_is_unloadable_without_being_sent(sandbox: Sandbox) -> None:
    outcome = one(sandbox, "#" * (QUICK.source_bytes + 1), "f()")
    assert (outcome.status, outcome.detail[:17]) == ("unloadable", "program and calls")


def test_big_integers_are_exact(sandbox: Sandbox) -> None:
    assert one(sandbox, "def f():\n    return 7 ** 20000\n", "f()").plain == {"value": 7**20000}
    outcome = one(sandbox, "def f():\n    return str(7 ** 20000)\n", "f()")
    assert outcome.plain is not None
    assert outcome.plain["error"]["code"] == "ValueError"


@pytest.mark.parametrize(
    ("source", "detail"),
    [("def f(:\n", "SyntaxError"), ("1 / 0\n", "ZeroDivisionError: division by zero"), ("x = '\0'", "null bytes"), ("\ud800", "Unicode")],
)  # fmt: skip
def test_unloadable_programs(sandbox: Sandbox, source: str, detail: str) -> None:
    outcome = one(sandbox, source, "f()")
    assert outcome.status == "unloadable"
    assert detail in outcome.detail


def test_a_call_that_does_not_parse_is_unloadable(sandbox: Sandbox) -> None:
    assert one(sandbox, ADD, "f(").status == "unloadable"
    assert one(sandbox, ADD, "f(1); f(2)").status == "unloadable"


def test_each_call_has_a_process_of_its_own(sandbox: Sandbox) -> None:
    source = "import itertools\nn = itertools.count()\ndef f():\n    return next(n)\n"
    outcomes = next(sandbox.execute([Job(source=source, calls=("f()",) * 3)]))
    assert [outcome.plain for outcome in outcomes] == [{"value": 0}] * 3


def test_a_crash_loses_its_own_call_only(sandbox: Sandbox) -> None:
    source = "import os\ndef f(n):\n    return n if n != 1 else os._exit(5)\n"
    outcomes = next(sandbox.execute([Job(source=source, calls=("f(0)", "f(1)", "f(2)"))]))
    assert [outcome.status for outcome in outcomes] == ["value", "crashed", "value"]
    assert "status 5" in outcomes[1].detail


@pytest.mark.parametrize(
    ("call", "mutates"),
    [
        ("f([1])", True),
        ("f(a=[1])", True),
        ("f((1,))", False),
        ("f({})", False),
        ("f(1)", False),
        ("f(iter([1, 2]))", True),
        ("f(*[[1]])", None),
        ("f(**{'a': [1]})", None),
        ("f([1]) or 0", None),
        ("f(lambda: 0)", None),
    ],
)
def test_mutated_arguments(sandbox: Sandbox, call: str, mutates: bool | None) -> None:
    source = "def f(a):\n    if isinstance(a, list):\n        a.append(1)\n    elif hasattr(a, '__next__'):\n        next(a)\n"
    assert one(sandbox, source, call).mutates_arguments is mutates


def test_an_iterator_argument_reaches_the_call_untouched(sandbox: Sandbox) -> None:
    assert one(sandbox, "def f(a):\n    return list(a)\n", "f(iter([1, 2]))").plain == {"value": [1, 2]}


def test_mutation_is_seen_before_an_error_too(sandbox: Sandbox) -> None:
    outcome = one(sandbox, "def f(a):\n    a.append(1)\n    raise ValueError(a)\n", "f([0])")
    assert (outcome.status, outcome.mutates_arguments) == ("error", True)


def test_recursion_depth_counts_from_the_top_level(sandbox: Sandbox) -> None:
    source = (
        "import sys\ndef f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nLOADED = f(997)\n"
        "def limits():\n    before = sys.getrecursionlimit()\n    sys.setrecursionlimit(123)\n    return before, sys.getrecursionlimit()\n"
    )
    for call, plain in (
        ("f(998)", {"value": 998}),
        ("f(998) + 0", {"value": 998}),
        ("limits()", {"value": [1000, 123]}),
    ):
        assert one(sandbox, source, call).plain == plain
    for call in ("f(999)", "f(999) + 0"):
        assert "RecursionError" in str(one(sandbox, source, call).plain)
    assert one(sandbox, source.replace("f(997)", "f(999)"), "limits()").status == "unloadable"


def test_depth_is_the_interpreters_own() -> None:
    """The deepest recursion in the sandbox is the one that a plain interpreter reaches from its top level."""
    source = "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nfor n in range(900, 1100):\n    try:\n        f(n)\n    except RecursionError:\n        break\nprint(n)"
    plain = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert plain.stdout.strip() == "999"


def test_a_value_drained_from_a_generator_may_raise(sandbox: Sandbox) -> None:
    outcome = one(sandbox, "def f():\n    yield 1\n    raise KeyError('x')\n", "f()")
    assert outcome.plain == {"error": {"code": "KeyError", "message": "'x'"}}


@pytest.fixture(scope="module")
def reseeded() -> Iterator[Sandbox]:
    with Sandbox(workers=1, limits=QUICK, hash_seed=1) as sandbox:
        yield sandbox


@pytest.mark.parametrize(
    "expression",
    ["hash('a')", "list({'a', 'b', 'c', 'd', 'e'})", "__import__('time').tzname", "__import__('os').path.expanduser('~')", "__import__('os').getcwd()", "__import__('platform').node()"],
)  # fmt: skip
def test_another_seed_brings_other_surroundings(sandbox: Sandbox, reseeded: Sandbox, expression: str) -> None:
    if "platform" in expression and not sandbox.isolation.namespaces:
        pytest.skip("the host's name cannot be changed without a namespace")
    source = f"def f():\n    return {expression}\n"
    first, again, other = (one(where, source, "f()").plain for where in (sandbox, sandbox, reseeded))
    assert first is not None
    assert "value" in first
    assert first == again
    assert first != other


def test_canonical_surroundings(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXE_SECRET", "1")
    source = "import os, time, sys\ndef f():\n    return time.tzname[0], time.localtime(0).tm_hour, sorted(os.environ), sys.flags.hash_randomization\n"
    names = ["HOME", "LANG", "LC_ALL", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONHOME", "PYTHONUTF8", "TZ"]  # fmt: skip
    plain = one(sandbox, source, "f()").plain
    assert plain is not None
    assert plain["value"][:2] == ["UTC", 0]
    assert set(plain["value"][2]) - {"LD_LIBRARY_PATH", "PWD"} == set(names)
    assert plain["value"][3] == 0


def test_a_killed_worker_is_replaced_and_its_work_done(sandbox: Sandbox) -> None:
    jobs = [Job(source=ADD, calls=tuple(f"f({i}, {j})" for j in range(20))) for i in range(4)]
    seen = []
    for outcomes in sandbox.execute(jobs):
        seen.append([outcome.plain for outcome in outcomes])
        if len(seen) < 3:
            sandbox._workers[0].process.kill()
    assert seen == [[{"value": i + j} for j in range(20)] for i in range(4)]


def test_a_call_that_takes_workers_down_is_given_up(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    deaths = []
    original = Sandbox._reply

    def killing(self: Sandbox, worker: object, payload: bytes) -> None:
        if b'"call":0' in payload and b'{"value":66}' in payload:
            deaths.append(1)
            worker.process.kill()  # type: ignore[attr-defined]
            return
        original(self, worker, payload)  # type: ignore[arg-type]

    monkeypatch.setattr(Sandbox, "_reply", killing)
    outcomes = [o[0] for o in sandbox.execute(Job(source=ADD, calls=(call,)) for call in ("f(1)", "f(66)", "f(2)"))]
    assert [outcome.status for outcome in outcomes] == ["value", "crashed", "value"]
    assert "3 times" in outcomes[1].detail
    assert len(deaths) == 3


def test_a_slow_consumer_costs_no_worker(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = (Job(source="def f(n):\n    return 'x' * 60_000\n", calls=("f(1)",) * 4) for _ in range(6))
    outcomes = sandbox.execute(jobs)
    next(outcomes)
    before = [worker.process.pid for worker in sandbox._workers]
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + 3600)  # the caller thinks for an hour
    assert all(outcome.status == "value" for rest in outcomes for outcome in rest)
    assert [worker.process.pid for worker in sandbox._workers] == before


def test_workers_that_cannot_start_end_in_an_error() -> None:
    with Sandbox(workers=1, limits=QUICK) as sandbox:
        sandbox._command[-1] = "/nonexistent.py"
        with pytest.raises(SandboxError, match=r"do not start: .*nonexistent"):
            one(sandbox, ADD, "f(1)")


def test_a_closed_sandbox_says_so() -> None:
    sandbox = Sandbox(workers=1, limits=QUICK)
    with pytest.raises(SandboxError, match="context manager"):
        one(sandbox, ADD, "f(1)")


def test_no_isolation_is_refused_unless_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "attempt", lambda _: "no walls today")
    isolation.probe.cache_clear()
    try:
        with pytest.raises(IsolationError, match=r"no walls today.*--unsafe"):
            Sandbox(workers=1)
    finally:
        isolation.probe.cache_clear()


def test_unsafe_still_limits_and_classifies() -> None:
    with Sandbox(workers=1, limits=QUICK, unsafe=True) as sandbox:
        assert (sandbox.isolation.level, sandbox.isolation.name) == (4, "unsafe-rlimits")
        assert one(sandbox, ADD, "f(1, 2)").plain == {"value": 3}
        assert one(sandbox, "import os\ndef f():\n    os.fork()\n", "f()").status == "impure"
        assert one(sandbox, "def f():\n    while True: pass\n", "f()").status == "timeout"
        assert one(sandbox, "def f():\n    return len(bytearray(10 ** 12))\n", "f()").status == "memory"


HOST = """
import sys, time
from exe.records import Job
from exe.sandbox.host import Limits, Sandbox
with Sandbox(workers=2, limits=Limits(wall_seconds=60, cpu_seconds=60)) as sandbox:
    endless = [Job(source="def f():\\n    while True: pass\\n", calls=("f()",))] * 2
    list(sandbox.execute([Job(source="def f(): pass", calls=("f()",))]))
    print("working", flush=True)
    list(sandbox.execute(endless))
"""


def descendants(pid: int) -> set[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return set()
    return set(map(int, children)).union(*(descendants(int(child)) for child in children))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, -2), (signal.SIGTERM, -15)])
def test_an_ended_host_leaves_no_process(number: signal.Signals, status: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", HOST], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"working\n"
        deadline = time.monotonic() + 10
        while len(family := descendants(host.pid)) < 6 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(family) >= 6  # two times bwrap, zygote, child
        host.send_signal(number)
        assert host.wait(10) == status
    while any(Path(f"/proc/{pid}").exists() for pid in family) and time.monotonic() < deadline + 10:
        time.sleep(0.05)
    assert not [pid for pid in family if Path(f"/proc/{pid}").exists()]


def test_limits_are_frozen_and_bounded() -> None:
    limits = Limits(result_bytes=10)
    assert limits.reply_frame > 10
    with pytest.raises(AttributeError):
        limits.result_bytes = 5  # type: ignore[misc]
    with pytest.raises(ValueError, match="at least one"):
        Sandbox(workers=0, isolation_level=isolation.unsafe())


def test_a_request_longer_than_the_memory_of_a_program_costs_no_worker() -> None:
    """The limit of memory is the program's; what the worker needs to take in a long text is its own."""
    limits = Limits(wall_seconds=10.0, cpu_seconds=5.0, memory_bytes=64 << 20)
    with Sandbox(workers=1, limits=limits) as sandbox:
        one(sandbox, ADD, "f(1)")
        worker = sandbox._workers[0].process.pid
        outcome = one(sandbox, "TEXT = '" + "\x01" * 15_000_000 + "'\ndef f():\n    return len(TEXT)\n", "f()")
        assert outcome.plain == {"value": 15_000_000} or outcome.status == "memory"
        assert one(sandbox, ADD, "f(1, 2)").plain == {"value": 3}
        assert sandbox._workers[0].process.pid == worker
