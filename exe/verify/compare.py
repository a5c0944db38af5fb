"""Two outcomes of one call, the original's and the program's: the same, different, or not to be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import assert_never

from exe.records import Case, Json, Outcome
from exe.values import dumps, integer_digits
from exe.verify.findings import CaseCheck, Verdict

_SHOWN = 2000
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Outcomes of one call as it is and, where it could be had, of the call that shows its arguments afterwards."""

    call: Outcome
    arguments: Outcome | None


def compare(case: Case, original: Pair, program: Pair, package_roots: frozenset[str]) -> CaseCheck:
    """Compares value (typed form), exception class and message, and arguments after the call.

    `package_roots` are the top-level modules of the origin package: importing anything else that is missing is a matter
    of optional dependencies.
    """
    with integer_digits():
        obstacle = _obstacle(original.call, program.call, package_roots)
        if obstacle is not None:
            return _check(case, "not-comparable", obstacle, original.call, program.call)
        difference = _difference(original.call, program.call)
        if difference is not None:
            return _check(case, "different", difference, original.call, program.call)
        if _typed(program.call) != dumps(case.typed):
            recorded = f"recorded: {_clip(dumps(case.typed))}"
            return CaseCheck(
                case=case.id,
                call=case.call,
                verdict="different",
                reason="record",
                original=shown(original.call),
                program=recorded,
            )
        return _arguments(case, original, program)


def _obstacle(original: Outcome, program: Outcome, package_roots: frozenset[str]) -> str | None:
    match program.status:
        case "value" | "error" | "unloadable":
            pass
        case "timeout" | "memory" | "crashed" | "forged" | "impure" | "overflow" | "unrepresentable" as status:
            return f"program-{status}"
        case _:
            assert_never(program.status)
    match original.status:
        case "value" | "error" | "overflow" | "unrepresentable":
            return None
        case "unloadable":
            missing = _MISSING.match(original.detail)
            if missing is not None and missing[1].partition(".")[0] not in package_roots:
                return "optional-dependency"
            return "import-fails"
        case "impure":
            return "impure-original"
        case "timeout" | "memory" | "crashed" | "forged" as status:
            return status
        case _:
            assert_never(original.status)


def _difference(original: Outcome, program: Outcome) -> str | None:
    """One of DIFFERENCES for outcomes that can be compared, None for equal ones."""
    if program.status == "unloadable":
        return "program-fails"
    if original.status != program.status:
        return "outcome"
    if original.status == "error":
        one, other = _error(original), _error(program)
        if one["code"] != other["code"]:
            return "exception-class"
        return "exception-message" if _typed(original) != _typed(program) else None
    return "value" if _typed(original) != _typed(program) else None


def _arguments(case: Case, original: Pair, program: Pair) -> CaseCheck:
    """The last comparison; arguments that neither side can write down are passed over."""
    one, other = original.arguments, program.arguments
    if one is None or other is None or (one.status != "value" and other.status != "value"):
        return CaseCheck(case=case.id, call=case.call, verdict="same")
    if one.status in ("value", "unrepresentable", "overflow") and other.status in (
        "value",
        "unrepresentable",
        "overflow",
    ):
        if one.status == other.status and _typed(one) == _typed(other):
            return CaseCheck(case=case.id, call=case.call, verdict="same", arguments=True)
        return _check(case, "different", "arguments", one, other)
    return CaseCheck(case=case.id, call=case.call, verdict="same")


def _check(case: Case, verdict: Verdict, reason: str, original: Outcome, program: Outcome) -> CaseCheck:
    return CaseCheck(
        case=case.id,
        call=case.call,
        verdict=verdict,
        reason=reason,
        original=shown(original),
        program=shown(program),
        arguments=reason == "arguments",
    )


def _error(outcome: Outcome) -> dict[str, Json]:
    found: dict[str, Json] = (outcome.typed or {})["error"]
    return found


def _typed(outcome: Outcome) -> str:
    """The typed form as it is written: the order of a dict is part of a value."""
    return dumps(outcome.typed)


def shown(outcome: Outcome) -> str:
    """An outcome for people: the typed form, since the plain one may hide the difference."""
    if outcome.typed is None:
        return _clip(f"{outcome.status}: {outcome.detail}")
    return _clip(dumps(outcome.typed))


def _clip(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
