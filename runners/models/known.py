"""Models that need no server: the oracle, which knows the ground truth, and the baselines, which know nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from exe import values
from exe.errors import RequestError
from exe.grading.gold import gold
from exe.records import Case, Completion, Json, Program
from runners.models.base import Request, Traits

AnswerFormat = Literal["odata", "python"]
Known = Mapping[str, tuple[Program, Case]]
"""Case id → its program and itself."""

_TRAITS = Traits(remote=False, repairs=False, max_tokens=None, concurrency=1)


def truth_text(_program: Program, case: Case, answer_format: AnswerFormat) -> str:
    """The ground truth as a perfect model would write it; a Python literal where the set asks for one."""
    return gold(case, answer_format)


def echo_text(program: Program, case: Case, answer_format: AnswerFormat) -> str:
    """The first argument's value as the answer; None where the call has no argument."""
    if answer_format == "python":
        return _first_argument_source(case.call) or "None"
    names = [name for name in program.parameters.get("properties", {}) if name != "self"]
    present = [name for name in names if name in case.arguments]
    present += [name for name in case.arguments if name not in present and name != "self"]
    value: Any = case.arguments[present[0]] if present else None
    return values.dumps({"value": value})


def null_text(_program: Program, _case: Case, _answer_format: AnswerFormat) -> str:
    """No answer at all."""
    return ""


def _first_argument_source(call: str) -> str | None:
    """The source of a call expression's first argument, read without running it."""
    try:
        node = ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(node, ast.Call):
        return None
    first = node.args[0] if node.args else node.keywords[0].value if node.keywords else None
    if isinstance(first, ast.Starred):
        first = first.value
    return None if first is None else ast.get_source_segment(call, first)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model whose reply is a pure function of program, case and answer format."""

    name: str
    write: Callable[[Program, Case, AnswerFormat], str]
    known: Known
    answer_format: AnswerFormat

    @property
    def settings(self) -> dict[str, Json]:
        """Its name says all."""
        return {"provider": self.name.partition(":")[0], "model": self.name}

    @property
    def traits(self) -> Traits:
        """Local, instant, never repaired."""
        return _TRAITS

    async def complete(self, request: Request) -> Completion:
        """The text for the request's case. Raises RequestError for a case outside the task set."""
        pair = self.known.get(request.case)
        if pair is None:
            raise RequestError(f"{self.name} does not know case {request.case}")
        return Completion(text=self.write(*pair, self.answer_format), finish_reason="stop", model=self.name)

    async def aclose(self) -> None:
        """Nothing to give back."""
