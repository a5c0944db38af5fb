"""The Python answer in a text: one literal, or the right-hand side of an assertion about the call.

Order of search, first hit decides:

1. the whole text, a fence around it apart: a literal (an unparenthesised tuple too), `assert f(…) == literal` (either way
   round, `is` for None and booleans), `f(…) == literal`, `raise Name("message")`;
2. the same between the last `[ANSWER]` and `[/ANSWER]`; nothing else counts where there are such tags;
3. behind a last sentence like "the output is `…`." or "Answer: …" that ends the text, or in a last LaTeX `\\boxed{…}`;
4. the last fence or the last line of prose beginning with `assert` that reads as in 1.

Reasoning (`<think>`) is left out from step 2 on. A literal is what `exe.values.read_literal` reads: Python's own, where a repeated
key keeps its last value, with constructors such as `frozenset({1})` and `float('nan')`. Everything else is `unparseable`: other
expressions (`4 or 3`, `'a' + 'b'`, a call), JSON's `null` and `true`, several statements, an assertion with a message (its comma may
have been meant as a tuple's).
"""

from __future__ import annotations

import ast
import re
import warnings
from itertools import islice
from typing import Any

from exe.grading.extract import VALUE_START, answer_region, boxed, fences, spoken, unfenced, visible
from exe.records import Answer
from exe.values import LiteralError, read_literal

MAX_STATEMENT = 200_000  # characters of an assertion
MAX_LONG_NUMBERS = 5_000
_LONG_NUMBER = re.compile(r"[0-9a-fA-F_]{16,}+")
_ENDING = re.compile(
    r"(?<![A-Za-z0-9_])(?:answer|output|result|return[ \t]+value|returns?|value)[*_]{0,3}"
    r"(?:[ \t]*[:=]|[ \t]+(?:is|are|would[ \t]+be|will[ \t]+be|should[ \t]+be|must[ \t]+be)\b:?)[*_]{0,3}",
    re.IGNORECASE,
)
_TAGGED_LINE = re.compile(r"^(?=[^\n]{0,2000}[\[<◁])[ \t]{0,8}[bBrRuUfF(\[{]{0,8}['\"][^\n]{1,2000}$", re.MULTILINE)
_MAX_TAGGED = 50
_ASSERT_LINE = re.compile(r"^[ \t>*`]{0,8}(?P<statement>assert\b[^\n]{1,100000})$", re.MULTILINE)


def parse_python(text: str) -> Answer:
    """The answer that `text` gives as a Python literal; `unparseable` with its reason where there is none."""
    whole = _read(text)
    if whole.status != "unparseable":
        return whole
    protected = _answers(text)
    region = answer_region(text, protected)
    if region and _read(text[slice(*region)]).status != "unparseable":
        protected = [region]
    shown = visible(text, protected)
    if not shown.strip():
        return _none("only reasoning, no answer after it")
    if shown != text:
        whole = _read(shown, "reasoning")
        if whole.status != "unparseable":
            return whole
    region = answer_region(shown, _answers(shown))
    if region is not None:
        return _read(shown[slice(*region)], "answer tags")
    if _statements(shown) > 1:
        return _none("several statements")
    return _ending(shown) or _last_block(shown) or whole


def _answers(text: str) -> list[tuple[int, int]]:
    """Where fences, lines and a last sentence hold a literal: a tag of reasoning or answer in it is its own text."""
    spans = [(block.start, block.end) for block in fences(text)[-20:] if block.closed and _is_answer(block.body)]
    tagged = islice(_TAGGED_LINE.finditer(text), _MAX_TAGGED)
    spans += [line.span() for line in tagged if _is_answer(line[0])]
    start = len(text.rstrip().rpartition("\n")[0])
    for label in islice(_ENDING.finditer(text, start), 5):
        body = text[label.end() :].strip(" \t\n*").removesuffix(".")
        if _is_answer(body):
            spans.append((label.end(), len(text)))
            break
    return _disjoint(spans)


def _is_answer(text: str) -> bool:
    return bool(text.strip()) and _read(text).status != "unparseable"


