"""A model's text → arguments objects. The text is parsed, with limits; nothing in it is ever evaluated."""

from __future__ import annotations

import re
from typing import Final

from exe import values
from exe.records import Json

LONGEST: Final = 400_000
"""Characters of an answer that are looked at."""
MOST: Final = 200
"""Inputs of an answer that are looked at."""
_FENCE: Final = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)


def inputs_of(text: str) -> tuple[list[Json], str | None]:
    """The inputs that a text holds, and what is wrong with it: nothing that can be read, or more than is looked at.

    Accepted are `{"inputs": [...]}`, a bare array, and one object a line; in a fence or after other words.
    """
    if len(text) > LONGEST:
        return [], f"The answer has {len(text)} characters; at most {LONGEST} are read. Write fewer or smaller inputs."
    for candidate in _candidates(text):
        found = _inputs(candidate)
        if found is not None:
            note = f"The answer holds {len(found)} inputs; only {MOST} are read." if len(found) > MOST else None
            return found[:MOST], note
    return [], 'No JSON object of the form {"inputs": [...]} could be read in the answer.'


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
