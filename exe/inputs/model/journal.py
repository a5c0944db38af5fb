"""Every answer of a model on disk before it is used: what was interrupted asks nothing that has been answered.

A journal is a file of JSON lines {"key", "model", "function", "program", "prompt", "attempt", "cycle", "told", "messages", "completion"}: `key` is the
hash of all that was asked, `prompt` the version of its words, `told` what the last message says of the answer before it. It stands outside every hash: with it, the same command gives the same set.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exe import codec
from exe.errors import InputError
from exe.inputs.model.prompt import PROMPT_VERSION
from exe.records import Completion, Json, Message, Program, ToolCompletion


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question about a program. `attempt` counts its conversations, `cycle` the questions of one; both from 0.

    `told` names the rules that the answer before, of the same conversation, did not satisfy. `schema` is the JSON Schema of the whole answer.
    """

    program: Program
    attempt: int
    cycle: int
    told: tuple[str, ...]
    messages: tuple[Message, ...]
    schema: dict[str, Json]


Ask = Callable[[Question], Completion]
"""A question → what the model says. Raises ModelError, IncompleteError."""


@dataclass(slots=True)
class Spent:
    """What questions cost. A sum is None as soon as one part of it is unknown."""

    requests: int = 0
    retries: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost_usd: float | None = 0.0
    told: dict[str, int] = field(default_factory=dict)  # by rule: how many questions said that it was not satisfied

    def add(self, completion: Completion, told: Sequence[str] = ()) -> None:
        """One more answer, and what its question told of the one before."""
        self.requests += 1
        for name in told:
            self.told[name] = self.told.get(name, 0) + 1
        self.retries += completion.retries
        read, written = completion.usage.get("input"), completion.usage.get("output")
        self.input_tokens = None if self.input_tokens is None or read is None else self.input_tokens + read
        self.output_tokens = None if self.output_tokens is None or written is None else self.output_tokens + written
        cost = completion.cost_usd
        self.cost_usd = None if self.cost_usd is None or cost is None else self.cost_usd + cost

    def share(self, cases: int) -> dict[str, Json]:
        """An even share of it for each of so many cases."""
        sums: dict[str, float | None] = {
            "requests": self.requests,
            "retries": self.retries,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
        }
        return {name: None if value is None else round(value / max(cases, 1), 9) for name, value in sums.items()}


class Journal:
    """The answers of one file, open for appending; a last line that a kill has cut is cut off.

    `earlier` are answers that a set was made of before (see `answers`): what was answered then is not asked again.
    """

    def __init__(self, path: Path, earlier: Mapping[str, Completion] | None = None) -> None:
        self._path = path
        codec.drop_torn_line(path)
        self._known = {**(earlier or {}), **answers(path)}

    def keeping(self, model: str, ask: Ask) -> Ask:
        """The same model, asked only what it has not been asked before."""

        def kept(question: Question) -> Completion:
            key = _key(model, question)
            if key not in self._known:
                completion = ask(question)
                row = _row(key, model, question, completion)
                with codec.open_append(self._path) as stream:
                    codec.append_line(stream, row, sync=True)
                self._known[key] = completion
            return self._known[key]

        return kept


def answers(path: Path) -> dict[str, Completion]:
    """All answers of a journal by key; none where there is no such file. Raises InputError."""
    found: dict[str, Completion] = {}
    for where, row in codec.read_json_lines(path) if path.exists() else ():
        try:
            found[row["key"]] = _completion(row["completion"], where)
        except (KeyError, TypeError) as error:
            raise _foreign(where, error) from None
    return found


def _foreign(where: str, error: Exception) -> InputError:
    return InputError(f"{where}: no line of a journal of completions ({error}); remove it and repeat the command")


def spent(path: Path, functions: Collection[str]) -> dict[str, Spent]:
    """What the answers of a journal about these functions took, by model; nothing where there is no such file. Raises InputError."""
    found: dict[str, Spent] = {}
    for where, row in codec.read_json_lines(path) if path.exists() else ():
        try:
            if row["function"] in functions:
                found.setdefault(row["model"], Spent()).add(_completion(row["completion"], where), row["told"])
        except (KeyError, TypeError) as error:
            raise _foreign(where, error) from None
    return found


def _completion(row: dict[str, Json], where: str) -> Completion:
    return codec.from_json(ToolCompletion if "calls" in row else Completion, row, where)


def rows(paths: list[Path]) -> Iterator[str]:
    """The lines of several journals, by key, each answer once."""
    found: dict[str, str] = {}
    for path in paths:
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                found.setdefault(json.loads(line)["key"], line)
    yield from (found[key] for key in sorted(found))


def _row(key: str, model: str, question: Question, completion: Completion) -> dict[str, Json]:
    return {
        "key": key,
        "model": model,
        "function": question.program.origin.function,
        "program": question.program.id,
        "prompt": PROMPT_VERSION,
        "attempt": question.attempt,
        "cycle": question.cycle,
        "told": list(question.told),
        "messages": [codec.to_json(message) for message in question.messages],
        "completion": codec.to_json(completion),
    }


def _key(model: str, question: Question) -> str:
    said = [[one.role, one.content] for one in question.messages]
    text = json.dumps([model, said, question.schema, question.attempt], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
