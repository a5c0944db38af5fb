"""Prices: what is listed, what is stated, and that nothing unknown becomes 0."""

from __future__ import annotations

import pytest

from exe.errors import UsageError
from exe.records import Json
from runners.models import open_model
from runners.prices import Batched, Given, parse_price, tariff

MILLION = 1_000_000


def settings(model: str, **changes: Json) -> dict[str, Json]:
    return {"provider": "openai", "model": model, "base_url": "https://api.openai.com/v1", **changes}


def test_stated_prices_count_cached_input_at_its_own_price() -> None:
    given = Given(input=2.0, output=10.0, cached=0.5)
    assert given.cost({"input": MILLION, "output": MILLION, "cached": MILLION // 2}) == 1.0 + 0.25 + 10.0
    assert Given(input=2.0, output=10.0).cost({"input": MILLION, "output": 0, "cached": MILLION}) == 2.0
    assert Batched(given).cost({"input": MILLION, "output": 0}) == 1.0
    assert Batched(given).settings["share"] == 0.5


@pytest.mark.parametrize("usage", [{}, {"input": None, "output": 3}, {"input": 3, "output": None}])
def test_an_unknown_count_has_no_cost(usage: dict[str, int | None]) -> None:
    listed = tariff(settings("gpt-4o"))
    assert listed is not None
    assert listed.cost(usage) is None
    assert Given(input=1, output=1).cost(usage) is None
    assert Batched(listed).cost(usage) is None


def test_listed_prices_know_cached_tokens() -> None:
    listed = tariff(settings("gpt-4o"))
    assert listed is not None
    fresh = listed.cost({"input": MILLION, "output": 0})
    cached = listed.cost({"input": MILLION, "output": 0, "cached": MILLION})
    assert fresh is not None
    assert cached is not None
    assert 0 < cached < fresh
    assert listed.settings["source"].startswith("genai-prices ")
    with_writes = tariff(
        {"provider": "anthropic", "model": "claude-sonnet-4-5", "base_url": "https://api.anthropic.com"}
    )
    assert with_writes is not None
    plain = with_writes.cost({"input": 1000, "output": 0})
    written = with_writes.cost({"input": 1000, "output": 0, "cache_written": 1000})
    assert plain is not None
    assert written is not None
    assert written > plain


@pytest.mark.parametrize(
    "found",
    [
        settings("gpt-4o", base_url="http://127.0.0.1:8000/v1"),  # a famous name on a server of one's own
        settings("no-such-model"),
        {"provider": "local", "model": "gpt-4o"},
        {"provider": "litellm", "model": "openai/gpt-4o", "through": "openai", "base_url": "http://127.0.0.1:9/v1"},
        {"provider": "litellm", "model": "openai/no-such-model", "through": "openai", "base_url": None},
        {"provider": "oracle", "model": "oracle"},
    ],
)
def test_what_nobody_lists_is_unknown(found: dict[str, Json]) -> None:
    assert tariff(found) is None
    assert tariff(found, Given(input=1, output=1)) == Given(input=1, output=1)


@pytest.mark.filterwarnings(
    "ignore:Items? .* on TypedDict:UserWarning"
)  # litellm's own types warn when they are first used
def test_a_provider_of_litellms_is_priced() -> None:
    model = open_model("litellm:mistral/mistral-large-latest")
    listed = tariff(model.settings)
    assert listed is not None
    assert (listed.cost({"input": MILLION, "output": MILLION}) or 0) > 0


@pytest.mark.parametrize("text", ["", "1", "1,x", "1,2,3,4", "-1,2", "1,inf", "1,nan"])
def test_a_price_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--price"):
        parse_price(text)
    assert parse_price("0.15,0.6") == Given(input=0.15, output=0.6)
    assert parse_price("1,2,0") == Given(input=1.0, output=2.0, cached=0.0)
