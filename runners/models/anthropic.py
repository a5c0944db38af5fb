"""Anthropic and every server that speaks its Messages: one request through the official SDK, errors by name."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from exe.errors import AuthError, TransientError
from exe.records import Completion, Json
from runners.models.anthropic_batches import AnthropicBatches
from runners.models.base import Request, Traits, with_calls
from runners.models.remote import (
    CONNECT_SECONDS,
    Failures,
    checked_url,
    count_or_none,
    http_client,
    is_loopback,
    load_sdk,
    text_or_none,
)

if TYPE_CHECKING:
    import anthropic

OFFICIAL = "https://api.anthropic.com"
TOKENS = 4096
"""What an answer may have where the run sets no limit: Messages takes no request without one."""
_KEY = "ANTHROPIC_API_KEY"


class AnthropicModel:
    """A model behind the Messages API at `base_url`; asks once a call, the run's loop retries.

    `api_key` None reads ANTHROPIC_API_KEY. A reasoning effort asks for adaptive thinking with its summary, which is kept
    apart from the answer. Messages knows no seed: none is sent. The key reaches no setting, message or error.
    """

    def __init__(
        self, model: str, base_url: str | None = None, *, api_key: str | None = None, timeout: float = 600.0
    ) -> None:
        sdk = load_sdk("anthropic", "anthropic", "the Anthropic SDK")
        self._base_url = checked_url(base_url or os.environ.get("ANTHROPIC_BASE_URL") or OFFICIAL, _KEY)
        self._official = self._base_url == OFFICIAL
        key = api_key or os.environ.get(_KEY)
        if not key and self._official:
            raise AuthError(f"anthropic:{model} needs a key: set {_KEY}, or name a server: anthropic:{model}@BASE_URL")
        self._model = model
        self._failures = Failures(
            sdk=sdk, where=f"{model} at {self._base_url}", variable=_KEY, secrets=(key,) if key else ()
        )
        self._timeout = sdk.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout))
        self._client: anthropic.AsyncAnthropic = sdk.AsyncAnthropic(
            api_key=key or "no-key",
            base_url=self._base_url,
            max_retries=0,
            http_client=http_client(sdk, trust_env=not is_loopback(self._base_url)),
        )

    @property
    def name(self) -> str:
        """`anthropic:NAME`, with the address where it is not Anthropic's own."""
        return f"anthropic:{self._model}" + ("" if self._official else f"@{self._base_url}")

    @property
    def settings(self) -> dict[str, Json]:
        """Provider, model and address; never the key."""
        return {"provider": "anthropic", "model": self._model, "base_url": self._base_url}

    @property
    def traits(self) -> Traits:
        """Remote, repaired once, takes tools."""
        return Traits(tools=True)

    @property
    def batches(self) -> AnthropicBatches:
        """Its batches, at the same address."""
        return AnthropicBatches(self._client, self._failures, self._model, self._body, _completion)

    async def complete(self, request: Request) -> Completion:
        """Ask once. See `Model.complete` for the errors."""
        started = time.perf_counter()
        try:
            reply = await self._client.messages.create(**self._body(request), timeout=self._timeout)
        except self._failures.sdk.APIError as error:
            return self._failures.ended(error, self._model)
        except (ValueError, RecursionError) as error:  # a body that is no JSON, of another shape or of great depth
            raise self._failures.unreadable(error) from None
        return _completion(reply, self._failures, (time.perf_counter() - started) * 1000)

    async def aclose(self) -> None:
        """Close the connection pool."""
        await self._client.close()

    def _body(self, request: Request) -> dict[str, Any]:
        system = [message.content for message in request.messages if message.role == "system"]
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens or TOKENS,
            "messages": [
                {"role": message.role, "content": message.content}
                for message in request.messages
                if message.role != "system"
            ],
        }
        output = {
            "effort": request.effort,
            "format": None if request.schema is None else {"type": "json_schema", "schema": request.schema},
        }
        sampling = {"temperature": request.temperature, "top_p": request.top_p}  # no parameters of the SDK any more
        optional = {
            "system": "\n\n".join(system) or None,
            "stop_sequences": list(request.stop) or None,
            "thinking": {"type": "adaptive", "display": "summarized"} if request.effort else None,
            **_tools(request),
            "output_config": {name: value for name, value in output.items() if value is not None} or None,
            "extra_body": {name: value for name, value in sampling.items() if value is not None} or None,
        }
        return {**body, **{name: value for name, value in optional.items() if value is not None}}


def _completion(reply: Any, failures: Failures, latency_ms: float | None) -> Completion:
    """The completion in a message whose shape nobody has checked. Raises TransientError where there is none in it."""
    blocks = getattr(reply, "content", None)
    if not isinstance(blocks, list):
        raise TransientError(f"{failures.where} sent a reply without content")
    completion = Completion(
        text="".join(_texts(blocks, "text")),
        reasoning="".join(_texts(blocks, "thinking")) or None,
        finish_reason=text_or_none(getattr(reply, "stop_reason", None)),
        model=text_or_none(getattr(reply, "model", None)),
        usage=_usage(getattr(reply, "usage", None)),
        latency_ms=None if latency_ms is None else round(latency_ms, 1),
    )
    return with_calls(completion, _calls(blocks))


def _tools(request: Request) -> dict[str, Json]:
    """The request's tool, and that it is to be called, as Messages has it."""
    tool = request.tool
    if tool is None:
        return {}
    listed = [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters}]
    # thinking leaves the choice to the model; it rejects a forced one
    return {"tools": listed, "tool_choice": {"type": "auto"} if request.effort else {"type": "tool", "name": tool.name}}


def _calls(blocks: list[Any]) -> tuple[str, ...]:
    """The arguments of each call of a tool, as JSON text."""
    inputs = [getattr(block, "input", None) for block in blocks if getattr(block, "type", None) == "tool_use"]
    return tuple(json.dumps(found) for found in inputs if isinstance(found, dict))


def _texts(blocks: list[Any], kind: str) -> list[str]:
    """The texts of the blocks of one kind ("text" or "thinking"); redacted thinking has none."""
    found = [getattr(block, kind, None) for block in blocks if getattr(block, "type", None) == kind]
    return [text for text in found if isinstance(text, str)]


def _usage(usage: Any) -> dict[str, int | None]:
    """Token counts under one naming; `input` counts what was read from the cache and what was written to it as well."""
    if usage is None:
        return {}
    fresh = count_or_none(getattr(usage, "input_tokens", None))
    read = count_or_none(getattr(usage, "cache_read_input_tokens", None))
    written = count_or_none(getattr(usage, "cache_creation_input_tokens", None))
    details = getattr(usage, "output_tokens_details", None)
    return {
        "input": None if fresh is None else fresh + (read or 0) + (written or 0),
        "output": count_or_none(getattr(usage, "output_tokens", None)),
        "cached": read,
        "cache_written": written,
        "reasoning": count_or_none(getattr(details, "thinking_tokens", None)),
    }
