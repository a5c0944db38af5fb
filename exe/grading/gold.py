"""The ground truth of a case as text: what a perfect model would write."""

from __future__ import annotations

from exe.grading.answer import AnswerFormat
from exe.records import Case
from exe.values import decode, dumps, literal


def gold(case: Case, answer_format: AnswerFormat) -> str:
    """The OData object, or a Python literal where the format asks for one and the truth is a value."""
    if answer_format == "python" and "error" not in case.expected:
        return literal(decode(case.typed["value"]))
    return dumps(case.expected)
