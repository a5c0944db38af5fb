"""Exceptions: their two forms and their names."""

from __future__ import annotations

import json
import queue
import zlib
from typing import Any

import pytest

from exe.values import Limits, Unrepresentable, encode_error, same_exception


class OwnError(Exception):
    def __init__(self, text: Any) -> None:
        self.text = text

    def __str__(self) -> str:
        if isinstance(self.text, BaseException):
            raise self.text
        return self.text  # type: ignore[no-any-return]


class Loud(str):
    def __str__(self) -> str:
        raise AssertionError("ran")


def test_forms() -> None:
    assert encode_error(KeyError("a")) == ({"error": {"code": "KeyError", "message": "'a'"}},) * 2
    try:
        json.loads("x")
    except json.JSONDecodeError as exc:
        plain, typed = encode_error(exc)
    assert plain["error"]["code"] == "JSONDecodeError"
    assert typed["error"]["code"] == "json.decoder.JSONDecodeError"
    assert plain["error"]["message"] == typed["error"]["message"] == "Expecting value: line 1 column 1 (char 0)"
    assert encode_error(OwnError(Loud("x")))[0]["error"] == {"code": "OwnError", "message": "x"}


def test_surrogates() -> None:
    plain, typed = encode_error(ValueError("\ud83d\ude00"))
    assert plain["error"]["message"] == "\U0001f600"
    assert typed["error"]["message"] == {"@odata.type": "#str", "value": "\\ud83d\\ude00"}


@pytest.mark.parametrize("failure", [TypeError("x"), SystemExit(), KeyboardInterrupt()])
def test_message_that_cannot_be_had(failure: BaseException) -> None:
    plain, typed = encode_error(OwnError(failure))
    assert plain["error"] == {"code": "OwnError", "message": ""}
    assert typed["error"]["unprintable"] == type(failure).__name__
    assert encode_error(OwnError(3))[1]["error"]["unprintable"] == "TypeError"


def test_size_limit() -> None:
    with pytest.raises(Unrepresentable, match="large"):
        encode_error(ValueError("x" * 11), limits=Limits(characters=10))


SAME = [
    ("ValueError", "ValueError"),
    ("ValueError", " builtins.ValueError\n"),
    ("OSError", "IOError"),
    ("OSError", "EnvironmentError"),
    ("OSError", "socket.error"),
    ("IOError", "select.error"),
    ("TimeoutError", "socket.timeout"),
    ("TimeoutError", "asyncio.TimeoutError"),
    ("JSONDecodeError", "json.JSONDecodeError"),
    ("json.decoder.JSONDecodeError", "json.JSONDecodeError"),
    ("json.decoder.JSONDecodeError", "JSONDecodeError"),
    (f"{queue.Empty.__module__}.Empty", "queue.Empty"),
    ("zlib.error", "error"),
    ("re.error", "re.PatternError"),
    ("make.<locals>.OwnError", "OwnError"),
    ("OwnError", "program.OwnError"),
]
DIFFERENT = [
    ("ValueError", "TypeError"),
    ("ValueError", "valueerror"),
    ("ValueError", "UnicodeDecodeError"),
    ("ValueError", "ValueError: x"),
    (f"{zlib.error.__module__}.{zlib.error.__qualname__}", "re.error"),
    ("decimal.InvalidOperation", "fractions.InvalidOperation"),
    ("KeyError", "Key"),
    ("", ""),
    ("KeyError", ""),
]


@pytest.mark.parametrize(("expected", "answered"), SAME)
def test_same_exception(expected: str, answered: str) -> None:
    assert same_exception(expected, answered)
    assert same_exception(answered, expected)


@pytest.mark.parametrize(("expected", "answered"), DIFFERENT)
def test_different_exception(expected: str, answered: str) -> None:
    assert not same_exception(expected, answered)
