"""Where the names inside an f-string stand: interpreters before 3.12 do not say reliably."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from dataclasses import dataclass, field

from exe.analysis.text import Lines
from exe.inline.result import Refused


@dataclass(slots=True)
class _Field:
    """A replacement field: offsets of its expression, whether it shows its own text (`=`), fields in its format."""

    start: int
    end: int
    shows: bool
    quote: str
    inner: list[_Field] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Place:
    """Offsets of a name or attribute chain in an f-string, whether its text shows, and the quote to stay clear of."""

    start: int
    end: int
    shows: bool
    quote: str


def positions(node: ast.JoinedStr, lines: Lines) -> dict[int, Place]:
    """Places of the names and attribute chains inside an f-string, by id of their node.

    Raises Refused (string-formatting) where the text and the tree do not agree.
    """
    placed: dict[int, Place] = {}
    if sys.version_info >= (3, 12):
        _direct(node, lines, placed)
    else:
        _match(node, _fields_of_literals(lines.text, *lines.span(node)), lines.text, placed)
    return placed


def _fail(detail: str) -> Refused:
    return Refused("string-formatting", detail)


def _fields_of_literals(text: str, start: int, end: int) -> list[_Field]:
    """Fields of all literals between two offsets (adjacent literals are one node)."""
    piece = "(" + text[start:end] + ")"
    lines = Lines(piece)
    result: list[_Field] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(piece).readline):
            if token.type == tokenize.STRING:
                first = lines.starts[token.start[0] - 1] + token.start[1] + start - 1
                last = lines.starts[token.end[0] - 1] + token.end[1] + start - 1
                result += _fields_of_token(text, first, last)
    except tokenize.TokenError as error:
        raise _fail(str(error)) from error
    return result


def _fields_of_token(text: str, first: int, last: int) -> list[_Field]:
    at = first
    while text[at] not in "'\"":
        at += 1
    prefix = text[first:at].lower()
    if "f" not in prefix:
        return []
    quotes = 3 if text[at : at + 3] in ('"""', "'''") else 1
    found, _ = _scan(text, at + quotes, last - quotes, _Literal("r" in prefix, text[at]))
    return found


@dataclass(frozen=True, slots=True)
class _Literal:
    raw: bool
    quote: str
    nested: bool = False


def _scan(text: str, at: int, end: int, literal: _Literal) -> tuple[list[_Field], int]:
    """Fields from an offset to the end of the literal, or (nested) to the brace that closes a format."""
    result: list[_Field] = []
    while at < end:
        char = text[at]
        if char == "\\" and not literal.raw:
            if text.startswith("\\N{", at):
                at = text.index("}", at) + 1
            else:
                at += 2
        elif char == "{":
            if text[at + 1] == "{" and not literal.nested:
                at += 2
            else:
                one, at = _field(text, at + 1, end, literal)
                result.append(one)
        elif char == "}":
            if literal.nested:
                return result, at
            at += 2
        else:
            at += 1
    return result, at


def _field(text: str, at: int, end: int, literal: _Literal) -> tuple[_Field, int]:
    start, depth, quote = at, 0, ""
    while at < end:
        char = text[at]
        if quote:
            if text.startswith(quote, at):
                at += len(quote)
                quote = ""
                continue
        elif char in "'\"":
            quote = char * 3 if text.startswith(char * 3, at) else char
            at += len(quote)
            continue
        elif char in "([{":
            depth += 1
        elif depth and char in ")]}":
            depth -= 1
        elif not depth and (char in ":}" or (char == "!" and text[at + 1] != "=")):
            break
        elif not depth and char == "!":
            at += 1
        at += 1
    stop = at
    expression = text[start:stop]
    shows = _is_debug(expression)
    one = _Field(start, start + len(expression.rstrip().removesuffix("=")) if shows else stop, shows, literal.quote)
    if text[at] == "!":
        at += 2
    while text[at] not in ":}":
        at += 1
    if text[at] == ":":
        one.inner, at = _scan(text, at + 1, end, _Literal(literal.raw, literal.quote, True))
    return one, at + 1


def _is_debug(expression: str) -> bool:
    stripped = expression.rstrip()
    return stripped.endswith("=") and not stripped.endswith(("==", "!=", "<=", ">="))


def _direct(node: ast.JoinedStr, lines: Lines, placed: dict[int, Place]) -> None:
    shown: set[int] = set()
    for outer in ast.walk(node):
        if not isinstance(outer, ast.JoinedStr):
            continue
        for before, value in zip(outer.values, outer.values[1:], strict=False):
            debug = isinstance(before, ast.Constant) and str(before.value).rstrip().endswith("=")
            if debug and isinstance(value, ast.FormattedValue):
                shown.update(id(part) for part in ast.walk(value))
    start, _ = lines.span(node)
    while lines.text[start] not in "'\"":
        start += 1
    quote = lines.text[start]  # need not be kept clear of here, but the text is then the same as on older interpreters
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute):
            placed[id(part)] = Place(*lines.span(part), id(part) in shown, quote)


def _match(node: ast.JoinedStr, fields: list[_Field], text: str, placed: dict[int, Place]) -> None:
    values = [value for value in node.values if isinstance(value, ast.FormattedValue)]
    if len(values) != len(fields):
        raise _fail("fields of an f-string do not match its tree")
    for value, one in zip(values, fields, strict=True):
        source = text[one.start : one.end]
        try:
            parsed = ast.parse(f"({source})", mode="eval").body
        except SyntaxError as error:
            raise _fail(str(error)) from error
        lines = Lines(f"({source})")
        ours = [part for part in ast.walk(value.value) if isinstance(part, ast.expr)]
        theirs = [part for part in ast.walk(parsed) if isinstance(part, ast.expr)]
        if [type(part) for part in ours] != [type(part) for part in theirs]:
            raise _fail("an f-string reads differently alone")
        for our, their in zip(ours, theirs, strict=True):
            if isinstance(our, ast.Name | ast.Attribute):
                first, last = lines.span(their)
                placed[id(our)] = Place(one.start + first - 1, one.start + last - 1, one.shows, one.quote)
        if isinstance(value.format_spec, ast.JoinedStr):
            _match(value.format_spec, one.inner, text, placed)
