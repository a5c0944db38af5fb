"""OpenAI and every server that speaks its Chat Completions: one request through the official SDK, errors by name."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from exe.errors import AuthError, TransientError
from exe.records import Completion, Json
from runners.models.base import Request, Traits, clean
from runners.models.remote import (
    CONNECT_SECONDS,
    Failures,
    checked_url,
    count_or_none,
    is_loopback,
    load_sdk,
    text_or_none,
)

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion

OFFICIAL = "https://api.openai.com/v1"
NO_KEY = "no-key"
_KEY = "OPENAI_API_KEY"


class OpenAIModel:
    """A model behind the Chat Completions API at `base_url`; asks once a call, the run's loop retries.

    `api_key` None reads OPENAI_API_KEY; a server other than OpenAI's own needs none. `extra` goes into the request
    body as it is (llama.cpp's `cache_prompt`). The key reaches no setting, message or error.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 600.0,
        extra: dict[str, Json] | None = None,
    ) -> None:
        sdk = load_sdk("openai", "openai", "the OpenAI SDK")
        self._base_url = checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL, _KEY)
        self._official = urlsplit(self._base_url).hostname == "api.openai.com"
        key = api_key or os.environ.get(_KEY)
        if not key and self._official:
            raise AuthError(
                f"openai:{model} needs a key: set OPENAI_API_KEY, or name a server: openai:{model}@BASE_URL"
            )
        self._secrets = (key,) if key else ()
        self._model = model
        self._extra = dict(extra or {})
        self._failures = Failures(sdk=sdk, where=f"{model} at {self._base_url}", variable=_KEY, secrets=self._secrets)
        self._client: openai.AsyncOpenAI = sdk.AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=self._base_url,
            max_retries=0,
            timeout=sdk.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
            http_client=sdk.DefaultAsyncHttpxClient(trust_env=not is_loopback(self._base_url)),
        )

    @property
    def name(self) -> str:
        """`openai:NAME`, with the address where it is not OpenAI's own."""
        return f"openai:{self._model}" + ("" if self._official else f"@{self._base_url}")

    @property
    def settings(self) -> dict[str, Json]:
        """Provider, model, address and extra body fields; never the key."""
        found: dict[str, Json] = {"provider": "openai", "model": self._model, "base_url": self._base_url}
        return {**found, "extra": self._extra} if self._extra else found

    @property
    def traits(self) -> Traits:
        """Remote, repaired once."""
        return Traits()

    async def complete(self, request: Request) -> Completion:
        """Ask once. See `Model.complete` for the errors."""
        started = time.perf_counter()
        try:
            reply = await self._client.chat.completions.create(**self._body(request))
        except self._failures.sdk.APIError as error:
            finish = self._failures.finish(error)
            if finish is None:
                raise self._failures.named(error) from None
            return Completion(text="", finish_reason=finish, model=self._model)
        except (ValueError, RecursionError) as error:  # a body that is no JSON, of another shape or of great depth
            raise self._failures.unreadable(error) from None
        return self._completion(reply, (time.perf_counter() - started) * 1000)

    async def aclose(self) -> None:
        """Close the connection pool."""
        await self._client.close()

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        }
        limit = "max_completion_tokens" if self._official else "max_tokens"
        optional = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            limit: request.max_tokens,
            "seed": request.seed,
            "stop": list(request.stop) or None,
            "reasoning_effort": request.effort,
            "response_format": _held_to(request.schema),
        }
        body.update((name, value) for name, value in optional.items() if value is not None)
        if self._extra:
            body["extra_body"] = self._extra
        return body

    def _completion(self, reply: ChatCompletion, latency_ms: float) -> Completion:
        choices = getattr(reply, "choices", None)  # the SDK does not check what the server sent
        choice: Any = choices[0] if isinstance(choices, list) and choices else None
        message = getattr(choice, "message", None)
        if message is None:
            raise TransientError(f"{self._failures.where} sent a reply without choices{self._why(reply)}")
        refusal = getattr(message, "refusal", None)
        said = _said(message)
        if said is None:
            raise TransientError(f"{self._failures.where} sent a message that is no text")
        text, thought = said
        finish = getattr(choice, "finish_reason", None)
        return Completion(
            text=text or (refusal if isinstance(refusal, str) else ""),
            reasoning=_reasoning(message) or thought,
            finish_reason="refusal" if isinstance(refusal, str) and refusal else text_or_none(finish),
            model=text_or_none(getattr(reply, "model", None)),
            usage=_usage(getattr(reply, "usage", None)),
            latency_ms=round(latency_ms, 1),
        )

    def _why(self, reply: object) -> str:
        """What a reply that is an error with status 200 (as some gateways send it) says, for a message."""
        error = getattr(reply, "error", None)
        message = error.get("message") if isinstance(error, dict) else error
        return f": {clean(message, self._secrets)}" if isinstance(message, str) and message.strip() else ""


def _held_to(schema: dict[str, Json] | None) -> dict[str, Json] | None:
    """The response format that holds an answer to a JSON Schema, None for free text."""
    return None if schema is None else {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _said(message: Any) -> tuple[str, str | None] | None:
    """Text and thinking of a message's content: a string, nothing, or a list of typed parts; None for anything else."""
    content = getattr(message, "content", None)
    if content is None and not isinstance(message, str | list):
        return "", None
    if isinstance(content, str):
        return content, None
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    texts = [part["text"] for part in content if isinstance(part.get("text"), str)]
    thoughts = [text for part in content if part.get("type") == "thinking" for text in _texts(part.get("thinking"))]
    return "".join(texts), "".join(thoughts) or None


def _texts(thinking: Any) -> list[str]:
    """The texts of a thinking part: itself one, or a list of text parts."""
    parts = thinking if isinstance(thinking, list) else [thinking]
    found = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [text for text in found if isinstance(text, str)]


def _reasoning(message: Any) -> str | None:
    """Thinking that a server sends beside the answer: `reasoning_content` (DeepSeek, vLLM, llama.cpp) or `reasoning`."""
    for name in ("reasoning_content", "reasoning"):
        text = getattr(message, name, None)
        if isinstance(text, str) and text:
            return text
    return None


def _usage(usage: Any) -> dict[str, int | None]:
    """Token counts under one naming: input, output, cached (of the input), reasoning (of the output)."""
    if usage is None:
        return {}
    prompt, completion = (
        getattr(usage, "prompt_tokens_details", None),
        getattr(usage, "completion_tokens_details", None),
    )
    found = {
        "input": getattr(usage, "prompt_tokens", None),
        "output": getattr(usage, "completion_tokens", None),
        "cached": getattr(prompt, "cached_tokens", None),
        "reasoning": getattr(completion, "reasoning_tokens", None),
    }
    return {name: count_or_none(count) for name, count in found.items()}
