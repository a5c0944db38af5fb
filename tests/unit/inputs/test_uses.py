"""What calls tell of a program's variables, and that inputs follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from exe.inputs import generate
from exe.inputs.mine import mine
from exe.sandbox.host import Sandbox
from tests.unit.inputs.building import build

READ = [
    ("json.loads(x)", "x", ("json",)),
    ("int(x[1:])", "x", ("number",)),
    ("x.strip().isdigit()", "x", ("number",)),
    ("datetime.date.fromisoformat(x)", "x", ("date",)),
    ("int(1)", "", ("number",)),
    ("x.upper()", "x", ()),
]


@pytest.mark.parametrize(("expression", "name", "expected"), READ)
def test_texts_are_read_as_something(expression: str, name: str, expected: tuple[str, ...]) -> None:
    assert mine(f"def f(x):\n    return {expression}\n", "f").texts_by_name.get(name, ()) == expected


TESTED = [
    ("isinstance(x, str)", ("str",)),
    ("isinstance(x, (int, float))", ("float", "int")),
    ("isinstance(x.y, int)", ()),
    ("isinstance(x, Mapping | list)", ("dict", "list")),
    ("isinstance(x, Decimal)", ()),
]


@pytest.mark.parametrize(("expression", "expected"), TESTED)
def test_kinds_are_tested_for(expression: str, expected: tuple[str, ...]) -> None:
    assert mine(f"def f(x):\n    return {expression}\n", "f").kinds_by_name.get("x", ()) == expected


SOURCE = """
import json
from typing import Any

def f(text: str, other: Any) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        raise KeyError("no JSON") from None
    if isinstance(found, dict) and "wanted" in found:
        return "wanted", found["wanted"]
    if isinstance(other, dict) and isinstance(found, list):
        return "both", sorted(other), len(found)
    return type(found).__name__
"""


def test_inputs_follow(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, SOURCE)
    with Sandbox() as sandbox:
        calls, _ = generate(program, seed=0, count=15, execute=sandbox.execute)
    assert any("wanted" in call.arguments["text"] for call in calls)
    assert any(call.arguments["text"].startswith("[") and isinstance(call.arguments["other"], dict) for call in calls)
