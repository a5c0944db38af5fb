"""Every input that is drawn conforms to its schema, and its call evaluates to values of the annotated types."""

from __future__ import annotations

import ast
import collections
import enum
import inspect
import json
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exe.inputs import canonical_key, conformity, read_schema
from exe.inputs.explore import draw
from exe.inputs.mine import Hints, mine
from exe.inputs.strategies import arguments_strategy, type_strategy
from exe.records import Type
from tests.unit.analysis.test_annotations import PRELUDE, SUPPORTED
from tests.unit.inputs.building import build

SOURCE = PRELUDE
UNRUNNABLE = ("typing_extensions",)  # not in the standard library: read, never executed


def namespace(source: str) -> dict[str, Any]:
    lines = [line for line in source.splitlines() if not any(name in line for name in UNRUNNABLE)]
    module = types.ModuleType("demo")
    sys.modules["demo"] = module
    try:
        exec(compile("\n".join(lines), "demo.py", "exec", dont_inherit=True), module.__dict__)
    finally:
        del sys.modules["demo"]
    return module.__dict__


def is_value(found: Type, value: Any, names: dict[str, Any]) -> bool:
    """Whether a Python value is one of a type, decided here on its own."""
    items = list(found.args)
    match found.kind:
        case "any":
            return value is None or isinstance(value, bool | int | float | str | list | dict)
        case "hashable":
            return value is None or isinstance(value, bool | int | float | str)
        case "none":
            return value is None
        case "int":
            return type(value) is int
        case "union":
            return any(is_value(arm, value, names) for arm in items)
        case "literal":
            return any(value == option and type(value) is type(option) for option in found.values)
        case "exception":
            return type(value) is eval(found.values[0])
        case "builtin":
            return any(value is eval(name) for name in found.values)
        case "enum":
            return isinstance(value, names[found.text.partition("[")[2].partition(".")[0] or found.text]) and any(
                value is type(value)[member] for member in found.values
            )
        case "tuple":
            return (
                type(value) is tuple
                and len(value) == len(items)
                and all(is_value(arg, item, names) for arg, item in zip(items, value, strict=True))
            )
        case "vartuple":
            return type(value) is tuple and all(is_value(items[0], item, names) for item in value)
        case "iterator":
            return not isinstance(value, list) and all(is_value(items[0], item, names) for item in value)
        case "generator":
            return inspect.isgenerator(value) and all(is_value(items[0], item, names) for item in value)
        case "list" | "set" | "frozenset" | "collections.deque":
            kind = getattr(collections, found.kind.rpartition(".")[2], None) or eval(found.kind)
            return type(value) is kind and all(is_value(items[0], item, names) for item in value)
        case "typeddict":
            return is_mapping_of(found, value, names)
        case "dataclass" | "namedtuple" | "object":
            return type(value) is names[found.text] and not isinstance(value, enum.Enum)
        case kind if kind == "dict" or kind.startswith("collections."):
            expected = dict if kind == "dict" else getattr(collections, kind.rpartition(".")[2])
            return type(value) is expected and all(
                is_value(items[0], key, names) and is_value(items[1], item, names) for key, item in value.items()
            )
        case kind if "." in kind:
            module, _, name = kind.rpartition(".")
            return isinstance(value, getattr(__import__(module), name))
        case kind:
            return type(value) is eval(kind)


def is_mapping_of(found: Type, value: Any, names: dict[str, Any]) -> bool:
    fields = {field.name: field for field in found.fields}
    required = {field.name for field in found.fields if field.required}
    return (
        type(value) is dict
        and required <= value.keys() <= fields.keys()
        and all(is_value(fields[key].type, item, names) for key, item in value.items())
    )


def arguments_of(call: str, names: dict[str, Any]) -> Iterator[Any]:
    expression = ast.parse(call, mode="eval").body
    assert isinstance(expression, ast.Call)
    for node in [*expression.args, *(keyword.value for keyword in expression.keywords)]:
        yield eval(compile(ast.Expression(node), "call", "eval"), dict(names))


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    return namespace(SOURCE)


