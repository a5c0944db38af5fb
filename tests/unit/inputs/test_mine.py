"""Constants, keys, tests and examples found in a program's text."""

from __future__ import annotations

from pathlib import Path

from exe.inputs.encode import example_arguments
from exe.inputs.mine import mine
from tests.unit.inputs.building import build

SOURCE = '''
"""Module words stay out."""
import re
KINDS = {"small": 1, "large": 2}
CODES = frozenset((404, 500))
MAGIC = b"xn--"
DIGITS = re.compile(r"\\d+")

def helper(text: str) -> bool:
    return text.endswith((".py", ".txt"))

def f(text: str, kind: str = "small", code: int = 200, table: dict = {}) -> str:
    """Do it.

    >>> f("abc", kind="large")
    'x'
    >>> f(open("x"))
    """
    if kind in KINDS or code in CODES or "@" in text:
        return KINDS[kind]
    if code == 301 or -5 < code:
        raise ValueError("bad code")
    if re.match(r"[a-z]+\\d", text) or text.lower().startswith("http:"):
        return table["deep"] + table.get("other", 0.25)
    match kind:
        case "x" | "y":
            return f("direct", code=7)
    return DIGITS.sub("", kind)
'''


def test_what_is_found() -> None:
    hints = mine(SOURCE, "f")
    assert {"small", "large", "http:", "bad code", "xn--", "@"} <= set(hints.strings)
    assert "Module words stay out." not in hints.strings
    assert hints.strings.index("@") < hints.strings.index("xn--")  # the entry's own first
    assert {404, 500, 301, 5, 7} <= set(hints.integers)
    assert hints.floats == (0.25,)
    assert hints.patterns == (r"[a-z]+\d", r"\d+")
    assert hints.patterns_by_name == {"text": (r"[a-z]+\d",), "kind": (r"\d+",)}
    assert hints.by_name["kind"] == ("small", "large", "x", "y")
    assert hints.by_name["code"] == (404, 500, 301, -5)
    assert hints.by_name["text"] == ("@", "http:", ".py", ".txt")
    assert hints.keys_by_name["table"] == ("deep", "other")


def test_examples_become_arguments(tmp_path: Path) -> None:
    _, program, signature = build(tmp_path, SOURCE)
    found = list(example_arguments("f", signature, mine(program.source, "f").examples))
    assert found == [{"text": "abc", "kind": "large"}, {"text": "direct", "code": 7}]


def test_bools_and_numbers_stay_apart() -> None:
    hints = mine("def f(x):\n    return x in (1, 1.0, True)\n", "f")
    assert [type(value) for value in hints.by_name["x"]] == [int, float, bool]
