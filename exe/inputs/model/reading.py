"""A model's text → arguments objects. The text is parsed, with limits; nothing in it is ever evaluated."""

from __future__ import annotations

import json
import re
from typing import Final

from exe import values
from exe.records import Completion, Json, ToolCompletion

LONGEST: Final = 400_000
"""Characters of an answer that are looked at."""
MOST: Final = 200
"""Inputs of an answer that are looked at."""
_OBJECT: Final = re.compile(r"[\s,]*\{")
_FENCE: Final = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)


def said(completion: Completion) -> str:
    """What a model answered, as one text: the arguments of its calls, one a line, else its words."""
    calls = completion.calls if isinstance(completion, ToolCompletion) else ()
    return "\n".join(calls) or completion.text


def proposals_of(completion: Completion) -> tuple[list[Json], str | None]:
    """As `inputs_of`: the inputs of all calls together, or those of the text where nothing was called."""
    calls = completion.calls if isinstance(completion, ToolCompletion) else ()
    if not calls or len(said(completion)) > LONGEST:
        return inputs_of(said(completion))
    read = [inputs_of(call) for call in calls]
    found = [one for inputs, _ in read for one in inputs]
    problems = [problem for _, problem in read if problem is not None]
    if len(found) > MOST:
        problems.append(_too_many(found))
    return found[:MOST], problems[0] if problems else None


def inputs_of(text: str) -> tuple[list[Json], str | None]:
    """The inputs that a text holds, and what is wrong with it: nothing that can be read, or more than is looked at.

    Accepted are `{"inputs": [...]}`, a bare array, and one object a line; in a fence or after other words.
    """
    if len(text) > LONGEST:
        return [], f"The answer has {len(text)} characters; at most {LONGEST} are read. Write fewer or smaller inputs."
    for candidate in _candidates(text):
        found = _inputs(candidate)
        if found is not None:
            return found[:MOST], _too_many(found) if len(found) > MOST else None
    if found := _whole(text):
        return found[
            :MOST
        ], f"The answer breaks off or is damaged; {len(found)} inputs could be read. Write fewer or smaller ones."
    return [], 'No JSON object of the form {"inputs": [...]} could be read in the answer.'


def _too_many(found: list[Json]) -> str:
    return f"The answer holds {len(found)} inputs; only {MOST} are read."


def _whole(text: str) -> list[Json]:
    """The whole objects at the beginning of an array that breaks off."""
    found: list[Json] = []
    at = text.find("[") + 1
    decoder = json.JSONDecoder()
    while at > 0 and (begin := _OBJECT.match(text, at)) is not None:
        try:
            _, at = decoder.raw_decode(text, begin.end() - 1)
            found.append(values.loads(text[begin.end() - 1 : at]))
        except (ValueError, RecursionError):
            break
    return found


def _candidates(text: str) -> list[str]:
    """Parts of the text that may be JSON, the likeliest first."""
    stripped = text.strip()
    fenced = [part.strip() for part in _FENCE.findall(stripped)]
    found = [stripped, *reversed(fenced)]
    for opening, closing in ("{}", "[]"):
        start, end = stripped.find(opening), stripped.rfind(closing)
        if 0 <= start < end:
            found.append(stripped[start : end + 1])
    return found


def _inputs(text: str) -> list[Json] | None:
    try:
        return _of_value(values.loads(text))
    except (ValueError, RecursionError):
        pass  # not JSON as a whole: perhaps one object a line
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return None
    try:
        found = [values.loads(line.strip().removesuffix(",")) for line in lines]
    except (ValueError, RecursionError):
        return None
    return found if all(isinstance(one, dict) for one in found) else None


def _of_value(value: Json) -> list[Json] | None:
    match value:
        case {"inputs": list() as found}:
            return found
        case list():
            return value
        case _:
            return None
