"""OpenAI's Responses and every server that speaks them: one request through the official SDK, errors by name."""

from __future__ import annotations

import time
from typing import Any

from exe.errors import ModelError, TransientError
from exe.records import Completion, Json
from runners.models.base import Overloaded, Request, Traits, clean, with_calls
from runners.models.openai import connect
from runners.models.remote import Failures, count_or_none, text_or_none

LEFT_OUT = ("seed", "stop")
"""What Responses have no parameter for."""
_ENDINGS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesModel:
    """A model behind the Responses API at `base_url`; asks once a call, the run's loop retries.

    See `connect` for key and address. Nothing is stored at the server. Seed and stop texts are not sent, `settings` says so.
    """

    def __init__(
        self, model: str, base_url: str | None = None, *, api_key: str | None = None, timeout: float = 600.0
    ) -> None:
        self._at = connect(f"responses:{model}", model, base_url, api_key, timeout)
        self._model = model

    @property
    def name(self) -> str:
        """`responses:NAME`, with the address where it is not OpenAI's own."""
        return f"responses:{self._model}" + ("" if self._at.official else f"@{self._at.base_url}")

    @property
    def settings(self) -> dict[str, Json]:
        """Provider, model, address and the parameters that it cannot be given; never the key."""
        left_out: Json = list(LEFT_OUT)
        return {
            "provider": "responses",
            "model": self._model,
            "base_url": self._at.base_url,
            "left_out": left_out,
        }

    @property
    def traits(self) -> Traits:
        """Remote, repaired once, takes tools."""
        return Traits(tools=True)

    async def complete(self, request: Request) -> Completion:
        """Ask once. See `Model.complete` for the errors."""
        started = time.perf_counter()
        failures = self._at.failures
        try:
            reply = await self._at.client.responses.create(**self._body(request))
        except failures.sdk.APIError as error:
            return failures.ended(error, self._model)
        except (ValueError, RecursionError) as error:  # a body that is no JSON, of another shape or of great depth
            raise failures.unreadable(error) from None
        return _completion(reply, failures, (time.perf_counter() - started) * 1000)

    async def aclose(self) -> None:
        """Close the connection pool."""
        await self._at.client.close()

    def _body(self, request: Request) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "max_output_tokens": request.max_tokens,
            "reasoning": {"effort": request.effort, "summary": "auto"} if request.effort else None,
            "text": _held_to(request.schema),
            **_tools(request),
        }
        return {
            "model": self._model,
            "input": [{"role": message.role, "content": message.content} for message in request.messages],
            "store": False,
            **{name: value for name, value in wanted.items() if value is not None},
        }


def _held_to(schema: dict[str, Json] | None) -> Json:
    """The text format that holds an answer to a JSON Schema, None for free text."""
    return None if schema is None else {"format": {"type": "json_schema", "name": "answer", "schema": schema}}


def _tools(request: Request) -> dict[str, Json]:
    """The request's tool, and that it is to be called."""
    tool = request.tool
    if tool is None:
        return {}
    listed = {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"tools": [{**listed, "strict": False}], "tool_choice": {"type": "function", "name": tool.name}}


def _completion(reply: Any, failures: Failures, latency_ms: float) -> Completion:
    """The completion in a reply whose shape nobody has checked. Raises ModelError where there is none in it."""
    items = getattr(reply, "output", None)
    if getattr(reply, "status", None) == "failed":
        raise _failure(getattr(reply, "error", None), failures)
    if not isinstance(items, list):
        raise TransientError(f"{failures.where} sent a reply without output")
    texts = [text for item in items if _kind(item) == "message" for text in _texts(item, "content", "output_text")]
    refusals = [
        text for item in items if _kind(item) == "message" for text in _texts(item, "content", "refusal", "refusal")
    ]
    thoughts = [
        text
        for item in items
        if _kind(item) == "reasoning"
        for text in (*_texts(item, "summary", "summary_text"), *_texts(item, "content", "reasoning_text"))
    ]
    calls = [getattr(item, "arguments", None) for item in items if _kind(item) == "function_call"]
    completion = Completion(
        text="".join(texts) or "".join(refusals),
        reasoning="".join(thoughts) or None,
        finish_reason="refusal" if refusals else _finish(reply),
        model=text_or_none(getattr(reply, "model", None)),
        usage=_usage(getattr(reply, "usage", None)),
        latency_ms=round(latency_ms, 1),
    )
    return with_calls(completion, tuple(call for call in calls if isinstance(call, str)))


def _failure(error: Any, failures: Failures) -> ModelError:
    """Our name for a reply that says that it failed."""
    code, message = getattr(error, "code", None), getattr(error, "message", None)
    said = f"{failures.where} failed: {clean(str(message or code or 'no reason given'), failures.secrets)}"
    return Overloaded(said) if code == "rate_limit_exceeded" else TransientError(said)


def _finish(reply: Any) -> str | None:
    """How the reply ended: `stop` where it is complete, else what cut it."""
    status = text_or_none(getattr(reply, "status", None))
    if status == "incomplete":
        reason = text_or_none(getattr(getattr(reply, "incomplete_details", None), "reason", None))
        return _ENDINGS.get(reason or "", reason or "incomplete")
    return "stop" if status == "completed" else status


def _kind(item: Any) -> str | None:
    return text_or_none(getattr(item, "type", None))


def _texts(item: Any, where: str, kind: str, name: str = "text") -> list[str]:
    """The texts of the parts of one kind in a member of an item."""
    parts = getattr(item, where, None)
    found = [getattr(part, name, None) for part in parts if _kind(part) == kind] if isinstance(parts, list) else []
    return [text for text in found if isinstance(text, str)]


def _usage(usage: Any) -> dict[str, int | None]:
    """Token counts under one naming: input, output, cached (of the input), reasoning (of the output)."""
    if usage is None:
        return {}
    read, written = getattr(usage, "input_tokens_details", None), getattr(usage, "output_tokens_details", None)
    found = {
        "input": getattr(usage, "input_tokens", None),
        "output": getattr(usage, "output_tokens", None),
        "cached": getattr(read, "cached_tokens", None),
        "cache_written": getattr(read, "cache_write_tokens", None),
        "reasoning": getattr(written, "reasoning_tokens", None),
    }
    return {name: count_or_none(count) for name, count in found.items()}