def _disjoint(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, without those that begin within another."""
    kept: list[tuple[int, int]] = []
    for span in sorted(spans):
        if not kept or kept[-1][1] <= span[0]:
            kept.append(span)
    return kept


def _ending(text: str) -> Answer | None:
    """The literal of a last sentence that ends the text."""
    last_line = text.rstrip().rpartition("\n")[2]
    for label in islice(_ENDING.finditer(last_line), 20):
        body = spoken(last_line[label.end() :])
        if VALUE_START.match(body) or body.startswith(
            "assert "
        ):  # the first label before a value decides: what follows later is an aside
            answer = _read(body, "prose")
            return answer if answer.status == "value" else None
    inside = boxed(text)
    in_box = _read(inside, "prose") if inside is not None else None
    return in_box if in_box is not None and in_box.status == "value" else None


def _last_block(text: str) -> Answer | None:
    """The last fence or asserting line outside of fences that reads as an answer."""
    blocks = fences(text)
    places = [(block.start, block.body) for block in blocks]
    index = 0
    for line in _ASSERT_LINE.finditer(text):
        while index < len(blocks) and blocks[index].end <= line.start():
            index += 1
        if index == len(blocks) or line.start() < blocks[index].start:
            places.append((line.start(), line["statement"].rstrip("`* \t")))
    for _, body in islice(sorted(places, reverse=True), 50):
        answer = _read(body, "prose")
        if answer.status != "unparseable":
            return answer
    return None


def _read(text: str, *notes: str) -> Answer:
    """The answer where the whole of `text`, a fence around it apart, is one."""
    stripped = text.strip().removeprefix("\ufeff")
    body = unfenced(stripped)
    lenient = {*notes, *(["fence"] if body != stripped else [])}
    try:
        return Answer(status="value", value=_literal(body), source=body, lenient=tuple(sorted(lenient)))
    except LiteralError as error:
        reason = str(error)
    statement = _statement(body)
    match statement:
        case ast.Assert(test=test, msg=None) | ast.Expr(value=test):
            literal = _asserted(test, body)
            if literal is None:
                return _none(reason)
            try:
                value = _literal(literal)
            except LiteralError as error:
                return _none(f"the assertion's value is no literal: {error}", literal)
            return Answer(status="value", value=value, source=literal, lenient=tuple(sorted({*lenient, "assertion"})))
        case ast.Assert():
            return _none("an assertion with a message, or a tuple without parentheses", body)
        case ast.Raise(exc=raised, cause=None) if raised is not None:
            return _raised(raised, body, lenient)
        case _:
            return _none(reason)


def _literal(text: str) -> Any:
    """As `read_literal`, for text that may be hostile: large integers can be chosen so that their hashes collide."""
    if next(islice(_LONG_NUMBER.finditer(text), MAX_LONG_NUMBERS, None), None) is not None:
        raise LiteralError(f"more than {MAX_LONG_NUMBERS} long numbers")
    return read_literal(text)


def _asserted(test: ast.expr, body: str) -> str | None:
    """The text of the side of a comparison that is not the call; None where the comparison has another form."""
    match test:
        case ast.Compare(left=ast.Call(), ops=[ast.Eq() | ast.Is()], comparators=[other]):
            pass
        case ast.Compare(left=other, ops=[ast.Eq() | ast.Is()], comparators=[ast.Call()]):
            pass
        case _:
            return None
    if isinstance(test.ops[0], ast.Is) and not (isinstance(other, ast.Constant) and other.value in (None, True, False)):
        return None
    return ast.get_source_segment(body, other)


def _raised(raised: ast.expr, body: str, lenient: set[str]) -> Answer:
    """The error of `raise Name` or `raise Name("message")`."""
    match raised:
        case ast.Call(func=name, args=[ast.Constant(value=str(message))], keywords=[]):
            pass
        case ast.Call(func=name, args=[], keywords=[]):
            message = ""
        case _:
            name, message = raised, ""
    if not isinstance(name, ast.Name | ast.Attribute):
        return _none("a raise statement without a plain exception", body)
    code = ast.get_source_segment(body, name) or ""
    if not re.fullmatch(r"\w+(?:\.\w+)*+", code):
        return _none("a raise statement without a plain exception", body)
    return Answer(
        status="error", error=(code, message), source=body, lenient=tuple(sorted({*lenient, "raise statement"}))
    )


def _statement(text: str) -> ast.stmt | None:
    """The single statement that `text` is, None where it is none or more than one."""
    body = _parsed(text)
    return body[0] if body is not None and len(body) == 1 else None


def _statements(text: str) -> int:
    return len(_parsed(unfenced(text)) or ())


def _parsed(text: str) -> list[ast.stmt] | None:
    if len(text) > MAX_STATEMENT:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text).body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None


def _none(reason: str, source: str | None = None) -> Answer:
    return Answer(status="unparseable", reason=reason, source=source)
