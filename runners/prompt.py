"""Case → messages, and nothing else: the paper's task (whole program, one call, predict the outcome) in our own words."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from exe.errors import UsageError
from exe.records import Case, Json, Message, Program

PROMPT_VERSION = 2
KINDS = ("output",)
"""The kinds of case that have a prompt."""
Style = Literal["direct", "cot"]
AnswerFormat = Literal["odata", "python"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One worked example; `steps` is shown where reasoning is asked for, the answer always.

    An answer of None keeps the example out of that format.
    """

    source: str
    call: str
    steps: str
    odata: str | None
    python: str | None


EXAMPLES = (
    Example(
        source="def initials(words, sep='.'):\n    return sep.join(w[0].upper() for w in words if w)",
        call="initials(['ada', '', 'king'])",
        steps="The empty word is skipped. 'ada' gives 'A', 'king' gives 'K', joined by '.': 'A.K'.",
        odata='{"value": "A.K"}',
        python="'A.K'",
    ),
    Example(
        source="def share(total, people):\n    return total / len(people)",
        call="share(10, [])",
        steps="len([]) is 0, so the division raises ZeroDivisionError.",
        odata='{"error": {"code": "ZeroDivisionError", "message": "division by zero"}}',
        python=None,
    ),
    Example(
        source="def count_steps(n):\n    steps = {}\n    while n > 1:\n        n = n // 2 if n % 2 == 0 else n + 1\n"
        "        steps[n] = len(steps)\n    return steps",
        call="count_steps(3)",
        steps="3 is odd: n = 4, steps {4: 0}. Then n = 2, steps {4: 0, 2: 1}. Then n = 1, steps {4: 0, 2: 1, 1: 2}.",
        odata=None,
        python="{4: 0, 2: 1, 1: 2}",
    ),
    Example(
        source="def split_at(items, n):\n    return items[:n], items[n:]",
        call="split_at([4, None, True], 1)",
        steps="The parts are [4] and [None, True], returned as a tuple.",
        odata='{"value": [[4], [null, true]]}',
        python="([4], [None, True])",
    ),
)

_QUESTION = """\
Program:
{fence}python
{source}
{fence}

Call:
{fence}python
{call}
{fence}
"""

_TASK_ODATA = """\
Below are a Python program and a call. The call is evaluated once the program has been executed under CPython {python}, its time zone UTC. \
Predict the outcome exactly.
"""

_FORMAT_ODATA = """\
If the call returns, the answer is {"value": V} with V the returned value as JSON. If it raises, the answer is \
{"error": {"code": "C", "message": "M"}} with C the name of the exception class and M the text of str(exception).
In V, None is null and booleans are true and false. Lists, tuples and sets are arrays. A dict is an object, its keys written as \
strings; a dict with keys that are no scalars is an array of [key, value] pairs. bytes are a base64url string. Floats that \
are no numbers are "NaN", "INF" and "-INF". Dates, times and durations are ISO 8601 strings. Decimal, Fraction, complex, \
UUID and path values are strings. An enum member is its value. Any other object is an object of its fields.
"""

_TASK_PYTHON = """\
Below are a Python program and a call. The call is evaluated once the program has been executed under CPython {python}, its time zone UTC. \
Predict the value that it returns.
"""

_FORMAT_PYTHON = """\
The answer is that value as a Python literal, as repr() would print it: strings in quotes, no expressions, no calls.
"""

_DIRECT_ODATA = "Reply with the JSON object alone, without explanation.\n"
_COT_ODATA = "First trace the execution step by step. Then end your reply with the JSON object in a ```json block.\n"
_DIRECT_PYTHON = "Reply with the literal alone, without explanation.\n"
_COT_PYTHON = "First trace the execution step by step. Then end your reply with the literal in a ```python block.\n"

_REPAIR = """\
Your answer could not be read: {error}
Reply once more, with nothing but the answer in the required form.
"""

