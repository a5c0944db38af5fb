"""Models that propose inputs, as a build's processes need them: opened where they are used, asked one question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from exe.errors import IncompleteError, RequestError, TransientError, UsageError
from exe.inputs.mix import OFFLINE
from exe.inputs.model import Ask, Question
from exe.records import Completion, Json, Tool
from runners import prices
from runners.asking import Asker, Limiter, RetryPolicy
from runners.models import Context, Model, check_form, open_model
from runners.models.base import Request

TOKENS = 8_192
"""What an answer of fifteen inputs may have, at most."""
ANSWERS = 8
"""As many usual answers of the model may it have: a small one that misses the end repeats itself to the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opener:
    """Opens the models of `--generator`; small enough to be sent to another process.

    `priced`: the cost of every answer of a remote model has to be known.
    """

    names: tuple[str, ...]
    timeout: float
    price: prices.Given | None = None
    priced: bool = False

    def __call__(self) -> Mapping[str, Ask]:
        """Each model by its name, ready to be asked."""
        return {name: _asking(open_model(name, Context(timeout=self.timeout)), self) for name in self.names}


def models_of(generator: str) -> tuple[str, ...]:
    """The models among the generators of a comma list. Raises UsageError for a name that is none, or twice there."""
    names = generator.split(",")
    if not all(names) or len(set(names)) < len(names):
        raise UsageError(
            f"--generator {generator}: expected offline, a MODEL, or several with commas between, each once"
        )
    models = tuple(name for name in names if name != OFFLINE)
    for name in models:
        check_form(name)
        if name.partition(":")[0] in ("oracle", "baseline", "replay"):
            raise UsageError(f"--generator {name}: it answers cases that are there; it cannot propose inputs")
    return models


def _asking(model: Model, opener: Opener) -> Ask:
    runner = asyncio.Runner()
    tariff = prices.tariff(model.settings, opener.price)
    forms = _forms(model)
    must_cost = opener.priced and model.traits.remote
    counted = True
    asker = Asker(model, Limiter(1), RetryPolicy(timeout=opener.timeout), runner.run(_event()))

    def ask(question: Question) -> Completion:
        nonlocal counted
        if must_cost and tariff is None:
            raise UsageError(f"--max-cost: nobody lists a price for {model.name}; state it with --price INPUT,OUTPUT")
        if must_cost and not counted:
            raise IncompleteError(f"--max-cost cannot be held: {model.name} answers without a count of tokens")
        plain = Request(
            case="inputs",
            sample=question.attempt,
            messages=question.messages,
            temperature=None,
            max_tokens=min(TOKENS, ANSWERS * (model.traits.max_tokens or TOKENS)),
            seed=question.attempt,
        )
        try:
            while True:
                try:
                    completion = runner.run(asker.ask(_in_form(plain, forms[0], question.schema)))
                    break
                except RequestError:
                    if len(forms) == 1:
                        raise
                    del forms[0]  # a server may know no tools, or a grammar not this schema: text goes everywhere
        except (TransientError, RequestError) as error:  # no property of the function
            raise IncompleteError(f"{error}; the same command goes on from here") from error
        if tariff is None:
            return completion
        cost = tariff.cost(completion.usage)
        counted = cost is not None
        return replace(completion, cost_usd=cost)

    return ask


Form = Literal["tool", "schema", "text"]


def _forms(model: Model) -> list[Form]:
    """In which forms a model may be asked, the most binding one first."""
    return ["tool", "schema", "text"] if model.traits.tools else ["schema", "text"]


def _in_form(plain: Request, form: Form, schema: dict[str, Json]) -> Request:
    """The question with what holds its answer to the schema."""
    match form:
        case "tool":
            description = "Hand in all inputs at once; each holds the arguments of one call by parameter name."
            return replace(plain, tool=Tool(name="propose_inputs", description=description, parameters=schema))
        case "schema":
            return replace(plain, schema=schema)
        case "text":
            return plain
        case _:
            assert_never(form)


async def _event() -> asyncio.Event:
    return asyncio.Event()
