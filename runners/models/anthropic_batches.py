"""Anthropic's Message Batches: requests handed in as one list, results as JSON lines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from exe.errors import ModelError, TransientError
from exe.records import Completion, Json
from runners.models.base import Request
from runners.models.batching import BatchState, Result, merged
from runners.models.remote import Failures

if TYPE_CHECKING:
    import anthropic

_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
"""The status with which an error of this type comes outside a batch; every other one is 500."""
Read = Callable[[Any, Failures, float | None], Completion]


class AnthropicBatches:
    """The batches of one model behind Messages; `body` writes a request's parameters, `read` reads a message."""

    def __init__(
        self,
        client: anthropic.AsyncAnthropic,
        failures: Failures,
        model: str,
        body: Callable[[Request], dict[str, Any]],
        read: Read,
    ) -> None:
        self._client, self._failures, self._model, self._body, self._read = client, failures, model, body, read

    def entry(self, name: str, request: Request) -> dict[str, Json]:
        """See `Batches.entry`."""
        return {"custom_id": name, "params": merged(self._body(request))}

    async def submit(self, entries: Sequence[dict[str, Json]], _mark: str) -> str:
        """See `Batches.submit`; there is no place for a mark."""
        requests: Any = list(entries)
        return (await self._failures.naming(self._client.messages.batches.create(requests=requests))).id

    async def find(self, _mark: str) -> str | None:
        """None: nobody can tell."""
        return None

    async def state(self, batch: str) -> BatchState:
        """See `Batches.state`."""
        found = await self._failures.naming(self._client.messages.batches.retrieve(batch))
        counts = found.request_counts
        done = counts.succeeded + counts.errored + counts.canceled + counts.expired
        note = f"batch {batch}: {found.processing_status}, {done} of {done + counts.processing}"
        return BatchState(ended=found.processing_status == "ended", note=note)

    async def results(self, batch: str) -> AsyncIterator[Result]:
        """See `Batches.results`."""
        rows = await self._failures.naming(self._client.messages.batches.results(batch))
        try:
            async for row in rows:
                yield row.custom_id, self._result(row.result)
        except self._failures.sdk.APIError as error:
            raise self._failures.named(error) from None
        except (ValueError, AttributeError, RecursionError) as error:
            raise self._failures.unreadable(error) from None

    def _result(self, result: Any) -> Completion | ModelError:
        try:
            kind = getattr(result, "type", None)
            if kind == "succeeded":
                return self._read(result.message, self._failures, None)
            if kind == "errored":
                error = getattr(result.error, "error", None)
                body = {"error": {"message": getattr(error, "message", None), "type": getattr(error, "type", None)}}
                return self._failures.replied(_STATUS.get(str(body["error"]["type"]), 500), body, self._model)
            return TransientError(f"{self._failures.where}: the request {kind or 'is lost'} in its batch")
        except ModelError as error:
            return error