ANSWER_SCHEMA: dict[str, Json] = {
    "anyOf": [
        {"type": "object", "properties": {"value": {}}, "required": ["value"], "additionalProperties": False},
        {
            "type": "object",
            "properties": {
                "error": {
                    "type": "object",
                    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                    "required": ["code", "message"],
                    "additionalProperties": False,
                }
            },
            "required": ["error"],
            "additionalProperties": False,
        },
    ]
}
"""The odata answer as a JSON Schema, for servers that can hold a model to one."""

_TEMPLATES = (
    _QUESTION,
    _TASK_ODATA,
    _FORMAT_ODATA,
    _TASK_PYTHON,
    _FORMAT_PYTHON,
    _DIRECT_ODATA,
    _COT_ODATA,
    _DIRECT_PYTHON,
    _COT_PYTHON,
    _REPAIR,
    repr(ANSWER_SCHEMA),
    *(repr(example) for example in EXAMPLES),
)
PROMPT_SHA256 = hashlib.sha256("\0".join(_TEMPLATES).encode()).hexdigest()
"""Of every text above, so that no wording changes unnoticed."""


def messages(
    program: Program, case: Case, *, style: Style, answer_format: AnswerFormat, examples: bool, python: str
) -> tuple[Message, ...]:
    """The conversation that asks `case`: one user message, or with `examples` worked turns before it.

    `python` is the version that the truth was made with ("3.11.7"); every truth is made in the time zone UTC. Raises UsageError for a kind of case that this
    version has no prompt for.
    """
    if case.kind not in KINDS:
        raise UsageError(f"case {case.id} is of kind {case.kind!r}; prompts exist for: {', '.join(KINDS)}")
    task, rules = _instructions(style, answer_format)
    intro = f"{task.replace('{python}', python)}\n{rules}"
    final = _question(program.source, case.call)
    if not examples:
        return (Message(role="user", content=f"{intro}\n{final}"),)
    turns: list[Message] = []
    for example in EXAMPLES:
        reply = _reply(example, style, answer_format)
        if reply is None:
            continue
        question = _question(example.source, example.call)
        turns.append(Message(role="user", content=question if turns else f"{intro}\n{question}"))
        turns.append(Message(role="assistant", content=reply))
    return (*turns, Message(role="user", content=final))


def repair_message(error: str) -> Message:
    """The one extra user reply of the paper: the parse error, and nothing about the right answer."""
    return Message(role="user", content=_REPAIR.replace("{error}", error))


def _instructions(style: Style, answer_format: AnswerFormat) -> tuple[str, str]:
    """(task, rules) of one style and format."""
    match answer_format, style:
        case "odata", "direct":
            return _TASK_ODATA, _FORMAT_ODATA + _DIRECT_ODATA
        case "odata", "cot":
            return _TASK_ODATA, _FORMAT_ODATA + _COT_ODATA
        case "python", "direct":
            return _TASK_PYTHON, _FORMAT_PYTHON + _DIRECT_PYTHON
        case "python", "cot":
            return _TASK_PYTHON, _FORMAT_PYTHON + _COT_PYTHON
        case _:
            raise UsageError(f"no prompt for style {style!r} and answer format {answer_format!r}")


def _reply(example: Example, style: Style, answer_format: AnswerFormat) -> str | None:
    """What a perfect model says to an example, None where the format does not show it."""
    answer = example.odata if answer_format == "odata" else example.python
    if answer is None or style == "direct":
        return answer
    return f"{example.steps}\n```{'json' if answer_format == 'odata' else 'python'}\n{answer}\n```"


def _question(source: str, call: str) -> str:
    """Program and call in fences that no text of theirs can close. Filled piece by piece: sources hold braces."""
    longest = max((len(run) for run in re.findall(r"`{3,}", source + "\n" + call)), default=2)
    text = _QUESTION.replace("{fence}", "`" * (longest + 1))
    head, _, tail = text.partition("{source}")
    middle, _, end = tail.partition("{call}")
    return f"{head}{source.strip(chr(10))}{middle}{call}{end}"
