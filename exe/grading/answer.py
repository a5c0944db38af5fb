"""Text of a model → Answer. Pure and bounded; nothing in the text is ever evaluated."""

from __future__ import annotations

import re
from typing import Literal, assert_never

from exe.grading.odata import parse_odata
from exe.grading.python import parse_python
from exe.records import Answer

MAX_TEXT = 16_000_000  # characters
_END_TOKENS = re.compile(
    r"(?:(?:</s>|<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return)\|>|<end_of_turn>)\s{0,8})+\Z"
)
"""Tokens that end a turn and that some servers leave in its text."""
AnswerFormat = Literal["odata", "python"]


def parse(text: str, format: AnswerFormat) -> Answer:
    """The answer that `text` gives, or `unparseable` with the reason; never raises on any text.

    `odata` is the form of our own prompts (`exe/grading/odata.py` has the rules), `python` that of suites which ask for a
    Python literal or an assertion (`exe/grading/python.py`). The words of `Answer.lenient` are those of
    `exe/grading/reader.py` and: reasoning, answer tags, fence, prose (text around the answer), bare value (no envelope),
    empty counterpart (`"error": null` beside a value), comments, encoded twice, no message, assertion, raise statement.
    """
    if len(text) > MAX_TEXT:
        return Answer(status="unparseable", reason=f"longer than {MAX_TEXT} characters")
    text = _END_TOKENS.sub("", text)
    if not text.strip():
        return Answer(status="unparseable", reason="empty")
    match format:
        case "odata":
            return parse_odata(text)
        case "python":
            return parse_python(text)
        case _:
            assert_never(format)
