"""OpenAI and every server that speaks its Chat Completions: one request through the official SDK, errors by name."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from exe.errors import AuthError
from exe.records import Completion, Json
from runners.models.base import Request, Traits
from runners.models.chat import completion_of, messages_of, parameters_of
from runners.models.remote import (
    CONNECT_SECONDS,
    Failures,
    checked_url,
    is_loopback,
    load_sdk,
)

if TYPE_CHECKING:
    import openai

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
        """Remote, repaired once, takes tools."""
        return Traits(tools=True)

    async def complete(self, request: Request) -> Completion:
        """Ask once. See `Model.complete` for the errors."""
        started = time.perf_counter()
        try:
            reply = await self._client.chat.completions.create(**self._body(request))
        except self._failures.sdk.APIError as error:
            return self._failures.ended(error, self._model)
        except (ValueError, RecursionError) as error:  # a body that is no JSON, of another shape or of great depth
            raise self._failures.unreadable(error) from None
        return completion_of(reply, self._failures, (time.perf_counter() - started) * 1000)

    async def aclose(self) -> None:
        """Close the connection pool."""
        await self._client.close()

    def _body(self, request: Request) -> dict[str, Any]:
        limit = "max_completion_tokens" if self._official else "max_tokens"
        body = {"model": self._model, "messages": messages_of(request), **parameters_of(request, limit)}
        return {**body, "extra_body": self._extra} if self._extra else body
