"""Taking a call apart: the same values, in the same order, as the call itself would have had."""

from __future__ import annotations

from typing import Any

import pytest

from exe.sandbox.calls import split

SEEN: list[Any] = []


def note(value: Any) -> Any:
    SEEN.append(value)
    return value


def f(*positional: Any, **keywords: Any) -> Any:
    return positional, keywords


@pytest.mark.filterwarnings("ignore:invalid")
@pytest.mark.parametrize(
    "call",
    [
        "f()",
        "f(1)",
        "f((1), ((2)), b=(3))",
        "f(note(1), b=note(2), c=note([note(3)]))",
        "f('é', 'ü', é='ß')",
        "f(\n  1,\n  '''a\nb''',\n  b=\n 2)",
        "f(\r\n1,\r2)",
        "f(a := 1, b=(c := 2))",
        "f(lambda: 0 if 1 else 2)",
        "f(1 if 0 else 2, 3 or 4, not 5)",
        "(f)(1)",
        "(lambda *a, **k: f(*a, **k))(1, a=2)",
        "g[0](1)",
        "f(f(1), f(b=f(2)))",
        "f( 1 ,b = 2 , ) ",
        "f(10 ** 3, -1, ~1)",
        r"f('\d', 1if 1else 2)",
    ],
)
def test_the_parts_are_the_calls(call: str) -> None:
    scope = {"f": f, "note": note, "g": [f]}
    parts = split(call)
    assert parts is not None
    SEEN.clear()
    function, positional, keywords = eval(parts, dict(scope))
    ours, order = function(*positional, **keywords), list(SEEN)
    SEEN.clear()
    theirs = eval(call.strip(), dict(scope))
    assert order == SEEN
    assert repr(ours).split(" at 0x")[0] == repr(theirs).split(" at 0x")[0]


def test_a_generator_argument_keeps_its_own_brackets() -> None:
    parts = split("f(x for x in [1])")
    assert parts is not None
    assert list(eval(parts, {"f": f})[1][0]) == [1]


@pytest.mark.parametrize("call", ["f", "f(*a)", "f(**a)", "f(1) + 1", "f(a=1, a=2)", "f(", "f(1); f(2)", "", "f(\0)", "f('\ud800')"])  # fmt: skip
def test_everything_else_stays_whole(call: str) -> None:
    assert split(call) is None
