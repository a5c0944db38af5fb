"""What providers behind a socket share: addresses, token counts, and our names for what their SDKs raise.

The SDKs of OpenAI and Anthropic are made by one generator, and litellm's errors derive from OpenAI's: `APIStatusError` with status
and body, `APIConnectionError` and `APITimeoutError` with a cause, everything else an `APIError`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from exe.errors import AuthError, ModelError, ModelUnavailable, RequestError, TransientError, UsageError
from exe.records import Completion
from runners.models.base import CONTENT_FILTER, CONTEXT_OVERFLOW, Overloaded, Unreachable, clean

T = TypeVar("T")
CONNECT_SECONDS = 15.0
MAX_TOKENS = 10**12
"""A token count from here on is no count."""
_OVERLOAD = frozenset({429, 503, 529})
_TRANSIENT = frozenset({408, 409, 425, 500, 502, 504, 520, 521, 522, 523, 524})
_OVERFLOW_WORDS = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context window",
    "prompt is too long",
    "exceed context limit",
)
_FILTER_WORDS = ("content_filter", "content_policy", "responsibleaipolicyviolation", "content filtering policy")
_NO_CONNECTION = frozenset({"ConnectError", "ClientConnectorError"})
_NO_CONNECTION_IN_TIME = frozenset({"ConnectTimeout", "ConnectionTimeoutError"})
_BROKE_WORDS = ("insufficient_quota", "credit balance is too low")


def load_sdk(module: str, extra: str, title: str) -> Any:
    """An SDK, loaded late: it takes a second, and it is an extra. Raises ModelUnavailable."""
    if importlib.util.find_spec(module) is None:
        raise ModelUnavailable(f"this model needs {title}: pip install 'execution-eval[{extra}]'")
    return importlib.import_module(module)


def http_client(sdk: Any, *, trust_env: bool) -> Any:
    """The client of an SDK that costs least: its own on aiohttp where that is installed, else its own on httpx.

    `trust_env`: whether proxies of the environment are used.
    """
    if importlib.util.find_spec("aiohttp") is not None:
        return sdk.DefaultAioHttpClient(trust_env=trust_env)
    return sdk.DefaultAsyncHttpxClient(trust_env=trust_env)


def load_litellm() -> Any:
    """litellm, which fetches nothing when it is loaded. Raises ModelUnavailable."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # read at import: a map is fetched otherwise
    return load_sdk("litellm", "litellm", "litellm")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that is an error. `message` stands in where the body has none."""

    status: int
    body: object
    headers: Mapping[str, str] = field(default_factory=dict)
    message: object = "no reason given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Names what an SDK raises. `where` is the model and its address, `variable` the environment variable of the key.

    `sdk` is the module that holds the error classes. No secret of `secrets` reaches a message.
    """

    sdk: Any
    where: str
    variable: str
    secrets: tuple[str, ...] = ()

    def ended(self, error: Exception, model: str) -> Completion:
        """The completion that an error of the SDK stands for: the prompt does not fit, or a filter withheld the answer.

        Raises every other error under our name.
        """
        parts = (getattr(error, name, None) for name in ("code", "type", "message", "body"))
        finish = _finish(getattr(error, "status_code", None), " ".join(map(str, parts)))
        if finish is None:
            raise self.named(error) from None
        return Completion(text="", finish_reason=finish, model=model)

    def replied(self, status: int, body: object, model: str) -> Completion:
        """The same for a status and a body that came within a batch."""
        finish = _finish(status, str(body))
        if finish is None:
            raise self._by_status(Reply(status, body))
        return Completion(text="", finish_reason=finish, model=model)

    def named(self, error: Exception) -> ModelError:
        """Our name for an error of the SDK: whether another try is worth it, and what to do."""
        sdk = self.sdk
        causes = list(_causes(error))
        kinds = {type(cause).__name__ for cause in causes}
        if kinds & _NO_CONNECTION_IN_TIME:
            return Unreachable(f"cannot reach {self.where}: no connection in time")
        if kinds & _NO_CONNECTION:
            return Unreachable(f"cannot reach {self.where}: {clean(str(causes[0]), self.secrets)}")
        if isinstance(error, sdk.APITimeoutError):
            return TransientError(f"{self.where} did not answer in time")
        if isinstance(error, sdk.APIConnectionError):
            reason = clean(str(causes[0]) or type(causes[0]).__name__ if causes else "connection lost", self.secrets)
            return TransientError(f"cannot reach {self.where}: {reason}")
        if not isinstance(error, sdk.APIStatusError):
            return self.unreadable(getattr(error, "message", str(error)))
        return self._by_status(Reply(error.status_code, error.body, error.response.headers, error.message))

    async def naming(self, call: Awaitable[T]) -> T:
        """What a call of the SDK gives; its errors by our names."""
        try:
            return await call
        except self.sdk.APIError as error:
            raise self.named(error) from None
        except (ValueError, RecursionError) as error:  # no JSON, JSON of another shape or of great depth
            raise self.unreadable(error) from None

    def unreadable(self, why: object) -> TransientError:
        """A reply that is no reply: no JSON, JSON of another shape, or of great depth."""
        return TransientError(f"{self.where} sent no readable reply ({clean(str(why), self.secrets)})")

    def _by_status(self, reply: Reply) -> ModelError:
        status = reply.status
        said = f"{self.where} says {status}: {clean(_message_of(reply), self.secrets)}"
        if status in (401, 403):
            return AuthError(f"{said} (check {self.variable})")
        if status == 404:
            return ModelUnavailable(f"{said} (check the model's name and the base URL)")
        if status in (400, 402, 429) and any(word in f"{reply.body}".lower() for word in _BROKE_WORDS):
            return AuthError(f"{said} (the account has no quota left)")
        wait = retry_after(reply.headers)
        if status in _OVERLOAD:
            return Overloaded(said, wait)
        if status in _TRANSIENT or status >= 500:
            return TransientError(said, wait)
        return RequestError(said)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What an error came from, the nearest first; at most eight, for chains can be rings."""
    for _ in range(8):
        cause = error.__cause__ or error.__context__
        if cause is None:
            return
        yield cause
        error = cause


def checked_url(url: str, variable: str) -> str:
    """A base URL without a slash at its end. Raises UsageError for one that cannot be, or that holds a secret."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"the base URL {url!r} cannot be read: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"the base URL {url!r} must look like http://HOST:PORT/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(f"the base URL must hold no user, password or query; keys go into {variable}")
    return url.rstrip("/")


