"""Completion × Case → Attempt: the one place where a verdict is written down, at first and when graded again. Pure."""

from __future__ import annotations

from dataclasses import replace

from exe.errors import ModelError, RequestError
from exe.grading.grade import judge_completion
from exe.records import Answer, Attempt, Case, Completion, Grade, Json, Manifest
from runners.judge import Messages
from runners.models.base import clean

UNJUDGED = "judge: "
UNGRADED: dict[str, bool | None] = {"json": None, "typed": None, "python": None, "type_only": None, "format": None}


def judged(
    case: Case, sample: int, request_sha256: str, completions: tuple[Completion, Completion | None], manifest: Manifest
) -> tuple[Attempt, Answer]:
    """The attempt that (first completion, repair or None) amounts to, and what was read; the repair counts if there is one."""
    completion, repair = completions
    last = completion if repair is None else repair
    answer, grade = judge_completion(last, case, format=manifest.answer_format, rule=manifest.rule)
    attempt = Attempt(
        case=case.id,
        sample=sample,
        request_sha256=request_sha256,
        completion=completion,
        repair=repair,
        answer={
            "status": answer.status,
            "reason": answer.reason,
            "source": answer.source,
            "lenient": list(answer.lenient),
        },
        verdict=grade.verdict,
        reason=grade.reason,
        credit=grade.credit,
        strict=_strict(answer, grade),
    )
    return attempt, answer


def undecided(attempt: Attempt, answer: Answer, case: Case, manifest: Manifest) -> Messages | None:
    """The messages that a judge decides on: the class is right, and the rules see two different messages; else None.

    Where the set wants the very message (rule `typed`) there is nothing to decide.
    """
    if attempt.reason != "message" or manifest.rule == "typed" or answer.error is None:
        return None
    error = case.expected["error"]
    return Messages(code=error["code"], expected=error["message"], answered=answer.error[1] or "")


def ruled(attempt: Attempt, ruling: dict[str, Json]) -> Attempt:
    """The attempt with the judge's verdict; `strict` keeps what the rules say."""
    if ruling["same"]:
        return replace(attempt, verdict="correct", reason="judge", credit=1.0, judge=ruling)
    return replace(attempt, judge=ruling)


def unjudged(attempt: Attempt, error: ModelError) -> Attempt:
    """The attempt whose judge failed: its answer is kept, and a resumed run asks the judge alone."""
    return replace(
        attempt, verdict="failed", reason=f"{UNJUDGED}{clean(str(error))}", credit=0.0, strict=dict(UNGRADED)
    )


def failed(case: Case, sample: int, request_sha256: str, error: ModelError) -> Attempt:
    """The attempt that has no answer because of `error`; a resumed run asks again."""
    kind = "request refused" if isinstance(error, RequestError) else "provider"
    return Attempt(
        case=case.id,
        sample=sample,
        request_sha256=request_sha256,
        completion=None,
        repair=None,
        answer=None,
        verdict="failed",
        reason=f"{kind}: {clean(str(error))}",
        credit=0.0,
        strict=dict(UNGRADED),
    )


def regraded(attempt: Attempt, case: Case, manifest: Manifest) -> Attempt:
    """The attempt with the verdict that today's grading gives its stored text; asks no model.

    A stored ruling holds where it is about the same messages.
    """
    if attempt.completion is None:
        return attempt
    completions = (attempt.completion, attempt.repair)
    again, answer = judged(case, attempt.sample, attempt.request_sha256, completions, manifest)
    messages = undecided(again, answer, case, manifest)
    if messages is None:
        return again
    if attempt.judge is None:
        return attempt if is_unjudged(attempt) else again
    return ruled(again, attempt.judge) if attempt.judge["of"] == messages.id else again


def is_unjudged(attempt: Attempt) -> bool:
    """Whether an attempt failed for want of its judge alone."""
    return attempt.verdict == "failed" and (attempt.reason or "").startswith(UNJUDGED)


def _strict(answer: Answer, grade: Grade) -> dict[str, Json]:
    """The result of every rule; `format` says whether the text was the requested form, with nothing forgiven."""
    return {
        "json": grade.json,
        "typed": grade.typed,
        "python": grade.python,
        "type_only": grade.type_only,
        "format": None if grade.verdict == "failed" else answer.status != "unparseable" and not answer.lenient,
    }
