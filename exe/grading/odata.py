"""The OData answer in a text: `{"value": …}` or `{"error": {"code": …, "message": …}}`, wherever a careful reader finds it.

Order of search, first hit decides:

1. the whole text is one value (then nothing of it is taken for reasoning, markers or prose);
2. the same for the text without its reasoning (`<think>`);
3. between the last `[ANSWER]` and `[/ANSWER]`, where there are such tags;
4. an answer object in LaTeX's `\\boxed{…}`, else the last answer object that a marker ("Answer:", "Final answer is", "Output:")
   points at;
5. the last complete answer object;
6. without any answer object, a bare value that is a whole fence (the only one, the last thing in the text, or marked), that
   stands in a box, or between a marker (here "the output is" is one too) and the end of the text. A bare value never has a
   member `value` or `error`.

Objects within a fence of program code count in 4 and 5 only where there are none outside. A whole text that is a JSON string
with an answer object in it is that object, encoded twice.

An answer object may carry OData control information (members with an `@`), an empty counterpart (`"error": null`) and comments
(texts under a name such as "explanation"), nothing else. What is found but cannot be trusted (duplicate keys, both a value and an error, an object that the text's end cuts off)
is `unparseable`: an earlier draft is not taken in its place. `null` and `"null"` are never read as each other, and a line like
`ValueError: bad` is no answer in this format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from exe.grading.extract import (
    VALUE_START,
    TooManyContainers,
    answer_region,
    boxed,
    containers,
    fences,
    pointed_at,
    spoken,
    unfenced,
    visible,
)
from exe.grading.reader import TOO_DEEP, Reading, read
from exe.records import Answer

_ENVELOPE_START = re.compile(r"""\{\s*+["'“](?:value|error|@[\w.]{1,60}|(?:value|error)@[\w.]{1,60})["'”]\s*+:""")
_LABEL = re.compile(
    r"(?<![A-Za-z0-9_])(?:final[ \t]+)?(?:answer|output|result|return(?:ed)?[ \t]+value)[*_]{0,3}"
    r"(?:[ \t]*:|[ \t]+(?:is|will[ \t]+be|would[ \t]+be|should[ \t]+be|must[ \t]+be)\b:?)[*_]{0,3}",
    re.IGNORECASE,
)
_CODE = frozenset({"python", "py", "python3", "pycon", "javascript", "js", "typescript", "ts", "java", "c", "cpp", "go",
                   "rust", "ruby", "bash", "sh", "shell", "console"})  # fmt: skip
"""Languages of fences that show code, not an answer, unless the fence holds one value and nothing else."""
_COMMENTS = frozenset({"explanation", "explain", "reasoning", "reason", "rationale", "thought", "thoughts", "thinking",
                       "analysis", "comment", "comments", "note", "notes"})  # fmt: skip


def parse_odata(text: str) -> Answer:
    """The answer that `text` gives in OData form; `unparseable` with its reason where there is none."""
    whole = _whole(text)
    if whole is not None:
        return whole
    try:
        return _within(text)
    except TooManyContainers as error:
        return _none(str(error))


def _within(text: str) -> Answer:
    """The answer in a text that is more than an answer."""
    found = containers(text)
    shown = visible(text, _quoted(text, _spans(found)))
    if not shown.strip():
        return _none("only reasoning, no answer after it")
    if shown != text:
        whole = _whole(shown, "reasoning")
        if whole is not None:
            return whole
        found = containers(shown)
    region = answer_region(shown, _spans(found))
    if region is not None:
        inside = shown[slice(*region)]
        return _whole(inside, "answer tags") or _searched(inside, containers(inside))
    return _searched(shown, found)


def _whole(text: str, *notes: str) -> Answer | None:
    """The answer where `text`, a fence around it apart, is one value and nothing else."""
    stripped = text.strip().removeprefix("\ufeff")
    body = unfenced(stripped)
    if not body:
        return None
    reading = read(body)
    if body[reading.end :].strip() or reading.status == "broken":
        return None
    return _answer(reading, body, *notes, *(["fence"] if body != stripped else []))


def _searched(text: str, found: Sequence[Reading]) -> Answer:
    """The answer among the containers of a longer text."""
    deep = next((reading for reading in found if reading.reason == TOO_DEEP), None)
    if deep is not None:
        return _none(TOO_DEEP)  # where it ends is unknown, so that its inner parts cannot be told from answers
    in_box = _boxed(text)
    if in_box is not None and "bare value" not in in_box.lenient:
        return in_box
    likely = _outside_code(text, [reading for reading in found if _looks_like_answer(text, reading)])
    marked = [reading for reading in likely if pointed_at(text, reading.start)]
    if marked:
        return _answer(marked[-1], text, "prose")
    sound = [reading for reading in likely if reading.status != "broken" or reading.truncated]
    if sound:
        return _answer(sound[-1], text, "prose")
    bare = _bare(text) or in_box
    if bare is not None:
        return bare
    if likely:
        return _answer(likely[-1], text)
    return _none("no answer object in the text")


def _boxed(text: str) -> Answer | None:
    inside = boxed(text)
    return None if inside is None else _whole(inside, "prose")


def _outside_code(text: str, likely: Sequence[Reading]) -> Sequence[Reading]:
    """Those of the `likely` answers that are no part of program code; all of them where every one is."""
    code = [
        (block.start, block.end)
        for block in (fences(text) if likely else ())
        if block.info.partition(" ")[0] in _CODE and _whole(block.body) is None
    ]
    outside = [reading for reading in likely if not any(start < reading.start < end for start, end in code[-50:])]
    return outside or likely


def _looks_like_answer(text: str, reading: Reading) -> bool:
    if reading.status == "complete":
        return isinstance(reading.value, dict) and not _strangers(reading.value) and _is_envelope(reading.value)
    return _ENVELOPE_START.match(text, reading.start) is not None


def _bare(text: str) -> Answer | None:
    """A value without its envelope, where the text leaves no doubt that it is the answer."""
    blocks = fences(text)
    end = len(text.rstrip())
    for block in reversed(blocks[-20:]):
        if block.closed and (block.end >= end or len(blocks) == 1 or pointed_at(text, block.start)):
            answer = _whole(block.body, "fence", "prose")
            if answer is not None:
                return answer
    last_line = text.rstrip().rpartition("\n")[2]
    for marker in islice(_LABEL.finditer(last_line), 5):
        value = spoken(last_line[marker.end() :])
        if VALUE_START.match(value):  # the first label before a value decides: what follows later is an aside
            return _whole(value, "prose")
    return None


def _answer(reading: Reading, text: str, *notes: str) -> Answer:
    """The Answer that a reading amounts to."""
    source = text[reading.start : reading.end]
    if reading.status != "complete":
        where = "the answer object is cut off: " if reading.truncated else ""
        return _none(where + reading.reason, source)
    value = reading.value
    lenient = {*notes, *reading.notes}
    if isinstance(value, str) and (inner := _encoded_twice(value)) is not None:
        return replace(inner, source=source, lenient=tuple(sorted({*lenient, *inner.lenient, "encoded twice"})))
    if not (isinstance(value, dict) and _is_envelope(value)):
        return Answer(status="value", value=value, source=source, lenient=tuple(sorted({*lenient, "bare value"})))
    problem = _problem(value)
    if problem is not None:
        return _none(problem, source)
    if any(_is_comment(*member) for member in value.items()):
        lenient.add("comments")
    error = value.get("error")
    if error is None and "value" in value:
        if "error" in value:
            lenient.add("empty counterpart")
        return Answer(status="value", value=value["value"], source=source, lenient=tuple(sorted(lenient)))
    assert isinstance(error, dict)
    if "value" in value:
        lenient.add("empty counterpart")
    if "message" not in error:
        lenient.add("no message")
    pair = (error["code"].strip(), error.get("message"))
    return Answer(status="error", error=pair, source=source, lenient=tuple(sorted(lenient)))


def _encoded_twice(text: str) -> Answer | None:
    """The answer object that is the whole content of a string, None where the string is a value of its own."""
    if not text.lstrip().startswith("{"):
        return None
    answer = _whole(text)
    return None if answer is None or answer.status == "unparseable" or "bare value" in answer.lenient else answer


def _problem(value: dict[Any, Any]) -> str | None:
    """Why an object with a member `value` or `error` is no answer; None where it is one."""
    strangers = _strangers(value)
    if strangers:
        return "members beside the answer: " + ", ".join(strangers[:3])
    error = value.get("error")
    if error is None:
        return None if "value" in value else "the error is null"
    if value.get("value") is not None:
        return "both a value and an error"
    if not isinstance(error, dict):
        return "the error is no object with code and message"
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, str) or not code.strip():
        return "the error has no code"
    if not isinstance(message, str | None):
        return "the error's message is no text"
    return None


def _is_envelope(value: dict[Any, Any]) -> bool:
    return "value" in value or "error" in value


def _strangers(value: dict[Any, Any]) -> list[str]:
    """Members that an answer object does not have; control information has an `@` in its name."""
    return [
        ascii(key)[:40]
        for key, member in value.items()
        if key not in ("value", "error")
        and not (isinstance(key, str) and "@" in key)
        and not (_is_comment(key, member))
    ]


def _is_comment(name: Any, member: Any) -> bool:
    return isinstance(name, str) and name.lower() in _COMMENTS and isinstance(member, str)


def _spans(found: Iterable[Reading]) -> list[tuple[int, int]]:
    return [(reading.start, reading.end) for reading in found if reading.status != "broken"]


def _quoted(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, and those of fences that hold one text: a tag of reasoning in them is the answer's own."""
    texts = [
        (block.start, block.end)
        for block in fences(text)[-20:]
        if block.closed and block.body.lstrip().startswith(('"', "'")) and _whole(block.body) is not None
    ]
    return sorted([*spans, *(one for one in texts if not any(a < one[1] and one[0] < b for a, b in spans))])


def _none(reason: str, source: str | None = None) -> Answer:
    return Answer(status="unparseable", reason=reason, source=source)