@pytest.mark.parametrize("annotation", [row[0] for row in SUPPORTED])
def test_form(tmp_path: Path, names: dict[str, Any], annotation: str) -> None:
    found, program, _ = build(tmp_path, f"{SOURCE}\n\ndef f(x: {annotation}) -> str:\n    return ''\n")
    jsonschema.Draft202012Validator.check_schema(program.parameters)
    signature = read_schema(json.loads(json.dumps(program.parameters)))
    assert signature.parameters == found.parameters
    calls = draw(program, signature, Hints(), seed=4, size=5)
    assert calls
    local = {**namespace_of_imports(program.source), **names}
    for key, call in calls.items():
        assert conformity(program.parameters, signature, call.arguments) == (key, None)
        assert json.loads(json.dumps(call.arguments)) == call.arguments
        (value,) = arguments_of(call.call, local)
        assert is_value(found.parameters[0].type, value, local), call.call


def namespace_of_imports(source: str) -> dict[str, Any]:
    lines = [line for line in source.splitlines() if line.startswith("import ") and "," not in line]
    found: dict[str, Any] = {}
    exec("\n".join(lines), found)
    return found


EVERYTHING = """
from dataclasses import dataclass
from datetime import date
from typing import Literal

@dataclass
class Tool:
    name: str
    sizes: tuple[int, ...] = ()

    def use(self, a: int, /, b: str = "b", *rest: float, mode: Literal["x", "y"] = "x", **more: date) -> str:
        if mode == "y":
            raise KeyError(b)
        return f"{self.name} {a} {b} {rest} {mode} {more}"
"""


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_hypothesis_chooses_from_the_same_makers(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found, program, signature = build(Path(folder), EVERYTHING, "Tool.use")
    arguments = data.draw(arguments_strategy(signature, Hints()))
    assert conformity(program.parameters, signature, arguments)[1] is None
    value = data.draw(type_strategy(found.parameters[0].type))
    assert type(value) is int


@pytest.mark.parametrize("seed", range(3))
def test_whole_signature(tmp_path: Path, seed: int) -> None:
    _, program, _ = build(tmp_path, EVERYTHING, "Tool.use")
    signature = read_schema(program.parameters)
    local = namespace(program.source)
    calls = draw(program, signature, mine(program.source, program.entry), seed=seed, size=40)
    assert len(calls) == 40
    assert len({canonical_key(signature, call.arguments) for call in calls.values()}) == 40
    for call in calls.values():
        assert conformity(program.parameters, signature, call.arguments)[1] is None
        try:
            assert isinstance(eval(call.call, dict(local)), str)
        except KeyError:
            assert "mode='y'" in call.call
    texts = " ".join(call.call for call in calls.values())
    assert "mode='x'" in texts
    assert "date(" in texts
    assert "**{" not in texts


VARIED = """
from enum import Enum
from typing import IO, Any, Literal, Optional
class Mode(Enum):
    A = 1
    B = 2
class Box:
    def __init__(self, sides: "dict[int, str] | None" = None, *, data: Optional[bytes] = None):
        self.sides = sides
    def f(self, x: dict[int, str] | None, y: IO[Any], z: dict[Mode, list[int]] | str, w: dict[tuple[int, int], bytes] | int,
          v: dict[Literal["a", "b"], float] | None = None) -> str:
        return "x"
"""


@pytest.mark.parametrize("seed", range(3))
def test_what_is_made_of_earlier_inputs_conforms(tmp_path: Path, seed: int) -> None:
    _, program, signature = build(tmp_path, VARIED, "Box.f")
    hints = mine(program.source, program.entry)
    examples: list[Any] = []
    for turn in range(6):
        calls = draw(program, signature, hints, seed=seed + 10 * turn, size=60, examples=examples)
        assert len(calls) >= 50
        examples = [call.arguments for call in calls.values()]
        for arguments in examples:
            assert conformity(program.parameters, signature, arguments)[1] is None
