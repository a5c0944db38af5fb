"""Every provider that litellm speaks to: one request through it, errors by name, nothing fetched when it is loaded."""

from __future__ import annotations

import os
import time
from typing import Any

from exe.errors import UsageError
from exe.records import Completion, Json
from runners.models.base import CONTENT_FILTER, CONTEXT_OVERFLOW, Request, Traits
from runners.models.chat import completion_of, messages_of, parameters_of
from runners.models.remote import Failures, checked_url, load_litellm, load_sdk


class LitellmModel:
    """A model by litellm's name (`PROVIDER/NAME`); asks once a call, the run's loop retries.

    Keys are those of litellm's providers, read from the environment by litellm. What the provider has no parameter for is not
    sent, and `settings` lists it under `left_out`.
    """

    def __init__(self, model: str, base_url: str | None = None, *, timeout: float = 600.0) -> None:
        self._sdk = load_litellm()
        self._sdk.suppress_debug_info = True
        self._sdk.telemetry = False
        self._model = model
        self._base_url = checked_url(base_url, "the provider's variable") if base_url else None
        try:
            _, self._provider, _, _ = self._sdk.get_llm_provider(model, api_base=self._base_url)
        except self._sdk.exceptions.BadRequestError as error:
            raise UsageError(
                f"litellm:{model}: litellm knows no such provider; write litellm:PROVIDER/NAME, as in litellm:mistral/NAME"
            ) from error
        self._known = frozenset(self._sdk.get_supported_openai_params(model=model) or ())
        sdk = load_sdk("openai", "litellm", "the OpenAI SDK")  # whose error classes litellm's derive from
        where = f"{model} at {self._base_url}" if self._base_url else model
        self._failures = Failures(sdk=sdk, where=where, variable=f"the key of {self._provider}", secrets=_secrets())
        self._timeout = min(timeout, 1e9)

    @property
    def name(self) -> str:
        """`litellm:PROVIDER/NAME`, with the address where one is given."""
        return f"litellm:{self._model}" + (f"@{self._base_url}" if self._base_url else "")

    @property
    def settings(self) -> dict[str, Json]:
        """Provider, model, address and the parameters that it cannot be given; never a key."""
        left_out: Json = sorted(set(_OPTIONAL) - self._known)
        return {
            "provider": "litellm",
            "model": self._model,
            "base_url": self._base_url,
            "through": self._provider,
            "left_out": left_out,
        }

    @property
    def traits(self) -> Traits:
        """Remote, repaired once."""
        return Traits(tools=True)

    async def complete(self, request: Request) -> Completion:
        """Ask once. See `Model.complete` for the errors."""
        started = time.perf_counter()
        errors = self._sdk.exceptions
        try:
            reply = await self._sdk.acompletion(**self._body(request))
        except errors.ContextWindowExceededError:
            return Completion(text="", finish_reason=CONTEXT_OVERFLOW, model=self._model)
        except errors.ContentPolicyViolationError:
            return Completion(text="", finish_reason=CONTENT_FILTER, model=self._model)
        except self._failures.sdk.APIError as error:
            return self._failures.ended(error, self._model)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:  # what litellm cannot read
            raise self._failures.unreadable(error) from None
        return completion_of(reply, self._failures, (time.perf_counter() - started) * 1000)

    async def aclose(self) -> None:
        """Close litellm's connection pools."""
        await self._sdk.close_litellm_async_clients()

    def _body(self, request: Request) -> dict[str, Any]:
        sent = {name: value for name, value in parameters_of(request).items() if name in self._known}
        return {
            "model": self._model,
            "messages": messages_of(request),
            "base_url": self._base_url,
            "timeout": self._timeout,
            "num_retries": 0,
            "max_retries": 0,
            **sent,
        }


_OPTIONAL = ("temperature", "top_p", "max_tokens", "seed", "stop", "reasoning_effort", "response_format")


def _secrets() -> tuple[str, ...]:
    """The keys in the environment: whichever of them litellm sends, none may stand in a message."""
    return tuple(value for name, value in os.environ.items() if name.endswith(("_API_KEY", "_TOKEN", "_SECRET")))
