"""Signatures as schemas and back."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from exe.errors import InputError
from exe.inputs import arguments_schema, conformity, plain_schema, read_schema
from tests.unit.analysis.test_annotations import PRELUDE
from tests.unit.inputs.building import build

SOURCE = """
class C:
    def __init__(self, n: int, m: "C | None" = None) -> None: ...
    def m(self, a: Node, /, b: "str | Mode" = Mode.FAST, *rest: bytes, c: Literal[b"x", 1], **more: Movie) -> str: ...
"""


def test_round_trip(tmp_path: Path) -> None:
    found, program, signature = build(tmp_path, PRELUDE + SOURCE, "C.m")
    again = read_schema(json.loads(json.dumps(program.parameters)))
    assert again == signature
    assert (again.parameters, again.self_type, again.how) == (found.parameters, found.self_type, "method")
    assert again.parameters[1].default == "Mode.FAST"
    assert dict(again.names).items() >= {"demo:C": "C", "demo:Node": "Node", "demo:Mode": "Mode"}.items()
    assert "demo:Movie" not in again.names  # a TypedDict is written as a display


def test_names_are_those_that_calls_need(tmp_path: Path) -> None:
    found = build(tmp_path, PRELUDE + "def f(a: Mode, b: int) -> str: ...\n")[0]
    schema = arguments_schema(found, {"demo:Mode": "Mode_2", "demo:Other": "Other", "datetime:date": "date"})
    assert schema["x-python"]["names"] == {"demo:Mode": "Mode_2"}
    with pytest.raises(InputError, match="binds no name for demo:Mode"):
        arguments_schema(found, {})


def test_large_and_deep_arguments_do_not_conform(tmp_path: Path) -> None:
    _, program, signature = build(tmp_path, "from typing import Any\ndef f(a: Any) -> str: ...")
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, "x" * 300_000):
        key, problem = conformity(program.parameters, signature, {"a": value})
        assert key is None
        assert problem is not None
        assert problem.startswith("arguments: ")


def test_descriptions_and_requirements(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, PRELUDE + SOURCE, "C.m")
    schema = program.parameters
    assert schema["required"] == ["self", "a", "c"]
    assert schema["additionalProperties"] is False
    shown = {name: item["description"] for name, item in schema["properties"].items()}
    assert shown == {
        "self": "C", "a": "Node", "b": "str | Mode", "rest": "*rest: bytes", "c": "Literal[b'x', 1]", "more": "**more: Movie",
    }  # fmt: skip


def test_plain_schema_has_no_extensions(tmp_path: Path) -> None:
    _, program, _ = build(tmp_path, PRELUDE + SOURCE, "C.m")
    plain = plain_schema(program.parameters)
    assert '"x-' not in json.dumps(plain)
    jsonschema.Draft202012Validator.check_schema(plain)


def test_conformity_is_told_by_schema_then_by_decoding(tmp_path: Path) -> None:
    _, program, signature = build(tmp_path, "def f(a: int, b: 'float | None' = None) -> str: ...")
    schema = program.parameters
    assert conformity(schema, signature, {"a": 1, "b": 2}) == ("a=1; b=2.0", None)
    for arguments, part in [
        ({"a": "1"}, "a: '1' is not of type 'integer'"),
        ({}, "arguments: 'a' is a required property"),
        ({"a": 1.0}, "a: expected int"),  # JSON Schema takes 1.0 for an integer; Python does not
        ([1], "arguments: [1] is not of type 'object'"),
    ]:
        key, problem = conformity(schema, signature, arguments)
        assert key is None
        assert problem is not None
        assert problem.startswith(part)


@pytest.mark.parametrize("schema", [{}, {"x-python": {"how": "function"}}, {"properties": {"a": {}}, "x-python": {}}])
def test_foreign_schemas_are_refused(schema: dict[str, object]) -> None:
    with pytest.raises(InputError, match="not a schema"):
        read_schema(schema)


def test_unknown_kinds_are_refused() -> None:
    item = {"x-python": {"kind": "numpy", "text": "ndarray"}, "x-parameter": {"kind": "normal"}}
    with pytest.raises(InputError, match="unknown kind"):
        read_schema({"properties": {"a": item}, "x-python": {"how": "function"}})
