"""Each metric on a program so small that its count is known by reading."""

from __future__ import annotations

import pytest

from exe.records import Job
from exe.sandbox.host import Sandbox

LOOP = "def f(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\n"
BRANCH = (
    "def f(n):\n    if n > 2:\n        return 'a'\n    elif n > 1:\n        return 'b'\n    return 'c' if n else 'd'\n"
)
CALLS = (
    "def g(x):\n    return len(x)\ndef f():\n    h = lambda x: g(x)\n    return h('ab') + sum([g(c) for c in 'xy'])\n"
)
RECURSE = "def f(n):\n    return n if n < 1 else f(n - 1)\n"
GENERATOR = "def g():\n    yield 1\n    yield 2\ndef f():\n    return list(g())\n"
WHILE = "def f(n):\n    while n > 0:\n        n -= 1\n    return [i * j for i in range(2) for j in range(3) if j]\n"
LIBRARY = "import textwrap\ndef f():\n    return textwrap.dedent('a')\n"
ANNOTATED = "def f(x: int | None = None) -> int:\n    match x:\n        case -1:\n            return 2 ** 3\n    return 7 // 2 % 2\n"


@pytest.mark.parametrize(
    ("source", "call", "counts", "lines"),
    [
        (LOOP, "f(3)", {"lines_executed": 9, "lines_covered": 4, "loop_iterations": 3, "conditionals": 0, "arithmetic": 3,
                        "arithmetic_add": 3, "calls_user": 1, "calls_builtin": 0, "max_call_depth": 1, "variables": 3}, (2, 3, 4, 5)),
        (BRANCH, "f(0)", {"lines_executed": 3, "conditionals": 3, "loop_iterations": 0, "arithmetic": 0}, (2, 4, 6)),
        (BRANCH, "f(3)", {"lines_executed": 2, "conditionals": 1}, (2, 3)),
        (CALLS, "f()", {"calls_user": 5, "calls_builtin": 4, "calls_total": 9, "max_call_depth": 3, "loop_iterations": 2}, (2, 4, 5)),
        (RECURSE, "f(4)", {"calls_user": 5, "max_call_depth": 5, "conditionals": 5, "arithmetic_sub": 4}, (2,)),
        (GENERATOR, "f()", {"calls_user": 2, "max_call_depth": 2, "lines_executed": 3}, (2, 3, 5)),
        (WHILE, "f(2)", {"loop_iterations": 10, "conditionals": 9, "arithmetic": 6, "arithmetic_mul": 4, "calls_user": 1}, (2, 3, 4)),
        (ANNOTATED, "f(-1)", {"arithmetic": 1, "arithmetic_pow": 1}, (2, 3, 4)),
        (ANNOTATED, "f()", {"arithmetic": 2, "arithmetic_floordiv": 1, "arithmetic_mod": 1}, (2, 3, 5)),
    ],
)  # fmt: skip
def test_counts(sandbox: Sandbox, source: str, call: str, counts: dict[str, int], lines: tuple[int, ...]) -> None:
    ((outcome,),) = sandbox.execute([Job(source=source, calls=(call,), trace=True)])
    assert {name: outcome.runtime[name] for name in counts} == counts
    assert outcome.lines == lines


def test_library_lines_are_apart(sandbox: Sandbox) -> None:
    ((outcome,),) = sandbox.execute([Job(source=LIBRARY, calls=("f()",), trace=True)])
    assert outcome.runtime["library_lines"] > 5
    assert outcome.runtime["calls_library"] >= 1
    assert (outcome.runtime["lines_executed"], outcome.runtime["calls_user"]) == (1, 1)


def test_an_error_is_counted_up_to_where_it_strikes(sandbox: Sandbox) -> None:
    ((outcome,),) = sandbox.execute([Job(source="def f():\n    x = 1\n    return x / 0\n", calls=("f()",), trace=True)])
    assert outcome.status == "error"
    assert outcome.lines == (2, 3)


@pytest.mark.parametrize(
    "source",
    [
        "import sys\ndef f():\n    return 1 if sys.gettrace() is None else exec('while True: pass')\n",  # times out when watched
        "import sys, os\ndef f():\n    return 1 if sys.gettrace() is None else os._exit(0)\n",
        "import sys\ndef f():\n    return 1 if sys.gettrace() is None else sys.settrace(None)\n",
    ],
)
def test_failed_tracing_leaves_the_outcome_alone(sandbox: Sandbox, source: str) -> None:
    ((outcome,),) = sandbox.execute([Job(source=source, calls=("f()",), trace=True)])
    assert outcome.plain == {"value": 1}
    assert (outcome.runtime, outcome.lines) == ({}, ())


def test_untraced_jobs_count_nothing(sandbox: Sandbox) -> None:
    ((outcome,),) = sandbox.execute([Job(source=LOOP, calls=("f(3)",))])
    assert (outcome.runtime, outcome.lines) == ({}, ())
