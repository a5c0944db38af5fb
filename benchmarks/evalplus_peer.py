"""EvalPlus's executor on the programs of `sandbox.py`, as a process of its own, so that it carries nothing of ours.

Reads from stdin, as JSON, [[source, [[arguments, …], …], [truth, …]], …]: arguments and truths are the text of Python
literals, a truth is null where the call raises. Writes, a line a program, the JSON list of what was told of each call: true
where the result is the truth. Ends with status 3 where EvalPlus (extra `bench`) cannot be imported.
"""

from __future__ import annotations

import ast
import json
import sys
from typing import Any

REFERENCE_SECONDS = 0.5  # of a call, from which EvalPlus makes its time limits
UNAVAILABLE = 3


def main() -> int:
    """One `untrusted_check` a program: a process for all its inputs, as EvalPlus does it."""
    try:
        from evalplus.eval import untrusted_check
    except ImportError as error:
        print(f"evalplus: {error}", file=sys.stderr)
        return UNAVAILABLE
    for source, calls, truths in json.loads(sys.stdin.read()):
        _, details = untrusted_check(
            "cruxeval",
            source,
            [[ast.literal_eval(text) for text in call] for call in calls],
            "f",
            [None if truth is None else _value(truth) for truth in truths],
            0,
            [REFERENCE_SECONDS] * len(calls),
        )
        told = [bool(one) for one in details] + [False] * (len(calls) - len(details))
        print(json.dumps(told), flush=True)
    return 0


def _value(text: str) -> Any:
    """The value of a literal; the text itself, which nothing equals, for what has none."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        return text


if __name__ == "__main__":
    sys.exit(main())
