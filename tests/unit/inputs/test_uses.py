"""What calls tell of a program's variables, and that inputs follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from exe.inputs import generate
from exe.inputs.mine import mine
from exe.records import Job
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


ABOUT = [
    ("x[1:].strip() == 'fast'", "x"),
    ("len(x) == 'fast'", "x"),
    ("rows['x'] == 'fast'", "x"),
    ("rows.get('x', '').lower() == 'fast'", "x"),
    ("self.x == 'fast'", "x"),
    ("rows.x['y'] == 'fast'", "y"),
]


@pytest.mark.parametrize(("expression", "name"), ABOUT)
def test_what_a_test_is_about(expression: str, name: str) -> None:
    assert mine(f"def f(self, x, rows):\n    return {expression}\n", "f").by_name == {name: ("fast",)}


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


FORMS = [
    # a range: numbers with marks between them
    """
def f(text: str) -> tuple[int, int, int]:
    start, mark, rest = text.partition("-")
    if not mark:
        raise ValueError("no range")
    stop, _, step = rest.partition("/")
    if int(start) > int(stop):
        raise ValueError("backwards")
    return int(start), int(stop), int(step or 1)
""",
    # a scheme, a colon and a path that is not empty, one found after the other
    """
SCHEME = "pkg"
def f(text: str) -> list[str]:
    scheme, _, rest = text.partition(":")
    if scheme != SCHEME:
        raise ValueError("no scheme")
    kind, mark, name = rest.strip().lstrip("/").partition("/")
    if not kind or not mark:
        raise KeyError("no kind")
    if not name:
        raise IndexError("no name")
    return [kind, name]
""",
    # lines with a name and a value
    """
import email
def f(text: str) -> dict[str, str]:
    message = email.message_from_string(text)
    if not message.get("Name"):
        raise KeyError("Name")
    if not message.get("Version"):
        raise KeyError("Version")
    return dict(message.items())
""",
    # a line of one argument in another one
    """
def f(contents: bytes, start: bytes, end: bytes) -> list[bytes]:
    lines = [line.strip() for line in contents.splitlines()]
    if start not in lines or not start:
        raise KeyError("start")
    if end not in lines[lines.index(start) + 1 :]:
        raise IndexError("end")
    return lines[lines.index(start) :]
""",
]


@pytest.mark.parametrize("source", FORMS)
def test_texts_of_a_form_are_found(tmp_path: Path, source: str) -> None:
    _, program, _ = build(tmp_path, source)
    with Sandbox(workers=1) as sandbox:
        calls, _ = generate(program, seed=0, count=15, execute=sandbox.execute)
        outcomes = next(sandbox.execute([Job(source=program.source, calls=tuple(call.call for call in calls))]))
    assert len(calls) >= 10
    assert sum(one.status == "value" for one in outcomes) >= 8
