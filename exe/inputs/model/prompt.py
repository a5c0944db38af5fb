"""What a model is asked for inputs: the program, the schema of its arguments, what is there already, what was wrong. Pure."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Final

from exe.inputs.schema import plain_schema
from exe.records import Json, Message, Program

PROMPT_VERSION: Final = 2
BATCH: Final = 15
"""Inputs that one question asks for."""
EARLIER: Final = 60
"""Inputs that are there already and are shown, drawn at random, so that others are made."""
SHOWN: Final = 20_000
"""Characters that they may have together; one that does not fit any more is left out."""

SYSTEM: Final = (
    "You write test inputs for Python functions. You answer with one JSON object and nothing else: "
    '{"inputs": [...]}, each element an object with the arguments of one call, by parameter name, as the given JSON Schema has them.'
)

TASK: Final = """Program:
```python
{source}
```
Write {count} inputs for `{entry}`. JSON Schema of one input's arguments:
```json
{schema}
```
{wanted}
- Follow what the code does: reach every branch, and let the inputs differ in what happens, not only in their values.
- From trivial to long: empty, one element, typical, special characters and other scripts, nested and mixed containers, extreme numbers.
- No two inputs may be the same. Results should seldom be the input itself, and not the same for most inputs.
- Every call has to end within seconds."""

ANYTHING: Final = (
    "- At most half of them may raise an exception; raise each exception that the code can raise at least once."
)
ERRORS: Final = (
    "- Every input has to make the call raise an exception: by each `raise`, and by each operation that can fail."
)


def answer_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The JSON Schema of a whole answer, from that of a program's arguments."""
    return {
        "type": "object",
        "properties": {"inputs": {"type": "array", "items": plain_schema(dict(schema))}},
        "required": ["inputs"],
        "additionalProperties": False,
    }


def opening(
    program: Program, earlier: Sequence[Mapping[str, Json]], seed: int, *, errors_only: bool
) -> tuple[Message, ...]:
    """The first messages of a conversation."""
    text = TASK.format(
        source=program.source.rstrip(),
        count=BATCH,
        entry=program.entry,
        schema=json.dumps(plain_schema(dict(program.parameters))),
        wanted=ERRORS if errors_only else ANYTHING,
    )
    if earlier:
        text += "\n\nThese are there already; make others:\n" + "\n".join(_shown(earlier, seed))
    return Message(role="system", content=SYSTEM), Message(role="user", content=text)


def _shown(earlier: Sequence[Mapping[str, Json]], seed: int) -> list[str]:
    room = SHOWN
    lines: list[str] = []
    for one in random.Random(seed).sample(list(earlier), min(EARLIER, len(earlier))):
        line = json.dumps(one)
        if len(line) <= room:
            lines.append(line)
            room -= len(line)
    return lines


def reply(problems: Sequence[str]) -> Message:
    """What is said to an answer that does not satisfy the validators."""
    listed = "\n\n".join(problems)
    return Message(
        role="user",
        content=f"{listed}\n\nAnswer again with one JSON object that holds {BATCH} inputs: keep what was right, replace the rest.",
    )
