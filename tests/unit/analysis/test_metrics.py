"""Static metrics: each count by hand on a small program, and nothing that a program holds can break them."""

from __future__ import annotations

import pytest

from exe.analysis.metrics import static_metrics

PROGRAM = '''\
import re as regex

LIMIT = 3  # a comment


def helper(text: str) -> list[str]:
    """Words.

    All of them.
    """
    # only a comment
    return regex.findall("[a-z]+", text)


def entry(text: str, more: int = 0) -> int:
    total = more
    for word in helper(text):
        if len(word) > LIMIT and word:
            total += 1
        elif word == "a":
            total -= 1
    return total
'''


def test_counts() -> None:
    metrics = static_metrics(PROGRAM, "entry")

    assert metrics["lines_of_code"] == 15
    assert metrics["characters"] == len(PROGRAM)
    assert metrics["ifs"] == metrics["ast.If"] == 2
    assert metrics["ast.For"] == 1
    assert metrics["ast.AugAssign"] == 2
    assert "ast.While" not in metrics
    assert "ast.Load" not in metrics
    assert metrics["identifiers"] == len(
        {"regex", "LIMIT", "helper", "text", "str", "list", "entry", "more", "int", "total", "word", "len"}
    )
    assert metrics["call_depth"] == 2
    assert metrics["entry_cyclomatic_complexity"] == 5
    assert metrics["cyclomatic_complexity"] == 5  # radon: decisions of the whole program, and one
    assert 0 < metrics["maintainability_index"] < 100
    assert metrics["halstead_volume"] > 0


def test_python_tokens_leave_layout_and_comments_out() -> None:
    assert static_metrics("x = 1 # c\n\nif x:\n    y = (2 +\n         3)\n", "x")["python_tokens"] == 13


@pytest.mark.parametrize(
    ("source", "depth"),
    [
        ("def f(a):\n    return len(a)", 1),
        ("def g(a):\n    return a\ndef f(a):\n    return g(a)", 2),
        ("def h(a):\n    return a\ndef g(a):\n    return h(a)\ndef f(a):\n    return h(a) + g(a)", 3),
        ("def g(a):\n    return a\ndef f(a, g):\n    return g(a)", 1),
        ("def f(a):\n    return f(a - 1) if a else 0", 1),
        ("def g(a):\n    return f(a)\ndef f(a):\n    return g(a)", 1),
        ("def h(a):\n    return a\ndef g(a):\n    return f(a) + h(a)\ndef f(a):\n    return g(a)", 2),
        ("class C:\n    def __init__(self):\n        self.a = g()\ndef g():\n    return 1\ndef f(a):\n    return C()", 3),
        ("class C:\n    def m(self):\n        return self.n()\n    def n(self):\n        return 1\ndef f(a):\n    return C().m()", 3),
        ("def g():\n    return 1\nX = g()\ndef f(a):\n    return X", 2),
    ],
)  # fmt: skip
def test_call_depth(source: str, depth: int) -> None:
    assert static_metrics(source, "f")["call_depth"] == depth


def test_a_method_as_entry() -> None:
    metrics = static_metrics("class C:\n    def m(self, a):\n        return 1 if a else 2\n", "C.m")

    assert metrics["entry_cyclomatic_complexity"] == 2
    assert metrics["call_depth"] == 1


def test_an_expression_too_deep_for_radon() -> None:
    metrics = static_metrics("def f(x: int) -> int:\n    return " + "+".join(["x"] * 1000) + "\n", "f")

    assert metrics["ast.Add"] == 999
    assert metrics["call_depth"] == 1
    assert "cyclomatic_complexity" not in metrics


def test_an_expression_too_deep_for_python() -> None:
    metrics = static_metrics("def f(x: int) -> int:\n    return " + "+".join(["x"] * 20_000) + "\n", "f")

    assert metrics["lines_of_code"] == 2
    assert metrics["python_tokens"] == 40_010
    assert "ifs" not in metrics


@pytest.mark.parametrize("source", ["", "def f(:\n", "'''open", "\t x\n y", "x = 1\\", "\0", "f = 1\n"])
def test_any_text(source: str) -> None:
    assert static_metrics(source, "f")["characters"] == len(source)


def test_a_long_chain_of_functions_does_not_recurse() -> None:
    chain = "".join(f"def f{n}(a):\n    return f{n + 1}(a)\n" for n in range(3000)) + "def f3000(a):\n    return a\n"

    assert static_metrics(chain, "f0")["call_depth"] == 3001


def test_the_same_twice() -> None:
    assert list(static_metrics(PROGRAM, "entry").items()) == list(static_metrics(PROGRAM, "entry").items())
