"""Where in a text an answer may stand: outside reasoning, in answer tags, in fences, behind a marker, in an object."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from exe.grading.reader import MAX_DEPTH, TOO_DEEP, Reading, read

Span = tuple[int, int]
MAX_CONTAINERS = 20_000

_THINK = re.compile(
    r"(?P<close></(?:think|thinking|thought|reasoning|scratchpad|seed:think)>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>"
    r"|<\|channel\|>final<\|message\|>)"
    r"|<(?:think|thinking|thought|reasoning|scratchpad|seed:think)>|\[THINK\]|◁think▷|<\|begin_of_thought\|>"
    r"|<\|channel\|>analysis<\|message\|>",
    re.IGNORECASE,
)
"""How model families mark their reasoning: most in angle brackets, some in tokens of their own."""
_OPEN = re.compile(r"[\[{]")
_ANSWER_TAG = re.compile(r"(?P<open>\[ANSWER\]|<answer>)|(?P<close>\[/ANSWER\]|</answer>)", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]{0,8}(?P<ticks>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]{0,100})$", re.MULTILINE)
_ONE_LINE_FENCE = re.compile(r"`{3}(?:json|python|py)?(?P<body>[^`\n]+)`{3}")
_MARKER = re.compile(
    r"(?<![A-Za-z0-9_])(?:(?:final[ \t]+)?(?:answer|output|result)[*_]{0,3}[ \t]*[:=]"
    r"|final[ \t]+(?:answer|output|result)(?:[ \t]+(?:is|would[ \t]+be|will[ \t]+be))?)"
    r"[\s*_]{0,20}(?:`{1,3}(?:json|python|py)?\s{0,8})?\Z",
    re.IGNORECASE,
)
VALUE_START = re.compile(
    r"""[`*]{0,3}(?:["'\[{(\d.+-]|[bBrRuU]{1,2}["']|(?:true|false|null|none|nan|inf|infinity|set)\b)""", re.IGNORECASE
)
"""What a literal, plain or in backticks, can begin with."""
_BOX = re.compile(r"\\f?box(?:ed)?\s{0,3}\{(?:\s{0,3}\\(?:text|math)[a-z]{0,3}\s{0,3}\{)?\s{0,8}")
_ESCAPED_BRACE = re.compile(r"\\([{}])")
_MAX_BOXES = 20
_BOX_REACH = 20_000  # characters of a box
_MARKER_REACH = 120  # characters before an object in which its marker must stand


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block. `body` is its text; `start` and `end` include the fence lines; `info` follows the opening ticks."""

    start: int
    end: int
    body: str
    closed: bool
    info: str = ""


class TooManyContainers(Exception):
    """A text with more brackets than a search is worth; the message is the reason."""


def containers(text: str) -> list[Reading]:
    """Every outermost `[…]` or `{…}` of `text` in order, whether it could be read or not.

    What stands inside a container that was read is part of it, never an answer of its own. Time is linear in the text,
    since the search goes on where a failed reading stopped. Raises TooManyContainers beyond `MAX_CONTAINERS`.
    """
    found: list[Reading] = []
    pos = seen = 0
    while opening := _OPEN.search(text, pos):
        reading = read(text, opening.start())
        seen += MAX_DEPTH if reading.reason == TOO_DEEP else 1
        if seen > MAX_CONTAINERS:
            raise TooManyContainers(TOO_DEEP if reading.reason == TOO_DEEP else f"more than {MAX_CONTAINERS} brackets")
        found.append(reading)
        pos = reading.resume
    return found


def visible(text: str, protected: Sequence[Span]) -> str:
    """`text` without its reasoning.

    A paired block goes; an unpaired closing tag takes everything before it along; an unpaired opening tag everything
    after it. Tags within `protected` spans (ascending, disjoint) are text.
    """
    kept: list[str] = []
    pos = 0
    thinking = False
    for tag in _outside(_THINK.finditer(text), protected):
        if not tag["close"]:
            if not thinking:
                kept.append(text[pos : tag.start()])
            thinking = True
            continue
        if not thinking:
            kept.clear()
        thinking = False
        pos = tag.end()
    if not thinking:
        kept.append(text[pos:])
    return "\n".join(kept)


def answer_region(text: str, protected: Sequence[Span] = ()) -> Span | None:
    """Start and end of the text between the last pair of answer tags, None without any tag.

    A missing closing tag means up to the end (generation stopped at it), a missing opening tag from the beginning (the
    prompt ended with it). Tags within `protected` spans are text.
    """
    tags = list(_outside(_ANSWER_TAG.finditer(text), protected))
    if not tags:
        return None
    if tags[-1]["open"]:
        return tags[-1].end(), len(text)
    return (tags[-2].end() if len(tags) > 1 else 0), tags[-1].start()


def _outside(tags: Iterable[re.Match[str]], spans: Sequence[Span]) -> Iterator[re.Match[str]]:
    """The `tags` that do not start within one of the `spans`, both ascending."""
    rest = iter(spans)
    span = next(rest, None)
    for tag in tags:
        while span and span[1] <= tag.start():
            span = next(rest, None)
        if span is None or tag.start() < span[0]:
            yield tag


def fences(text: str) -> list[Fence]:
    """The fenced blocks of `text` in order; one that is never closed reaches to the end."""
    found: list[Fence] = []
    opening: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        if opening is None:
            opening = line
        elif not line["info"].strip() and line["ticks"].startswith(opening["ticks"]):
            body = text[opening.end() + 1 : line.start()]
            found.append(Fence(opening.start(), line.end(), body, closed=True, info=opening["info"].strip().lower()))
            opening = None
    if opening is not None:
        found.append(Fence(opening.start(), len(text), text[opening.end() + 1 :], closed=False))
    return found


def unfenced(text: str) -> str:
    """The body where the whole of `text` is one fence, one inline code span or in bold, else `text`; stripped."""
    text = text.strip()
    if len(text) > 4 and text.startswith("**") and text.endswith("**") and "**" not in text[2:-2]:
        text = text[2:-2].strip()
    if not text.startswith(("`", "~~~")):
        return text
    blocks = fences(text)
    if len(blocks) == 1 and blocks[0].start == 0 and blocks[0].end == len(text):
        return blocks[0].body.strip()
    inline = _ONE_LINE_FENCE.fullmatch(text)
    if inline:
        return inline["body"].strip()
    if len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]:
        return text[1:-1].strip()
    return text


def boxed(text: str) -> str | None:
    r"""What stands in the last `\boxed{…}` of LaTeX that holds one value; braces in it may be escaped, `\text{…}` stand around it."""
    for box in reversed(list(islice(_BOX.finditer(text), _MAX_BOXES))):
        inside = text[box.end() : box.end() + _BOX_REACH]
        for body in (inside, _ESCAPED_BRACE.sub(r"\1", inside)):
            reading = read(body)
            if reading.status == "complete" and body[reading.end :].lstrip().startswith("}"):
                return body[: reading.end]
    return None


def spoken(text: str) -> str:
    """A value at the end of a sentence without its full stop and emphasis; an ellipsis is no full stop."""
    text = text.strip(" \t*")
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1]
    return text.strip(" \t*")


def pointed_at(text: str, start: int) -> bool:
    """Whether an explicit marker ("Answer:", "Final answer is", …) stands directly before `start`."""
    return _MARKER.search(text, max(0, start - _MARKER_REACH), start) is not None
