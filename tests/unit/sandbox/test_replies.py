from __future__ import annotations

import json

import pytest

from exe.sandbox import replies
from exe.sandbox.frames import FrameError

GOOD = {"status": "value", "plain": {"value": 1}, "typed": {"value": 1}, "unstable": None, "mutates_arguments": False}


def payload(header: object = None, body: object = GOOD, trace: object = None) -> bytes:
    head = {"id": 7, "call": 2, "cpu": 0.5, "forged": False} if header is None else header
    return b"\n".join(json.dumps(part).encode() for part in (head, body, trace or {}))


def test_a_good_reply() -> None:
    trace = {"metrics": {"lines_executed": 3}, "lines": [1, 4]}
    outcome = replies.read(payload(trace=trace), 7, 2)
    assert (outcome.status, outcome.plain, outcome.cpu_seconds) == ("value", {"value": 1}, 0.5)
    assert (outcome.runtime, outcome.lines, outcome.mutates_arguments) == ({"lines_executed": 3}, (1, 4), False)


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"status": "correct"},
        {"status": "forged"},
        {**GOOD, "plain": 1},
        {**GOOD, "plain": {"value": 1, "error": 2}},
        {**GOOD, "typed": {"error": 1}},
        {**GOOD, "unstable": 5},
        {**GOOD, "mutates_arguments": "no"},
        {"status": "impure", "detail": 5},
    ],
)
def test_a_bad_body_is_forged(body: object) -> None:
    assert replies.read(payload(body=body), 7, 2).status == "forged"


@pytest.mark.parametrize(
    "header",
    [
        {"id": 8, "call": 2, "cpu": 0.5, "forged": False},
        {"id": 7, "call": 1, "cpu": 0.5, "forged": False},
        {"id": 7, "call": 2, "cpu": "0.5", "forged": False},
        [],
    ],
)
def test_a_bad_header_is_no_reply(header: object) -> None:
    with pytest.raises(FrameError):
        replies.read(payload(header), 7, 2)


@pytest.mark.parametrize(
    "trace", [[1], {"metrics": {"a": "1"}, "lines": []}, {"metrics": {}, "lines": ["1"]}, {"a": 1}]
)
def test_a_bad_trace_leaves_the_outcome(trace: object) -> None:
    outcome = replies.read(payload(trace=trace), 7, 2)
    assert (outcome.status, outcome.runtime, outcome.lines) == ("value", {}, ())
