"""Aiming at comparisons: what is put where, and that a generator finds what it could not guess."""

from __future__ import annotations

from typing import Any

import pytest

from exe.inputs.aim import MOST, aimed


@pytest.mark.parametrize(
    ("arguments", "pair", "expected"),
    [
        ({"a": "key=1"}, ("key", "Endpoint"), [{"a": "Endpoint=1"}, {"a": "keyEndpoint=1"}, {"a": "Endpointkey=1"}]),
        ({"a": "KEY=1"}, ("key", "end"), [{"a": "end=1"}, {"a": "keyend=1"}, {"a": "endkey=1"}]),
        ({"a": 7}, (7, 64), [{"a": 64}, {"a": 65}, {"a": 63}]),
        ({"a": [1, 2, 1]}, (1.0, 5.0), []),
        ({"a": [1.0, 2.0, 1.0]}, (1.0, 5.0), [{"a": [5.0, 2.0, 1.0]}, {"a": [1.0, 2.0, 5.0]}]),
        ({"a": {"x": 1}}, ("x", "y"), [{"a": {"y": 1}}, {"a": {"xy": 1}}, {"a": {"yx": 1}}]),
        ({"a": {"x": 1, "y": 2}}, ("x", "y"), [{"a": {"xy": 1, "y": 2}}, {"a": {"yx": 1, "y": 2}}]),
        ({"a": "v12"}, (12, 3), [{"a": "v3"}, {"a": "v4"}, {"a": "v2"}]),
        ({"a": "abc"}, (3, 5), [{"a": "abcab"}, {"a": "abcabc"}, {"a": "abca"}]),
        ({"a": "x"}, (120, 0xB7), [{"a": "\xb7"}, {"a": "\xb8"}, {"a": "\xb6"}]),
        ({"a": "x"}, (120, 0xD800), [{"a": "\ud7ff"}]),
        ({"a": "line"}, ("line", "a longer text"), [{"a": "a longer text"}]),
        ({"a": "a=b"}, ("a=b", "="), [{"a": "="}]),
        ({"a": "a2V5PTE="}, ("key", "alg"), [{"a": "YWxnPTE="}, {"a": "a2V5YWxnPTE="}, {"a": "YWxna2V5PTE="}]),
        ({"a": ""}, (0, 2_000), [{"a": "a" * 2_000}, {"a": "a" * 2_001}, {"a": "a" * 1_999}]),
        ({"a": ""}, (0, 5_000), []),
        ({"a": True}, (1, 2), []),
        ({"a": ""}, ("", "z"), [{"a": "z"}]),
        ({"a": "pkg:"}, ("", "/"), [{"a": "pkg:/"}]),
    ],
)
def test_what_is_put_where(arguments: dict[str, Any], pair: tuple[Any, Any], expected: list[Any]) -> None:
    assert list(aimed(arguments, [pair])) == expected


def test_the_arguments_are_left_as_they_are_and_the_number_is_bounded() -> None:
    arguments = {"a": ["q"] * 100}
    assert len(list(aimed(arguments, [("q", "r")]))) == MOST
    assert arguments == {"a": ["q"] * 100}
