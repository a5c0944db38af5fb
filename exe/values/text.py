"""JSON text: strict, integers of any size exact, canonical where asked.

The functions here run inside the sandbox too, after a program that may have replaced `json.dumps`, `sorted` or `len`.
They therefore keep a private copy of the builtins (a function takes its builtins from its module's `__builtins__`
when it is defined) and hold the C pieces of `json` directly.
"""

from __future__ import annotations

import builtins
import json
import json.encoder
from _thread import RLock
from sys import get_int_max_str_digits, getrecursionlimit, set_int_max_str_digits, setrecursionlimit
from typing import Any

from exe.values.limits import MAX_DIGITS

globals()["__builtins__"] = dict(vars(builtins))

Json = Any

_quote = json.encoder.encode_basestring_ascii
_make_encoder = json.encoder.c_make_encoder  # type: ignore[attr-defined]
interpreter_limits = RLock()
"""Held while a limit of the interpreter (digits, recursion) is raised: threads have them in common."""


class integer_digits:
    """Let integers of up to `limit` digits be written and read in this block; the limit found before is restored.

    The interpreter has one limit for all threads, so one thread at a time is inside. A class, since `contextlib` would
    use the builtins that a program may have replaced.
    """

    __slots__ = ("before", "limit")

    def __init__(self, limit: int = MAX_DIGITS) -> None:
        self.limit = limit
        self.before = 0

    def __enter__(self) -> None:
        interpreter_limits.acquire()
        self.before = get_int_max_str_digits()
        if self.before:
            set_int_max_str_digits(max(self.before, self.limit))

    def __exit__(self, *_: object) -> None:
        set_int_max_str_digits(self.before)
        interpreter_limits.release()


class deep_stack:
    """Let calls nest `frames` deeper in this block; the limit found before is restored."""

    __slots__ = ("before", "frames")

    def __init__(self, frames: int = 4000) -> None:
        self.frames = frames
        self.before = 0

    def __enter__(self) -> None:
        interpreter_limits.acquire()
        self.before = getrecursionlimit()
        setrecursionlimit(self.before + self.frames)

    def __exit__(self, *_: object) -> None:
        setrecursionlimit(self.before)
        interpreter_limits.release()


def quote(text: str) -> str:
    """Return `text` as a JSON string in ASCII."""
    return str(_quote(text))


def dumps(tree: Json) -> str:
    """Return `tree` as strict JSON: ASCII, no spaces, no NaN tokens, object order kept.

    Raises TypeError for what is no JSON, ValueError for a non-finite float or an integer above `MAX_DIGITS`.
    """
    return _write(tree, sort_keys=False)


def canonical(tree: Json) -> str:
    """Return the one text that equal JSON trees share: keys sorted, exact integers, floats by their shortest repr."""
    return _write(tree, sort_keys=True)


def _write(tree: Json, *, sort_keys: bool) -> str:
    try:
        return _encode(tree, sort_keys=sort_keys)
    except ValueError as exc:
        if "digits" not in str(exc):
            raise
    with integer_digits():
        return _encode(tree, sort_keys=sort_keys)


def _encode(tree: Json, *, sort_keys: bool) -> str:
    if _make_encoder is None:
        return json.JSONEncoder(separators=(",", ":"), allow_nan=False, sort_keys=sort_keys).encode(tree)
    markers: dict[int, Json] = {}  # what is open; not fit for use again once an error has struck
    return "".join(_make_encoder(markers, _refuse, _quote, None, ":", ",", sort_keys, False, False)(tree, 0))


def _refuse(value: object) -> Json:
    raise TypeError(f"{type(value).__name__} is no JSON value")


class DuplicateKey(ValueError):
    """A JSON object names one key twice."""


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DuplicateKey(f"duplicate key {quote(key)}")
            seen.add(key)
    return out


def _no_constant(token: str) -> Json:
    raise ValueError(f"{token} is not strict JSON")


_decode = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant).decode


def loads(text: str) -> Json:
    """Read strict JSON; integers exact up to `MAX_DIGITS`.

    Raises ValueError (json.JSONDecodeError and `DuplicateKey` are such) for everything that is malformed, a NaN or
    Infinity token, a duplicate key and nesting deeper than the interpreter's stack included.
    """
    try:
        try:
            return _decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError as exc:
            if "digits" not in str(exc):
                raise
        with integer_digits():
            return _decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
