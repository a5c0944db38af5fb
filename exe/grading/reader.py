"""A tolerant reader of one value in model text: JSON, Python literals and the usual mixtures of both, never evaluated.

What is read beyond JSON (each leaves its word in `Reading.notes`):

    python literal      single quotes, True/False/None, tuples, sets, bytes, complex, 0x10, 1_000, +1, non-string keys, and the
                        constructors that `exe.values.read_literal` knows: `frozenset({1})`, `Decimal('1.5')`, `set()`
    number token        NaN, Infinity, -Infinity, INF, -INF, nan, inf, -nan, -inf
    trailing comma      `[1, 2,]`
    comment             `# …`, `/* … */`, and `// …` except right after a number, where it would be a division
    control character   a raw line break or tab inside a double-quoted string
    typographic quotes  “…” around a string that has neither quotes nor backslashes in it

What is refused although the syntax can be followed (`invalid`, with its reason): duplicate keys, since readers disagree on which
one counts; nesting over `MAX_DEPTH`; integers over `MAX_DIGITS`; unhashable keys; more than `MAX_HASHED` keys or set elements
that are not strings, since their hashes can be chosen to collide. Integers are exact at any accepted length; `1e400` is
infinite, as Python's own readers have it. The work is linear in the text: no recursion, no backtracking.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from exe.grading.strings import StringError, decode_string
from exe.values import DEFAULT_LIMITS, MAX_DIGITS, LiteralError, read_literal

MAX_DEPTH = DEFAULT_LIMITS.depth
MAX_HASHED = 5_000
TOO_DEEP = f"nested deeper than {MAX_DEPTH}"

_SKIP = re.compile(r"(?:\s++|\#[^\n]{0,300}+(?=\n|\Z)|//[^\n]{0,300}+(?=\n|\Z)|/\*[^*]{0,1000}\*/)*+")
_SPACE = re.compile(r"\s*+")
_STRING = re.compile(
    r"""(?P<prefix>[bB][rR]?|[rR][bB]?|[uU])?(?:"(?:[^"\\]++|\\[\s\S])*+"|'(?:[^'\\\n]++|\\[\s\S])*+')"""
)
_STRING_START = re.compile(r"""(?:[bB][rR]?|[rR][bB]?|[uU])?["']""")
_CURLY_STRING = re.compile(r"[“”„][^“”„\"\\\n]{0,10000}+[“”]")
_WORD = re.compile(r"[+-]?[A-Za-z_]\w*+")
_CALL = re.compile(r"[A-Za-z_][\w.]{0,60}+\(")
_CALL_PART = re.compile(r"""[^()"'\\]++|"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+'|[()]""")
MAX_CALL = 20_000  # characters of a constructor's call
_CALL_LIMITS = DEFAULT_LIMITS._replace(depth=20, nodes=2_000, characters=MAX_CALL)
_REAL = r"(?:\d++(?:_\d++)*+(?:\.(?:\d++(?:_\d++)*+)?)?|\.\d++(?:_\d++)*+)(?:[eE][+-]?\d++(?:_\d++)*+)?"
_NUMBER = re.compile(
    rf"(?P<based>[+-]?0(?:[xX](?:_?[0-9a-fA-F])++|[oO](?:_?[0-7])++|[bB](?:_?[01])++))"
    rf"|(?P<complex>[+-]?(?:{_REAL}\s*+[+-]\s*+)?{_REAL}[jJ])|(?P<real>[+-]?{_REAL})"
)
_CONTINUED = re.compile(r"[\w.]|\s*+[+-]")
_SHORT_INT = re.compile(r"-?(?:0|[1-9]\d{0,17}+)(?![\w.]|\s*+[+-])")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?")
_CLOSER = {"[": "]", "{": "}", "(": ")"}
_WORDS: dict[str, tuple[Any, str | None]] = {
    "null": (None, None),
    "true": (True, None),
    "false": (False, None),
    "None": (None, "python literal"),
    "True": (True, "python literal"),
    "False": (False, "python literal"),
} | {
    sign + word: (float(sign + word), "number token")
    for word in ("NaN", "Infinity", "INF", "nan", "inf")
    for sign in ("", "-", "+")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One attempt to read a value at `start`.

    `complete`: `value` was read and ends before `end`. `invalid`: followed up to `end` and refused for `reason`.
    `broken`: the syntax stops making sense; `truncated` where it does so only because the text ends. A search goes on
    at `resume`, which is never before the text that was really understood.
    """

    status: Literal["complete", "invalid", "broken"]
    start: int
    end: int
    resume: int
    value: Any = None
    reason: str = ""
    truncated: bool = False
    notes: frozenset[str] = frozenset()


def read(text: str, start: int = 0) -> Reading:
    """Read the one value that begins at `text[start]`. Never raises on any text."""
    # the json module counts all lines of the text for each error: once a text, not once a bracket
    return (_read_json(text) if start == 0 else None) or _Reader(text, start).run()


def _read_json(text: str) -> Reading | None:
    """The same for flawless JSON, at the speed of the json module; None for everything else."""
    try:
        value, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if text.count("[", 0, end) + text.count("{", 0, end) > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        return None
    if text[0] not in '[{"' and _CONTINUED.match(text, end):
        return None
    return Reading(status="complete", start=0, end=end, resume=end, value=value)


def _depth(value: Any) -> int:
    """How many containers stand within each other, without recursion."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, list | dict)]:
        depth += 1
        level = [item for outer in level for item in (outer if isinstance(outer, list) else outer.values())]
    return depth


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate key")
    return members


def _no_constant(token: str) -> None:
    raise ValueError(token)


_JSON = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def exact_int(digits: str) -> int:
    """The integer that decimal `digits` (ASCII, unsigned) write, whatever the interpreter's digit limit."""
    if len(digits) <= 500:
        return int(digits)
    low = len(digits) // 2
    power: int = 10**low
    return exact_int(digits[:-low]) * power + exact_int(digits[-low:])


class _Stop(Exception):
    """Reading cannot go on; carries the reason."""

    def __init__(
        self, reason: str, *, status: Literal["invalid", "broken"] = "broken", truncated: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.status, self.truncated = reason, status, truncated


@dataclass(slots=True)
class _Frame:
    """An open container. For a `{` it shows with the first colon or comma whether it is a dict or a set."""

    opener: str
    items: list[Any] = field(default_factory=list)
    pairs: dict[Any, Any] = field(default_factory=dict)
    is_dict: bool = False
    has_key: bool = False
    key: Any = None
    comma: bool = False  # a comma was read, so parentheses make a tuple


class _Reader:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.pos = start
        self.stack: list[_Frame] = []
        self.notes: set[str] = set()
        self.soft: int | None = None  # where leniency first swallowed text that may be something else
        self.flaw = ""  # first reason to refuse what could be followed
        self.hashed = 0

    def run(self) -> Reading:
        try:
            value = self._value()
        except _Stop as stop:
            resume = self.pos if self.soft is None else min(self.pos, self.soft)
            return Reading(
                status=stop.status,
                start=self.start,
                end=self.pos,
                resume=max(resume, self.start + 1),
                reason=stop.reason,
                truncated=stop.truncated,
            )
        return Reading(
            status="invalid" if self.flaw else "complete",
            start=self.start,
            end=self.pos,
            resume=self.pos,
            value=None if self.flaw else value,
            reason=self.flaw,
            notes=frozenset(self.notes),
        )

    def _value(self) -> Any:
        """One whole value; open containers wait on the stack."""
        may_close = False
        while True:
            char = self._peek()
            if char in _CLOSER:
                if len(self.stack) >= MAX_DEPTH:
                    raise _Stop(TOO_DEEP, status="invalid")
                self.stack.append(_Frame(char))
                self.pos += 1
                may_close = True
                continue
            if may_close and char == _CLOSER[self.stack[-1].opener]:
                if self.stack[-1].comma and self.stack[-1].opener != "(":
                    self.notes.add("trailing comma")
                self.pos += 1
                value = self._close(self.stack.pop())
            else:
                value = self._scalar(char)
            while self.stack:  # place the value, and every container that it completes
                outcome = self._place(value)
                if outcome == "more":
                    break
                value = self._close(self.stack.pop())
            else:
                return value
            may_close = not self.stack[-1].has_key

    def _place(self, value: Any) -> Literal["more", "closed"]:
        """Give `value` its place in the innermost container and read the separator behind it."""
        frame = self.stack[-1]
        char = self._peek(after_number=isinstance(value, int | float | complex) and not isinstance(value, bool))
        if char == ":" and frame.opener == "{" and not frame.has_key and (frame.is_dict or not frame.items):
            frame.key, frame.has_key, frame.is_dict = value, True, True
        elif char == "," or char == _CLOSER[frame.opener]:
            self._add(frame, value)
            frame.comma = char == ","
        else:
            raise _Stop(f"unexpected {char!r}")
        self.pos += 1
        if char == ",":
            if frame.opener == "(":
                self.notes.add("python literal")
            return "more"
        return "more" if char == ":" else "closed"

    def _add(self, frame: _Frame, value: Any) -> None:
        if not frame.is_dict:
            frame.items.append(value)
            return
        if not frame.has_key:
            raise _Stop("a key without a value")
        if not isinstance(frame.key, str):
            self.notes.add("python literal")
        if self._hashable(frame.key):
            if frame.key in frame.pairs:
                self.flaw = self.flaw or f"duplicate key {_short(frame.key)}"
            frame.pairs[frame.key] = value
        frame.has_key = False

    def _close(self, frame: _Frame) -> Any:
        match frame.opener:
            case "[":
                return frame.items
            case "(":
                self.notes.add("python literal")
                return frame.items[0] if len(frame.items) == 1 and not frame.comma else tuple(frame.items)
            case _ if frame.is_dict or not frame.items:
                return frame.pairs
            case _:
                self.notes.add("python literal")
                return {item for item in frame.items if self._hashable(item)}

    def _hashable(self, value: Any) -> bool:
        """Whether `value` may be a key or an element; where not, the reading is refused."""
        if not isinstance(value, str):
            self.hashed += 1
            if self.hashed > MAX_HASHED:
                self.flaw = self.flaw or f"more than {MAX_HASHED} keys or set elements that are not strings"
                return False
        try:
            hash(value)
        except TypeError:
            self.flaw = self.flaw or f"unhashable key or element {type(value).__name__}"
            return False
        return True

    def _peek(self, *, after_number: bool = False) -> str:
        """The next character that is no white space or comment; `pos` moves there."""
        space = _SPACE.match(self.text, self.pos)
        self.pos = space.end() if space else self.pos
        slash = after_number and self.text.startswith("//", self.pos)
        if self.text.startswith(("#", "//", "/*"), self.pos) and not slash:
            skip = _SKIP.match(self.text, self.pos)
            if skip and skip.end() > self.pos:
                self.soft = self.pos if self.soft is None else self.soft
                self.notes.add("comment")
                self.pos = skip.end()
        if self.pos >= len(self.text):
            raise _Stop("the text ends inside a value", truncated=True)
        return self.text[self.pos]

    def _scalar(self, char: str) -> Any:
        if char in "\"'bBrRuU" and _STRING_START.match(self.text, self.pos):
            return self._string()
        if char in "“”„" and (curly := _CURLY_STRING.match(self.text, self.pos)):
            self.notes.add("typographic quotes")
            self.pos = curly.end()
            return curly[0][1:-1]
        if char in "0123456789.+-":
            short = _SHORT_INT.match(self.text, self.pos)
            if short:
                self.pos = short.end()
                return int(short[0])
            number = _NUMBER.match(self.text, self.pos)
            if number:
                return self._number(number)
        word = _WORD.match(self.text, self.pos)
        if word and word[0] in _WORDS:
            value, note = _WORDS[word[0]]
            if note:
                self.notes.add(note)
            self.pos = word.end()
            return value
        if _CALL.match(self.text, self.pos):
            return self._call()
        raise _Stop(f"unexpected {word[0][:40] if word else char!r}")

    def _call(self) -> Any:
        """A constructor of the standard library, as `repr` writes it; never called by its name, only looked up."""
        end, depth = self.pos, 0
        for part in _CALL_PART.finditer(self.text, self.pos, self.pos + MAX_CALL):
            if part.start() != end:
                break
            end = part.end()
            depth += (part[0] == "(") - (part[0] == ")")
            if part[0] == ")" and depth <= 0:
                break
        try:
            value = read_literal(self.text[self.pos : end], limits=_CALL_LIMITS)
        except LiteralError as error:
            raise _Stop(str(error)) from None
        self.notes.add("python literal")
        self.pos = end
        return value

    def _string(self) -> str | bytes:
        token = _STRING.match(self.text, self.pos)
        if token is None:
            line_end = self.text.find("\n", self.pos)
            double = self.text[self.pos : self.pos + 3].lstrip("bBrRuU").startswith('"')
            self.soft = self.pos + 1 if self.soft is None else self.soft
            raise _Stop("a string without an end", truncated=line_end < 0 or double)
        raw = token[0]
        newline = raw.find("\n")
        if newline >= 0:
            self.soft = self.pos + newline if self.soft is None else self.soft
        try:
            value, notes = decode_string(raw)
        except StringError as error:
            self.flaw = self.flaw or str(error)
            value, notes = "", frozenset()
        self.notes |= notes
        self.pos = token.end()
        return value

    def _number(self, token: re.Match[str]) -> int | float | complex:
        text = token[0]
        end = token.end()
        if end < len(self.text) and (self.text[end].isalnum() or self.text[end] in "_."):
            raise _Stop(f"unexpected {self.text[self.pos : end + 1][:40]!r}")
        self.pos = end
        if not _JSON_NUMBER.fullmatch(text):
            self.notes.add("python literal")
        plain = text.replace("_", "")
        if token["based"]:
            return int(plain, 0)
        if token["complex"]:
            return complex("".join(plain.split()))
        if any(mark in plain for mark in ".eE"):
            return float(plain)
        if len(plain) > MAX_DIGITS:
            self.flaw = self.flaw or f"an integer of more than {MAX_DIGITS} digits"
            return 0
        digits = plain.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0" and digits.strip("0"):
            raise _Stop(f"unexpected {text[:40]!r}")
        value = exact_int(digits)
        return -value if plain[0] == "-" else value


def _short(value: object) -> str:
    shown = ascii(value) if isinstance(value, str | bytes | bool | float) or value is None else type(value).__name__
    return shown if len(shown) <= 60 else shown[:57] + "..."