def is_loopback(url: str) -> bool:
    """Whether a proxy of the environment must not stand between us and this server."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def retry_after(headers: Any) -> float | None:
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


def count_or_none(value: Any) -> int | None:
    """A token count; what is none (a text, a boolean, a negative number, more than there can be) is unknown."""
    return value if type(value) is int and 0 <= value < MAX_TOKENS else None


def member(value: Any, name: str) -> Any:
    """A member of a part of a reply, of a JSON object or of the SDK's model of one; None where it has none."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def text_or_none(value: Any) -> str | None:
    """A text; the SDKs do not check what the server sent."""
    return value if isinstance(value, str) else None


def _finish(status: int | None, said: str) -> str | None:
    """The finish reason that a refused request stands for, None where it stands for none."""
    if status not in (400, 413, 422):
        return None
    said = said.lower()
    if any(word in said for word in _OVERFLOW_WORDS):
        return CONTEXT_OVERFLOW
    return CONTENT_FILTER if any(word in said for word in _FILTER_WORDS) else None


def _message_of(reply: Reply) -> str:
    """The server's own sentence, where its body has one."""
    body = reply.body
    if isinstance(body, dict):
        inner = body.get("error")
        message = inner.get("message") if isinstance(inner, dict) else body.get("message")
        return message if isinstance(message, str) else str(reply.message)
    return body if isinstance(body, str) and body.strip() else str(reply.message)


def _seconds_until(date: str) -> float:
    """Seconds from now to an HTTP date, NaN where it is none."""
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return float("nan")
