"""The offline generator: deterministic, balanced, and plain about what it cannot use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from exe.errors import InputError
from exe.inputs import call_text, generate
from exe.records import Job, Outcome, Program
from exe.sandbox.host import Sandbox
from tests.unit.inputs.building import build
from tests.unit.inputs.execution import execute
from tests.unit.inputs.test_decode import fault_cases

SOURCE = '''
import re
from enum import Enum

class Mode(Enum):
    FAST = 1
    SLOW = 2

def f(text: str, mode: Mode = Mode.FAST, *, keys: set[str] = frozenset(), limit: int = 3) -> list[str]:
    """Split.

    >>> f("a,b;c", limit=1)
    """
    if limit < 0:
        raise ValueError(f"negative: {limit}")
    if text.startswith("magic:"):
        return ["found", text[6:]]
    if re.match(r"[a-z]+-\\d{2}$", text):
        return ["code", mode.name]
    return [part.upper() for part in re.split("[,;]", text, maxsplit=limit)] + sorted(keys)
'''


def test_calls_reach_what_the_code_tells(tmp_path: Path) -> None:
    _, program, signature = build(tmp_path, SOURCE)
    with Sandbox(workers=1) as sandbox:
        calls, rejections = generate(program, seed=0, count=15, execute=sandbox.execute)
    assert rejections == []
    assert len(calls) == 15
    assert all(call.call == call_text("f", signature, call.arguments) for call in calls)
    assert len({call.call for call in calls}) == 15
    outcomes = next(execute([Job(source=program.source, calls=tuple(call.call for call in calls))]))
    assert 1 <= sum(outcome.status == "error" for outcome in outcomes) <= 7
    shown = [outcome.plain["value"] for outcome in outcomes if outcome.plain and "value" in outcome.plain]
    assert any(value[0] == "code" for value in shown)
    assert any(value[0] == "found" for value in shown)


def test_same_seed_same_calls_and_others_differ(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, SOURCE)
    first, second, other = (generate(program, seed=seed, count=10, execute=execute).calls for seed in (1, 1, 2))
    assert first == second
    assert first != other


CHILD = """
import json, sys
from pathlib import Path
from exe.inputs import generate
from exe.inputs.explore import draw
from exe.inputs.mine import Hints
from tests.unit.inputs.building import build
from tests.unit.inputs.execution import execute
from tests.unit.inputs.test_generate import READING, SOURCE
from exe.sandbox.host import Sandbox
if sys.argv[2] == "crowded":  # another module with constants, and a generator already at work
    Path("noise.py").write_text(f"N = {list(range(100, 9000, 20))}\\nS = {list(map(chr, range(33, 300)))}\\n")
    import noise, hypothesis, hypothesis.strategies as st
    hypothesis.seed(1)(hypothesis.settings(database=None, max_examples=5)(hypothesis.given(st.text(), st.integers())(lambda a, b: None)))()
_, program, _ = build(Path(sys.argv[1]), SOURCE)
calls = generate(program, seed=7, count=8, execute=execute).calls
_, program, signature = build(Path(sys.argv[1]), "def f(a: list[int], b: list[float], c: bytes, d: str) -> str: ...")
calls += draw(program, signature, Hints(), seed=5, size=40).values()
_, program, _ = build(Path(sys.argv[1]), READING)
with Sandbox() as sandbox:
    calls += generate(program, seed=3, count=12, execute=sandbox.execute).calls
print(json.dumps([[call.call, call.arguments] for call in calls]))
"""

READING = """
import json

def f(one: str, two: str, three: str, four: object) -> object:
    if isinstance(four, (dict, list, int)) and one.strip() in {"red", "green", "blue"}:
        return json.loads(two)
    return int(three) + float(one) if three.isdigit() else bytes.fromhex(two)
