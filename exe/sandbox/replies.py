"""Reading a worker's reply: the zygote's line is checked strictly, what a program's process wrote is believed nothing."""

from __future__ import annotations

from typing import Any, get_args

from exe.records import Outcome, OutcomeStatus
from exe.sandbox import frames

_STATUSES: tuple[OutcomeStatus, ...] = get_args(OutcomeStatus)
_FROM_CHILD = frozenset(_STATUSES) - {"forged"}


def read(payload: bytes, number: int, call: int) -> Outcome:
    """The outcome in a reply to call `call` of request `number`.

    Raises FrameError when the zygote's own part is not as it must be: then the worker is not to be trusted. A bad part
    from the child is a `forged` outcome instead.
    """
    parts = payload.split(b"\n")
    if len(parts) != 3:
        raise frames.FrameError("a reply that is not three lines")
    header = frames.load(parts[0])
    if header.get("id") != number or header.get("call") != call or type(header.get("cpu")) is not float:
        raise frames.FrameError(f"a reply to another question: {parts[0][:100]!r}")
    cpu = header["cpu"]
    if header.get("forged") is True:
        return Outcome(status="forged", detail="bytes that our worker does not write", cpu_seconds=cpu)
    try:
        outcome = _outcome(frames.load(parts[1]), cpu)
    except (frames.FrameError, ValueError) as error:
        return Outcome(status="forged", detail=str(error)[:200], cpu_seconds=cpu)
    return _with_trace(outcome, parts[2])


def _outcome(body: dict[str, Any], cpu: float) -> Outcome:
    status = body.get("status")
    if status not in _FROM_CHILD:
        raise ValueError("no status that a child may report")
    if status not in ("value", "error"):
        return Outcome(status=status, detail=_text(body.get("detail", "")), cpu_seconds=cpu)
    plain, typed = body.get("plain"), body.get("typed")
    for form in (plain, typed):
        if not isinstance(form, dict) or set(form) != {status}:
            raise ValueError(f"a {status} without its form")
    taken = body.get("branches", [])
    if not isinstance(taken, list) or not all(type(number) is int for number in taken):
        raise ValueError("branches are no list of numbers")
    pairs = body.get("compared", [])
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError("comparisons are no list of pairs")
    if not all(type(side) in (str, int, float) for pair in pairs for side in pair):
        raise ValueError("a comparison of something else than texts and numbers")
    mutates, unstable = body.get("mutates_arguments"), body.get("unstable")
    if not (mutates is None or isinstance(mutates, bool)):
        raise ValueError("mutates_arguments is no boolean")
    return Outcome(
        status=status,
        plain=plain,
        typed=typed,
        unstable=None if unstable is None else _text(unstable),
        mutates_arguments=mutates,
        branches=tuple(taken),
        compared=tuple((left, right) for left, right in pairs),
        cpu_seconds=cpu,
    )


def _with_trace(outcome: Outcome, line: bytes) -> Outcome:
    """Add what the traced run counted; a malformed count is no reason to doubt the outcome, only to leave it out."""
    if outcome.status not in ("value", "error") or line == b"{}":
        return outcome
    try:
        trace = frames.load(line)
    except frames.FrameError:
        return outcome
    metrics, lines = trace.get("metrics"), trace.get("lines")
    if not isinstance(metrics, dict) or not all(type(count) is int for count in metrics.values()):
        return outcome
    if not isinstance(lines, list) or not all(type(line) is int for line in lines):
        return outcome
    return Outcome(
        status=outcome.status,
        plain=outcome.plain,
        typed=outcome.typed,
        detail=outcome.detail,
        unstable=outcome.unstable,
        mutates_arguments=outcome.mutates_arguments,
        runtime=metrics,
        lines=tuple(lines),
        cpu_seconds=outcome.cpu_seconds,
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text that is none")
    return value
