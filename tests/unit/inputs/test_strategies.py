"""Values made for types, from plain random choices, and literals as the JSON that decodes to them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from exe.inputs import ArgumentError, call_text
from exe.inputs.encode import default_json, to_json
from exe.inputs.mine import Hints
from exe.inputs.schema import Signature
from exe.inputs.strategies import Maker
from exe.records import Type
from tests.unit.analysis.test_annotations import PRELUDE
from tests.unit.inputs.building import build


def typed(root: Path, annotation: str) -> tuple[Type, Signature]:
    found, _, signature = build(root, f"{PRELUDE}\n\ndef f(x: {annotation}) -> str:\n    return ''\n")
    return found.parameters[0].type, signature


def test_sets_hold_nothing_twice_by_python_equality(tmp_path: Path) -> None:
    found, signature = typed(tmp_path, "set[Any]")
    mixed = 0
    for seed in range(300):
        value = Maker(random.Random(seed).randrange).value(found)
        text = call_text("f", signature, {"x": value})[2:-1]
        assert len(eval(text)) == len(value)
        mixed += {bool, int} <= {type(item) for item in value}
    assert mixed > 10  # so that 1 and True could have met


WRAPPED = [
    ("str | Mode", "FAST", {"@odata.type": "#str", "value": "FAST"}),
    ("str | Mode", "other", "other"),
    ("float | str", "NaN", {"@odata.type": "#str", "value": "NaN"}),
    ("float | str", float("nan"), "NaN"),
    ("int | float", 1.0, 1.0),
    ("float | int", 1, 1),
    ("str | bytes", b"hi", {"@odata.type": "#bytes", "value": "aGk="}),
    ("list[int] | tuple[int, ...]", (1,), {"@odata.type": "#tuple[int, ...]", "value": [1]}),
    ("list[int] | tuple[int, ...]", [1], [1]),
    ("Optional[dict[int, str]]", {3: "a"}, {"3": "a"}),
    ("dict[tuple[int, ...], set[str]]", {(1, 2): {"b", "a"}}, [[[1, 2], ["a", "b"]]]),
    ("Movie", {"title": "t"}, {"title": "t"}),
    ("Literal[b'x', 1]", b"x", "eA=="),
    ("complex", 1 + 2j, "1+2j"),
]


@pytest.mark.parametrize(("annotation", "value", "expected"), WRAPPED)
def test_literals_as_json(tmp_path: Path, annotation: str, value: Any, expected: Any) -> None:
    found, signature = typed(tmp_path, annotation)
    made = to_json(found, value, signature.names)
    assert made == expected
    assert type(made) is type(expected)
    back = eval(call_text("f", signature, {"x": made})[2:-1])
    assert back == value or repr(back) == repr(value)  # NaN equals nothing; a set has no order to print
    assert type(back) is type(value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [("int", "a"), ("int", True), ("list[int]", (1,)), ("int | str", 1.5), ("Base", {"x": 1}), ("Movie", {"y": 1})],
)
def test_literals_of_another_type(tmp_path: Path, annotation: str, value: Any) -> None:
    found, signature = typed(tmp_path, annotation)
    with pytest.raises(ArgumentError):
        to_json(found, value, signature.names)


def test_defaults(tmp_path: Path) -> None:
    found, signature = typed(tmp_path, "Optional[list[int]]")
    assert default_json(found, "[1, 2]", signature.names) == ([1, 2],)
    assert default_json(found, "None", signature.names) == (None,)
    assert default_json(found, "'a'", signature.names) == ()
    assert default_json(found, "make()", signature.names) == ()
    assert default_json(found, None, signature.names) == ()


def test_hints_are_followed(tmp_path: Path) -> None:
    found, _ = typed(tmp_path, "str")
    hints = Hints(strings=("needle",), by_name={"kind": ("small", 3)}, patterns_by_name={"code": (r"Q\d{3}",)})
    kinds = [Maker(random.Random(seed).randrange, hints).value(found, "kind") for seed in range(100)]
    codes = [Maker(random.Random(seed).randrange, hints).value(found, "code") for seed in range(100)]
    urls = [Maker(random.Random(seed).randrange, hints).value(found, "base_url") for seed in range(100)]
    assert sum("small" in text for text in kinds) > 20
    assert sum(text.startswith("Q") and text[1:4].isdigit() for text in codes) > 8
    assert sum("://" in text for text in urls) > 8
    assert sum("needle" in text for text in kinds + codes + urls) > 30


def test_later_arguments_are_related_to_earlier_ones(tmp_path: Path) -> None:
    _, _, signature = build(tmp_path, "def f(whole: str, part: str, at: int) -> str: ...")
    made = [Maker(random.Random(seed).randrange).arguments(signature) for seed in range(200)]
    assert sum(len(one["part"]) > 1 and one["part"] in one["whole"] for one in made) > 10


def test_recursive_types_end(tmp_path: Path) -> None:
    found, signature = typed(tmp_path, "Json")
    for seed in range(100):
        call_text("f", signature, {"x": Maker(random.Random(seed).randrange).value(found)})