"""


def test_same_bytes_in_other_processes(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    seen = set()
    for number, (hash_seed, how) in enumerate([("0", "plain"), ("4242", "crowded")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": root, "XDG_CACHE_HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(folder), how], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)) == 60
        seen.add(done.stdout)
        if how == "plain":
            assert [path.name for path in folder.iterdir()] == ["demo.py"]  # nothing of Hypothesis is left behind
    assert len(seen) == 1


REJECTED = [
    ("def f(x: int) -> str:\n    return 'k'\n", "constant"),
    ("def f(x: str) -> str:\n    return x\n", "echo"),
    ("def f(x: str) -> str:\n    raise ValueError(x)\n", "always-raises"),
    ("def f(x: str) -> object:\n    return lambda: x\n", "unrepresentable"),
]


@pytest.mark.parametrize(("source", "reason"), REJECTED)
def test_rejected(tmp_path: Path, source: str, reason: str) -> None:
    _, program, _ = build(tmp_path, source)
    calls, rejections = generate(program, seed=0, count=15, execute=execute)
    assert calls == []
    assert (rejections[-1].subject, rejections[-1].stage, rejections[-1].reason) == ("f", "generate", reason)


def test_a_finite_domain_ends(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, "def f(a: bool, b: bool) -> str:\n    return str(a) + str(b)\n")
    ran: Counter[str] = Counter()

    def counting(jobs):  # type: ignore[no-untyped-def]
        jobs = list(jobs)
        ran.update(call for job in jobs if job.batch for call in job.calls)
        return execute(jobs)

    assert len(generate(program, seed=0, count=15, execute=counting).calls) == 4
    assert set(ran.values()) == {1}


def test_bare_dicts_give_more_than_missing_keys(tmp_path: Path) -> None:
    """Of the collected faults: random dicts give nothing but a KeyError."""
    body = "    if len(value) > ctx['width']:\n        return ctx['scale'] * 2.0, ctx['offset']\n    return 0.5, len(value)\n"
    for case in fault_cases("generate-bare-dict-keyerror"):
        _, program, _ = build(tmp_path, f"{case['input']['signature']}:\n{body}")
        calls, _ = generate(program, seed=0, count=15, execute=execute)
        outcomes = next(execute([Job(source=program.source, calls=tuple(call.call for call in calls))]))
        errors = Counter(o.plain["error"]["code"] for o in outcomes if o.status == "error" and o.plain)
        assert len(calls) >= 10
        assert max(errors.values(), default=0) <= 15 // 3 + 1
        assert sum(outcome.status == "value" for outcome in outcomes) >= len(calls) / 2


def test_what_does_not_run_is_told(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, "def f(x: int) -> int:\n    return x + 1\n")

    def failing(jobs):  # type: ignore[no-untyped-def]
        for job in jobs:
            yield tuple(Outcome(status="unloadable", detail="NameError: y") for _ in job.calls)

    (rejection,) = generate(program, seed=0, count=15, execute=failing).rejections
    assert (rejection.reason, rejection.detail) == ("unloadable", "NameError: y")

    def limping(jobs):  # type: ignore[no-untyped-def]
        for job in jobs:
            ran = next(execute([job]))
            yield tuple(
                Outcome(status="memory") if n % 3 == 0 and job.batch else outcome for n, outcome in enumerate(ran)
            )

    calls, rejections = generate(program, seed=0, count=15, execute=limping)
    assert len(calls) == 15
    assert [rejection.reason for rejection in rejections] == ["memory"]


def test_what_earlier_calls_left_behind_is_corrected(tmp_path: Path) -> None:
    """Pools share what the program remembers; the inputs that are kept were chosen by what each does alone."""
    source = "seen: list[int] = []\ndef f(x: int) -> int:\n    seen.append(x)\n    return x * len(seen)\n"
    _, program, _ = build(tmp_path, source)

    def sharing(jobs):  # type: ignore[no-untyped-def]
        for job in jobs:
            shared = f"{job.source}\nseen += [0] * {len(job.calls)}\n" if job.batch else job.source
            yield next(execute([Job(source=shared, calls=job.calls)]))

    calls, rejections = generate(program, seed=0, count=15, execute=sharing)
    assert calls == []  # alone, each gives its argument back
    assert rejections[-1].reason == "echo"


def test_inputs_that_take_too_long_end_it(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, "def f(x: int) -> int:\n    return x + 1\n")
    ran: list[str] = []

    def sleeping(jobs):  # type: ignore[no-untyped-def]
        for job in jobs:
            ran.extend(job.calls)
            yield tuple(Outcome(status="timeout", detail="cpu") for _ in job.calls)

    (rejection,) = generate(program, seed=0, count=15, execute=sleeping).rejections
    assert (rejection.reason, rejection.detail) == ("timeout", "all of 3 inputs, the first: cpu")
    assert len(ran) == 3


def test_a_program_that_often_takes_long_costs_little(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, "def f(x: int) -> int:\n    while x > 3:\n        x += 1\n    return [x]\n")
    ran: list[int] = []

    def looping(jobs):  # type: ignore[no-untyped-def]
        for job in jobs:
            assert 0 < job.steps < 10**6 or not job.batch
            outcomes = [
                Outcome(status="timeout")
                if int(call[2:-1]) > 3
                else next(execute([Job(source=job.source, calls=(call,))]))[0]
                for call in job.calls
            ]
            ran.append(sum(one.status == "timeout" for one in outcomes))
            yield tuple(outcomes)

    calls, rejections = generate(program, seed=0, count=15, execute=looping)
    assert calls
    assert [one.reason for one in rejections] == ["timeout"]
    assert 8 <= sum(ran) <= 15


def test_inputs_that_all_meet_a_wall_end_it(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, "def f(x: int) -> int:\n    return x + 1\n")
    ran: list[str] = []

    def walled(jobs):  # type: ignore[no-untyped-def]
        for job in jobs:
            ran.extend(job.calls)
            yield tuple(Outcome(status="impure", detail="open") for _ in job.calls)

    rejections = generate(program, seed=0, count=15, execute=walled).rejections
    assert [(one.reason, one.detail) for one in rejections] == [("impure", "all of 21 inputs, the first: open")]
    assert len(ran) == 21


def test_branches_come_before_other_differences(tmp_path: Path) -> None:
    tests = "".join(f"    if x == {number}:\n        return False\n" for number in range(101, 108))
    _, program, _ = build(tmp_path, f"def f(x: int) -> bool | int:\n{tests}    return x\n")
    with Sandbox() as sandbox:
        calls, _ = generate(program, seed=0, count=15, execute=sandbox.execute)
    assert {f"f({number})" for number in range(101, 108)} <= {call.call for call in calls}


def test_a_broken_program_is_an_error(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, "def f(x: int) -> int:\n    return x\n")
    broken = Program(
        id="p",
        entry="f",
        source="def f(",
        parameters=program.parameters,
        returns="int",
        origin=program.origin,
        provenance={},
    )
    with pytest.raises(InputError, match="not Python"):
        generate(broken, seed=0, count=5, execute=execute)


def test_importing_the_room_is_quick() -> None:
    code = "import sys, exe.inputs; print([m for m in ('hypothesis', 'jsonschema') if m in sys.modules])"
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
