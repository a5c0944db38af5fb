"""String tokens of model text: JSON's rule where the token is JSON, else Python's; nothing is evaluated."""

from __future__ import annotations

import json
import re
import unicodedata

_JSON_ESCAPES = re.compile(r'"(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_CONTROL = re.compile(r"[\x00-\x1f]")
_ESCAPE = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<big>[0-9a-fA-F]{8})"
    r"|N\{(?P<name>[^}\n]{1,100})\}|(?P<one>[\s\S]))"
)
_SIMPLE = {
    "\n": "",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


class StringError(ValueError):
    """A string token that neither JSON nor Python can read."""


def decode_string(token: str) -> tuple[str | bytes, frozenset[str]]:
    r"""The value of a whole string token, quotes and prefix included, and what was forgiven.

    `"\ud83d\ude00"` is one character (JSON's rule), `'\x41'` is "A" and `"\d"` keeps its backslash (Python's).
    Raises StringError for an escape that names no character and for bytes beyond ASCII.
    """
    notes = {"control character"} if _CONTROL.search(token) else set()
    if token[0] == '"' and _JSON_ESCAPES.fullmatch(token):
        value: str = json.loads(token, strict=False)
        return value, frozenset(notes)
    notes.add("python literal")
    start = min(token.index(quote) for quote in "\"'" if quote in token)
    prefix, body = token[:start].lower(), token[start + 1 : -1]
    if "b" in prefix:
        return _bytes(body, raw="r" in prefix), frozenset(notes)
    return body if "r" in prefix else _ESCAPE.sub(_character, body), frozenset(notes)


def _bytes(body: str, *, raw: bool) -> bytes:
    if not body.isascii():
        raise StringError("bytes with characters beyond ASCII")
    return body.encode("ascii") if raw else _ESCAPE.sub(_byte, body).encode("latin-1")


def _byte(escape: re.Match[str]) -> str:
    if escape["u"] or escape["big"] or escape["name"]:
        return escape[0]
    if escape["octal"]:
        return chr(int(escape["octal"], 8) & 0xFF)
    return _character(escape)


def _character(escape: re.Match[str]) -> str:
    if escape["octal"]:
        return chr(int(escape["octal"], 8))
    if escape["name"]:
        try:
            return unicodedata.lookup(escape["name"])
        except KeyError:
            raise StringError(f"no character is named {escape['name']!r}") from None
    for group in ("x", "u", "big"):
        if escape[group]:
            code = int(escape[group], 16)
            if code > 0x10FFFF:
                raise StringError(f"no character has the code {code:#x}")
            return chr(code)
    one = escape["one"]
    if one in "xuUN":
        raise StringError(f"an unfinished escape \\{one}")
    return _SIMPLE.get(one, "\\" + one)
