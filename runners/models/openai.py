"""OpenAI and every server that speaks its Chat Completions: one request through the official SDK, errors by name."""

from __future__ import annotations

import importlib.util
import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from exe.errors import AuthError, ModelError, ModelUnavailable, RequestError, TransientError, UsageError
from exe.records import Completion, Json
from runners.models.base import CONTENT_FILTER, CONTEXT_OVERFLOW, Overloaded, Request, Traits, Unreachable, clean

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion

OFFICIAL = "https://api.openai.com/v1"
CONNECT_SECONDS = 15.0
NO_KEY = "no-key"
MAX_TOKENS = 10**12
"""A token count from here on is no count."""
_OVERLOAD = frozenset({429, 503, 529})
_TRANSIENT = frozenset({408, 409, 425, 500, 502, 504, 520, 521, 522, 523, 524})
_OVERFLOW_WORDS = ("context_length_exceeded", "exceed_context_size", "maximum context length", "context window")
_FILTER_WORDS = ("content_filter", "content_policy", "responsibleaipolicyviolation")


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
        sdk = _sdk()
        self._base_url = _checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL)
        self._official = urlsplit(self._base_url).hostname == "api.openai.com"
        key = api_key or os.environ.get("OPENAI_API_KEY")
        if not key and self._official:
            raise AuthError(
                f"openai:{model} needs a key: set OPENAI_API_KEY, or name a server: openai:{model}@BASE_URL"
            )
        self._secrets = (key,) if key else ()
        self._model = model
        self._extra = dict(extra or {})
        self._sdk = sdk
        self._client: openai.AsyncOpenAI = sdk.AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=self._base_url,
            max_retries=0,
            timeout=sdk.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
            http_client=sdk.DefaultAsyncHttpxClient(trust_env=not _is_loopback(self._base_url)),
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
        except self._sdk.APIError as error:
            finish = _finish_of_error(error)
            if finish is None:
                raise self._named(error) from None
            return Completion(text="", finish_reason=finish, model=self._model)
        except (
            ValueError,
            RecursionError,
        ) as error:  # a body that is no JSON, or JSON of another shape or of great depth
            raise TransientError(
                f"{self._where()} sent no readable reply ({clean(str(error), self._secrets)})"
            ) from None
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
            raise TransientError(f"{self._where()} sent a reply without choices{self._why(reply)}")
        refusal = getattr(message, "refusal", None)
        said = _said(message)
        if said is None:
            raise TransientError(f"{self._where()} sent a message that is no text")
        text, thought = said
        finish = getattr(choice, "finish_reason", None)
        return Completion(
            text=text or (refusal if isinstance(refusal, str) else ""),
            reasoning=_reasoning(message) or thought,
            finish_reason="refusal" if isinstance(refusal, str) and refusal else _text_or_none(finish),
            model=_text_or_none(getattr(reply, "model", None)),
            usage=_usage(getattr(reply, "usage", None)),
            latency_ms=round(latency_ms, 1),
        )

    def _why(self, reply: object) -> str:
        """What a reply that is an error with status 200 (as some gateways send it) says, for a message."""
        error = getattr(reply, "error", None)
        message = error.get("message") if isinstance(error, dict) else error
        return f": {clean(message, self._secrets)}" if isinstance(message, str) and message.strip() else ""

    def _where(self) -> str:
        return f"{self._model} at {self._base_url}"

    def _named(self, error: openai.APIError) -> ModelError:
        """Our name for what the SDK raised."""
        where = self._where()
        if isinstance(error, self._sdk.APITimeoutError):
            return _unreachable_or_slow(error, where)
        if isinstance(error, self._sdk.APIConnectionError):
            cause = error.__cause__
            reason = clean(str(cause) or type(cause).__name__ if cause else "connection lost", self._secrets)
            kind = Unreachable if type(cause).__name__ == "ConnectError" else TransientError
            return kind(f"cannot reach {where}: {reason}")
        if not isinstance(error, self._sdk.APIStatusError):
            return TransientError(f"{where} sent no readable reply ({clean(error.message, self._secrets)})")
        status = error.status_code
        said = f"{where} says {status}: {clean(_message_of(error), self._secrets)}"
        if status in (401, 403):
            return AuthError(f"{said} (check OPENAI_API_KEY)")
        if status == 404:
            return ModelUnavailable(f"{said} (check the model's name and the base URL)")
        if status == 429 and error.code == "insufficient_quota":
            return AuthError(f"{said} (the account has no quota left)")
        wait = _retry_after(error.response.headers)
        if status in _OVERLOAD:
            return Overloaded(said, wait)
        if status in _TRANSIENT or status >= 500:
            return TransientError(said, wait)
        return RequestError(said)


def _held_to(schema: dict[str, Json] | None) -> dict[str, Json] | None:
    """The response format that holds an answer to a JSON Schema, None for free text."""
    return None if schema is None else {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _sdk() -> Any:
    """The official SDK, loaded late: it takes a second, and it is an extra."""
    if importlib.util.find_spec("openai") is None:
        raise ModelUnavailable("this model needs the OpenAI SDK: pip install 'execution-eval[openai]'")
    import openai

    return openai


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"the base URL {url!r} cannot be read: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"the base URL {url!r} must look like http://HOST:PORT/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError("the base URL must hold no user, password or query; keys go into OPENAI_API_KEY")
    return url.rstrip("/")


def _is_loopback(url: str) -> bool:
    """Whether a proxy of the environment must not stand between us and this server."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _unreachable_or_slow(error: Exception, where: str) -> TransientError:
    if type(error.__cause__).__name__ == "ConnectTimeout":
        return Unreachable(f"cannot reach {where}: no connection in time")
    return TransientError(f"{where} did not answer in time")


def _message_of(error: openai.APIStatusError) -> str:
    """The server's own sentence, where its body has one."""
    body = error.body
    if isinstance(body, dict):
        message = body.get("message")
        return message if isinstance(message, str) else error.message
    return body if isinstance(body, str) and body.strip() else error.message


def _finish_of_error(error: openai.APIError) -> str | None:
    """The finish reason that an error stands for: the prompt does not fit, or a filter withheld it."""
    if getattr(error, "status_code", None) not in (400, 413, 422):
        return None
    said = " ".join(str(part) for part in (error.code, error.type, error.message, error.body)).lower()
    if any(word in said for word in _OVERFLOW_WORDS):
        return CONTEXT_OVERFLOW
    return CONTENT_FILTER if any(word in said for word in _FILTER_WORDS) else None


def _retry_after(headers: Any) -> float | None:
    """Seconds that the server asks to wait (RFC 9110 §10.2.3: seconds or an HTTP date)."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            seconds = _seconds_until(value)
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _seconds_until(date: str) -> float:
    """Seconds from now to an HTTP date, NaN where it is none."""
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return float("nan")


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
    """Token counts under one naming: input, output, cached (of the input), reasoning (of the output).

    What is no count (a text, a boolean, a negative number, more than there can be) is unknown.
    """
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
    return {name: count if type(count) is int and 0 <= count < MAX_TOKENS else None for name, count in found.items()}


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
