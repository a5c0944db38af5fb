"""Answer × Case → Grade, and what the ways in which a completion can end mean for it. Pure."""

from __future__ import annotations

from typing import Literal, assert_never

from exe.grading.answer import AnswerFormat, parse
from exe.grading.messages import same_message
from exe.records import Answer, Case, Completion, Grade, Verdict
from exe.values import same_exception, same_json, same_python, same_typed

Rule = Literal["json", "typed", "python"]

Ending = Literal["whole", "cut", "overflow", "filtered", "refused", "failed"]

_ENDINGS: tuple[tuple[Ending, frozenset[str]], ...] = (
    ("cut", frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "incomplete"})),
    ("overflow", frozenset({"context_overflow", "context_length_exceeded", "model_context_window_exceeded"})),
    (
        "filtered",
        frozenset({"content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content"}),
    ),
    ("refused", frozenset({"refusal", "refused"})),
    ("failed", frozenset({"error", "failed", "cancelled"})),
)
"""Finish reasons of the known providers, lower case, `-` as `_`; every other one (stop, end_turn, eos, None) is "whole"."""


def grade(answer: Answer, case: Case, *, rule: Rule) -> Grade:
    """The verdict on `answer` by `rule`, with the result of every rule beside it.

    A value is never right where the truth is an exception, nor the other way round. For exceptions, `typed` wants the
    very message, `json` and `python` the same in its normal form (`exe/grading/messages.py`); `type_only` is the class
    alone and None for values.
    """
    error = case.typed.get("error")
    match answer.status:
        case "unparseable":
            return _missed("unparseable", answer.reason, case)
        case "value" if error is None:
            truth = case.typed["value"]
            return _graded(
                rule,
                json=same_json(truth, answer.value),
                typed=same_typed(truth, answer.value),
                python=same_python(truth, answer.value),
            )
        case "value":
            return Grade(
                verdict="wrong", reason="value for an error", json=False, typed=False, python=False, type_only=False
            )
        case "error" if error is None:
            return Grade(verdict="wrong", reason="error for a value", json=False, typed=False, python=False)
        case "error":
            code, message = error["code"], case.expected["error"]["message"]
            answered, said = answer.error or ("", None)
            type_only = same_exception(code, answered)
            normal = type_only and same_message(message, said or "", code)
            exact = type_only and message == (said or "")
            return _graded(rule, json=normal, typed=exact, python=normal, type_only=type_only)
        case _:
            assert_never(answer.status)


def grade_text(text: str, case: Case, *, format: AnswerFormat, rule: Rule) -> tuple[Answer, Grade]:
    """Parse and grade a text that ended by itself."""
    answer = parse(text, format)
    return answer, grade(answer, case, rule=rule)


def judge_completion(
    completion: Completion | None, case: Case, *, format: AnswerFormat, rule: Rule
) -> tuple[Answer, Grade]:
    """Parse and grade a completion, how it ended considered.

    None, or an ending by a provider's failure, is `failed`: no verdict on the model. A refusal or a content filter is
    `refused` whatever stands in the text. A completion that ran into a limit is graded by the answer it gives in full;
    without one, or where the limit may have cut the very answer (it ends the text and is not closed by an object, a fence
    or a tag), it is `truncated`. An empty text that ended by itself is `unparseable` with reason `empty`.
    """
    if completion is None:
        return _outcome("failed", "no completion", case)
    match _ending(completion.finish_reason):
        case "failed":
            return _outcome("failed", "provider failure", case)
        case "filtered":
            return _outcome("refused", "content filter", case)
        case "refused":
            return _outcome("refused", "refusal", case)
        case "whole":
            return grade_text(completion.text, case, format=format, rule=rule)
        case "cut" as ending:
            reason = "length"
        case "overflow" as ending:
            reason = "context overflow"
        case ending:
            assert_never(ending)
    answer = parse(completion.text, format)
    if answer.status == "unparseable":
        return answer, _missed("truncated", reason if completion.text.strip() else f"{reason}, empty", case)
    if _may_be_cut(completion.text, answer, format):
        return answer, _missed("truncated", f"{reason}, within the answer", case)
    return answer, grade(answer, case, rule=rule)


def _ending(finish_reason: str | None) -> Ending:
    word = (finish_reason or "").lower().replace("-", "_").rpartition(".")[2]
    return next((ending for ending, words in _ENDINGS if word in words), "whole")


def _may_be_cut(text: str, answer: Answer, format: AnswerFormat) -> bool:
    """Whether more of the answer may have followed the end of the text: an answer object was closed, a bare value not."""
    if format == "odata" and "bare value" not in answer.lenient:
        return False
    return text.rstrip().removesuffix(".").endswith(answer.source or "")


def _graded(rule: Rule, *, json: bool, typed: bool, python: bool, type_only: bool | None = None) -> Grade:
    match rule:
        case "json":
            right = json
        case "typed":
            right = typed
        case "python":
            right = python
        case _:
            assert_never(rule)
    return Grade(
        verdict="correct" if right else "wrong",
        reason="message" if type_only and not right else None,
        credit=float(right),
        json=json,
        typed=typed,
        python=python,
        type_only=type_only,
    )


def _outcome(verdict: Verdict, reason: str, case: Case) -> tuple[Answer, Grade]:
    return Answer(status="unparseable", reason=reason), _missed(verdict, reason, case)


def _missed(verdict: Verdict, reason: str | None, case: Case) -> Grade:
    """Nothing to compare: no rule is met, or, where the infrastructure failed, none was applied."""
    met = None if verdict == "failed" else False
    type_only = met if "error" in case.typed else None
    return Grade(verdict=verdict, reason=reason, json=met, typed=met, python=met, type_only=type_only)
