"""Does the harness grade a task rightly? The truth in every form must be right, and a fixed set of attacks wrong. Pure."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass

from exe.errors import InputError
from exe.grading.answer import AnswerFormat
from exe.grading.gold import gold
from exe.grading.grade import Rule, grade_text
from exe.records import Case
from exe.values import dumps, integer_digits, same_json, same_python

HUGE = 2_000
"""Items of the longest answer that is tried: more than truths have, and within what is read."""
_CLIP = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A text that was graded as it must not be. `form` names the way of writing, `verdict` is what the grader said."""

    case: str
    form: str
    verdict: str
    text: str


def prove(case: Case, answer_format: AnswerFormat, rule: Rule) -> list[Fault]:
    """What the grader gets wrong about this case: a form of the truth that is not correct, an attack that is."""
    faults = []
    with integer_digits():
        for wanted, forms in ((True, accepted(case, answer_format)), (False, attacks(case, answer_format))):
            for form, text in forms:
                _, grade = grade_text(text, case, format=answer_format, rule=rule)
                if (grade.verdict == "correct") != wanted:
                    shown = text if len(text) <= _CLIP else text[: _CLIP - 1] + "…"
                    faults.append(Fault(case=case.id, form=form, verdict=grade.verdict, text=shown))
    return faults


def accepted(case: Case, answer_format: AnswerFormat) -> Iterator[tuple[str, str]]:
    """(form, text) of every way of writing the truth that is to be read, by the rules in `exe/grading`."""
    truth = gold(case, answer_format)
    language = "json" if answer_format == "odata" or "error" in case.expected else "python"
    fence = f"```{language}\n{truth}\n```"
    if answer_format == "python" and "error" in case.expected:
        raise InputError(f"case {case.id} asks for a Python literal, and its truth is an exception")
    yield "plain", truth
    yield "blank lines", f"\n\n  {truth}\n\n"
    yield "fence", fence
    yield "prose and fence", f"The loop runs to its end, and nothing else happens.\n\n{fence}"
    yield "answer tags", f"It follows that\n[ANSWER]\n{truth}\n[/ANSWER]"
    yield "reasoning", f"<think>\nThe first item is skipped.\n</think>\n{truth}"
    yield "reasoning and fence", f"<think>\nThe first item is skipped.\n</think>\nSo:\n{fence}"
    if answer_format == "odata":
        yield "indented", json.dumps(case.expected, indent=2)
        yield "unicode", json.dumps(case.expected, ensure_ascii=False)
        yield "prose", f"The first item is skipped.\nAnswer: {truth}"
    else:
        yield "assertion", f"assert {case.call} == {truth}"
        yield "comparison", f"{case.call} == {truth}"


def attacks(case: Case, answer_format: AnswerFormat) -> Iterator[tuple[str, str]]:
    """(attack, text): what may never be right. An echo is left out where it is the truth."""
    truth = gold(case, answer_format)
    yield "empty", ""
    yield "blank", " \n"
    yield "or True", f"{truth} or True" if answer_format == "python" else f"{truth[:-1]} or True}}"
    yield "999 or True", "999 or True"
    yield "asserted or True", f"assert {case.call} == 999 or True"
    yield "the call", case.call
    yield "the call asserted", f"assert {case.call} == {case.call}"
    yield "huge", f"[{'0,' * HUGE}0]"
    yield "cut in half", f"{truth[: len(truth) // 2]}" if _half_differs(case, truth, answer_format) else ""
    if answer_format == "odata":
        yield "cut at the end", truth[:-1]
        yield "cut in a fence", f"```json\n{truth[:-1]}"
        yield "the call as a value", dumps({"value": case.call})
        yield "an expression", f'{{"value": {case.call}}}'
    for name, value in _other_types(case, answer_format):
        yield name, _written(value, answer_format)
    yield "error instead", dumps({"error": {"code": "ValueErrorOfNobody", "message": "no"}})
    for number, text in enumerate(_inputs(case, answer_format)):
        yield f"input {number + 1}", text


def _half_differs(case: Case, truth: str, answer_format: AnswerFormat) -> bool:
    """Whether half of the text is not by itself the truth: 1. is 1.0, and 0 is 00."""
    if answer_format == "odata":
        return True
    try:
        half = ast.literal_eval(truth[: len(truth) // 2].strip() or "...")
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return True
    return not same_python(case.typed["value"], half)


def _other_types(case: Case, answer_format: AnswerFormat) -> Iterator[tuple[str, object]]:
    """Values of another type than the truth, as near to it as can be."""
    if "error" in case.expected:
        yield "value for an error", None
        yield "text of the error", case.expected["error"]["message"]
        return
    plain = case.expected["value"]
    yield "in a list", [plain]
    yield "as text", dumps(plain)
    truth = not plain if isinstance(plain, bool) else bool(plain)
    if answer_format == "odata" or truth != plain:  # in Python True is 1
        yield "as a truth value", truth
    yield "nothing", None if plain is not None else 0


def _inputs(case: Case, answer_format: AnswerFormat) -> Iterator[str]:
    """The arguments of the call, where they are not the truth by themselves."""
    if "error" in case.typed:
        yield from (_written(value, answer_format) for value in case.arguments.values())
        return
    for value in case.arguments.values():
        if not _is_truth(case, value):
            yield _written(value, answer_format)


def _is_truth(case: Case, value: object) -> bool:
    """Decided on the trees themselves, not by the reader that is on trial."""
    return same_json(case.typed["value"], value) or same_python(case.typed["value"], value)


def _written(value: object, answer_format: AnswerFormat) -> str:
    return dumps({"value": value}) if answer_format == "odata" else repr(value)
