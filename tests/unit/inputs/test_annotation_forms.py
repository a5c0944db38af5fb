"""The forms that annotations have in real packages (the table is made by `benchmarks/annotation_forms.py`), each all the way.

For every form: the schema is a JSON Schema, what is drawn satisfies it, reads as Python, keeps its canonical key through JSON, and
evaluates in the sandbox, to the same value from the same input.
"""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from exe.inputs import bind_names, call_text, canonical_key, plain_schema, read_schema
from exe.inputs.schema import Signature
from exe.inputs.strategies import Maker
from exe.records import Job, Type
from exe.sandbox.host import Sandbox

ROWS = [json.loads(line) for line in (Path(__file__).parent / "annotation_forms.jsonl").read_text().splitlines()]
DRAWS = 4
STUB = """
class {name}:
    def __init__(self, *positional, **named):
        self.positional, self.named = positional, named
"""


def parts(found: Type) -> Iterator[Type]:
    yield found
    for inner in (*found.args, *(part.type for part in found.fields)):
        yield from parts(inner)


def program(signature: Signature) -> tuple[str, dict[str, str]]:
    """A program with a stand-in for every class that the types name, and the names that its calls use."""
    types = [part for parameter in signature.parameters for part in parts(parameter.type)]
    origins = {part.origin: part for part in types if part.origin}
    lines = ["import enum", "def f(x):", "    return x"]
    bound = {}
    for number, (origin, part) in enumerate(origins.items()):
        bound[origin] = name = f"Class{number}"
        if part.kind == "enum":
            lines.append(f"{name} = enum.Enum({name!r}, {list(part.values)!r})")
        else:
            lines.append(STUB.format(name=name))
    return bind_names("\n".join(lines) + "\n", [parameter.type for parameter in signature.parameters], bound)


@pytest.fixture(scope="module")
def evaluated() -> dict[str, list[tuple[Any, Any]]]:
    """By form: the (arguments, outcome) of each draw, evaluated twice."""
    jobs, drawn = [], []
    for row in ROWS:
        signature = read_schema(row["schema"])
        source, names = program(signature)
        signature = Signature(parameters=signature.parameters, how="function", self_type=None, names=names)
        choices = random.Random(row["form"])
        inputs = [Maker(lambda n: int(choices.random() * n), names=names).arguments(signature) for _ in range(DRAWS)]  # noqa: B023
        drawn.append((row, signature, inputs))
        calls = [call_text("f", signature, arguments) for arguments in inputs]
        jobs.append(Job(source=source, calls=(*calls, *calls), batch=True))
    with Sandbox() as sandbox:
        outcomes = list(sandbox.execute(jobs))
    return {
        row["form"]: [(arguments, found[at], found[at + DRAWS], signature) for at, arguments in enumerate(inputs)]
        for (row, signature, inputs), found in zip(drawn, outcomes, strict=True)
    }  # type: ignore[misc]


def test_there_are_many_forms_and_each_says_where_it_occurs() -> None:
    assert len({row["form"] for row in ROWS}) == len(ROWS) >= 120
    for row in ROWS:
        package, file, line = row["where"].split(":")
        assert "==" in package
        assert file.endswith(".py")
        assert int(line) > 0


@pytest.mark.parametrize("row", ROWS, ids=[row["form"] for row in ROWS])
def test_a_form_all_the_way(row: dict[str, Any], evaluated: dict[str, Any]) -> None:
    schema = plain_schema(row["schema"])
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["x"]["description"] == row["annotation"]
    checker = Draft202012Validator(schema)
    for arguments, once, again, signature in evaluated[row["form"]]:
        assert list(checker.iter_errors(arguments)) == []
        text = call_text("f", signature, arguments)
        ast.parse(text, mode="eval")
        through = json.loads(json.dumps(arguments))
        assert canonical_key(signature, through) == canonical_key(signature, arguments)
        assert call_text("f", signature, through) == text
        assert once.status in ("value", "unrepresentable"), (text, once.detail)
        assert (once.status, once.plain, once.typed) == (again.status, again.plain, again.typed)
