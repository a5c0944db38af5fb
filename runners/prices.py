"""What tokens cost: a tariff given by hand, else the tables of genai-prices, else litellm's. Unknown is None, never 0."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol

from exe.errors import UsageError
from exe.records import Json
from runners.models.remote import load_litellm

MILLION = 1_000_000
_LITELLM = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
BATCH_SHARE = 0.5
"""What a batch costs of the price of the same requests one by one, at OpenAI and at Anthropic."""

Usage = Mapping[str, int | None]
"""Token counts as in `Completion.usage`: `cached` and `cache_written` are part of `input`, `reasoning` is part of `output`."""


class Tariff(Protocol):
    """Prices of one model."""

    @property
    def settings(self) -> dict[str, Json]:
        """Where the prices come from and of when they are, for run.json."""
        ...

    def cost(self, usage: Usage) -> float | None:
        """US dollars for one reply; None where a price or a needed count is unknown."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Prices that the user stated, in US dollars a million tokens."""

    input: float
    output: float
    cached: float | None = None  # None: as input

    @property
    def settings(self) -> dict[str, Json]:
        """The numbers themselves."""
        return {"source": "given", "input": self.input, "output": self.output, "cached": self.cached}

    def cost(self, usage: Usage) -> float | None:
        """Input and output, what was cached of the input at its own price."""
        read, written = usage.get("input"), usage.get("output")
        if read is None or written is None:
            return None
        cached = (usage.get("cached") or 0) if self.cached is not None else 0
        parts = (read - cached) * self.input + cached * (self.cached or 0.0) + written * self.output
        return parts / MILLION


@dataclass(frozen=True, slots=True)
class Listed:
    """Prices in the tables of the package genai-prices for a provider that it knows by name or by address."""

    model: str
    by: dict[str, str]  # provider_id or provider_api_url

    @property
    def settings(self) -> dict[str, Json]:
        """The package's version, which stands for the date of its tables."""
        return {"source": f"genai-prices {importlib.metadata.version('genai-prices')}", "date": _today()}

    def cost(self, usage: Usage) -> float | None:
        """What the tables say today."""
        import genai_prices

        read, written = usage.get("input"), usage.get("output")
        if read is None or written is None:
            return None
        counts = genai_prices.Usage(
            input_tokens=read,
            output_tokens=written,
            cache_read_tokens=usage.get("cached") or 0,
            cache_write_tokens=usage.get("cache_written") or 0,
        )
        lookup: Any = genai_prices.calc_price
        try:
            found: Decimal = lookup(counts, self.model, **self.by).total_price
        except (LookupError, ValueError):  # no such model, or counts that contradict each other
            return None
        return float(found)


@dataclass(frozen=True, slots=True)
class Litellm:
    """Prices in the map that litellm ships."""

    model: str

    @property
    def settings(self) -> dict[str, Json]:
        """The package's version, which stands for the date of its map."""
        return {"source": f"litellm {importlib.metadata.version('litellm')}", "date": _today()}

    def cost(self, usage: Usage) -> float | None:
        """What the map says; None where it does not list both prices."""
        known = load_litellm().model_cost
        entry = known.get(self.model) or known.get(self.model.partition("/")[2]) or {}
        read, written, cached = (entry.get(name) for name in _LITELLM)
        if not isinstance(read, int | float) or not isinstance(written, int | float):
            return None
        kept = cached * MILLION if isinstance(cached, int | float) else None
        given = Given(input=read * MILLION, output=written * MILLION, cached=kept)
        return given.cost(usage)


@dataclass(frozen=True, slots=True)
class Batched:
    """The prices of a batch."""

    single: Tariff

    @property
    def settings(self) -> dict[str, Json]:
        """The prices of single requests and the share of them."""
        return {**self.single.settings, "share": BATCH_SHARE}

    def cost(self, usage: Usage) -> float | None:
        """The share of what single requests cost."""
        whole = self.single.cost(usage)
        return None if whole is None else whole * BATCH_SHARE


def tariff(settings: Mapping[str, Json], given: Given | None = None) -> Tariff | None:
    """The tariff of the model that `settings` (see `Model.settings`) identify; None where nobody lists its prices.

    A model on a server of one's own has no listed price, whatever its name is.
    """
    if given is not None:
        return given
    model = str(settings.get("model", ""))
    candidates: list[Tariff] = []
    listed = importlib.util.find_spec("genai_prices") is not None
    match settings.get("provider"):
        case "openai" | "responses" | "anthropic" if listed:
            candidates = [Listed(model, {"provider_api_url": str(settings.get("base_url"))})]
        case "litellm" if not settings.get("base_url"):
            provider = str(settings.get("through"))
            by_name: list[Tariff] = (
                [Listed(model.partition("/")[2] or model, {"provider_id": provider})] if listed else []
            )
            candidates = [*by_name, Litellm(model)]
    one = {"input": 1, "output": 1}
    return next((found for found in candidates if found.cost(one) is not None), None)


def parse_price(text: str) -> Given:
    """`INPUT,OUTPUT[,CACHED]` in US dollars a million tokens. Raises UsageError."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not all(0 <= number < float("inf") for number in numbers):
        raise UsageError(
            f"--price {text}: expected INPUT,OUTPUT[,CACHED] in US dollars a million tokens, such as 0.15,0.6"
        )
    return Given(input=numbers[0], output=numbers[1], cached=numbers[2] if len(numbers) == 3 else None)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
