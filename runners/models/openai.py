"""OpenAI and every server that speaks its Chat Completions: one request through the official SDK, errors by name."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from exe.errors import AuthError
from exe.records import Completion, Json
from runners.models.base import Request, Traits
from runners.models.batching import merged
from runners.models.chat import completion_of, messages_of, parameters_of
from runners.models.openai_batches import OpenAIBatches
from runners.models.remote import (
    CONNECT_SECONDS,
    Failures,
    checked_url,
    http_client,
    is_loopback,
    load_sdk,
)

if TYPE_CHECKING:
    import openai

OFFICIAL = "https://api.openai.com/v1"
NO_KEY = "no-key"
_KEY = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Connection:
    """A server that the official SDK speaks to. `official` is OpenAI's own; the key reaches no setting, message or error."""

    client: openai.AsyncOpenAI
    failures: Failures
    base_url: str
    official: bool


def connect(spec: str, model: str, base_url: str | None, api_key: str | None, timeout: float) -> Connection:
    """A connection for the model `spec`; nothing is sent. `timeout` in seconds a request.

    `api_key` None reads OPENAI_API_KEY; a server other than OpenAI's own needs none. Raises UsageError, AuthError,
    ModelUnavailable.
    """
    sdk = load_sdk("openai", "openai", "the OpenAI SDK")
    url = checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL, _KEY)
    official = urlsplit(url).hostname == "api.openai.com"
    key = api_key or os.environ.get(_KEY)
    if not key and official:
        raise AuthError(f"{spec} needs a key: set OPENAI_API_KEY, or name a server: {spec}@BASE_URL")
    client: openai.AsyncOpenAI = sdk.AsyncOpenAI(
        api_key=key or NO_KEY,
        base_url=url,
        max_retries=0,
        timeout=sdk.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
        http_client=http_client(sdk, trust_env=not is_loopback(url)),
    )
    failures = Failures(sdk=sdk, where=f"{model} at {url}", variable=_KEY, secrets=(key,) if key else ())
    return Connection(client, failures, url, official)


class OpenAIModel:
    """A model behind the Chat Completions API at `base_url`; asks once a call, the run's loop retries.

    See `connect` for key and address. `extra` goes into the request body as it is (llama.cpp's `cache_prompt`).
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
        self._at = connect(f"openai:{model}", model, base_url, api_key, timeout)
        self._model = model
        self._extra = dict(extra or {})

    @property
    def name(self) -> str:
        """`openai:NAME`, with the address where it is not OpenAI's own."""
        return f"openai:{self._model}" + ("" if self._at.official else f"@{self._at.base_url}")

    @property
    def settings(self) -> dict[str, Json]:
        """Provider, model, address and extra body fields; never the key."""
        found: dict[str, Json] = {"provider": "openai", "model": self._model, "base_url": self._at.base_url}
        return {**found, "extra": self._extra} if self._extra else found

    @property
    def traits(self) -> Traits:
        """Remote, repaired once, takes tools."""
        return Traits(tools=True)

    @property
    def batches(self) -> OpenAIBatches:
        """Its batches, at the same address."""
        return OpenAIBatches(self._at.client, self._at.failures, self._model, self._body)

    async def complete(self, request: Request) -> Completion:
        """Ask once. See `Model.complete` for the errors."""
        started = time.perf_counter()
        try:
            # what the SDK does to a typed call and its reply costs more than all else; nobody here trusts either
            reply = await self._at.client.post("/chat/completions", cast_to=object, body=merged(self._body(request)))
        except self._at.failures.sdk.APIError as error:
            return self._at.failures.ended(error, self._model)
        except (ValueError, RecursionError) as error:  # a body that is no JSON, of another shape or of great depth
            raise self._at.failures.unreadable(error) from None
        return completion_of(reply, self._at.failures, (time.perf_counter() - started) * 1000)

    async def aclose(self) -> None:
        """Close the connection pool."""
        await self._at.client.close()

    def _body(self, request: Request) -> dict[str, Any]:
        limit = "max_completion_tokens" if self._at.official else "max_tokens"
        body = {"model": self._model, "messages": messages_of(request), **parameters_of(request, limit)}
        return {**body, "extra_body": self._extra} if self._extra else body
