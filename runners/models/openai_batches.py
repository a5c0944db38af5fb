"""OpenAI's Batch API: requests in an uploaded file of JSON lines, results in a file of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from exe.errors import ModelError, TransientError
from exe.records import Completion, Json
from runners.models.base import Request, clean
from runners.models.batching import BatchState, Result, merged
from runners.models.chat import completion_of
from runners.models.remote import Failures

if TYPE_CHECKING:
    import openai

URL: Literal["/v1/chat/completions"] = "/v1/chat/completions"
WINDOW: Literal["24h"] = "24h"
_MARK = "execution_eval"
_ENDED = frozenset({"completed", "expired", "cancelled", "failed"})
_LISTED = 100


class OpenAIBatches:
    """The batches of one model behind Chat Completions; `body` writes a request's body."""

    def __init__(
        self, client: openai.AsyncOpenAI, failures: Failures, model: str, body: Callable[[Request], dict[str, Any]]
    ) -> None:
        self._client, self._failures, self._model, self._body = client, failures, model, body

    def entry(self, name: str, request: Request) -> dict[str, Json]:
        """See `Batches.entry`."""
        return {"custom_id": name, "method": "POST", "url": URL, "body": merged(self._body(request))}

    async def submit(self, entries: Sequence[dict[str, Json]], mark: str) -> str:
        """See `Batches.submit`."""
        lines = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)
        file = await self._failures.naming(self._client.files.create(file=("requests.jsonl", lines), purpose="batch"))
        batch = await self._failures.naming(
            self._client.batches.create(
                input_file_id=file.id, endpoint=URL, completion_window=WINDOW, metadata={_MARK: mark}
            )
        )
        return batch.id

    async def find(self, mark: str) -> str | None:
        """See `Batches.find`; among the newest hundred."""
        page = await self._failures.naming(self._client.batches.list(limit=_LISTED))
        return next((batch.id for batch in page.data if (batch.metadata or {}).get(_MARK) == mark), None)

    async def state(self, batch: str) -> BatchState:
        """See `Batches.state`."""
        found = await self._failures.naming(self._client.batches.retrieve(batch))
        counts = found.request_counts
        done = f", {counts.completed + counts.failed} of {counts.total}" if counts else ""
        note = f"batch {batch}: {found.status}{done}"
        failure = self._failure(found) if found.status == "failed" else ""
        return BatchState(ended=found.status in _ENDED, note=note, failure=failure)

    async def results(self, batch: str) -> AsyncIterator[Result]:
        """See `Batches.results`."""
        found = await self._failures.naming(self._client.batches.retrieve(batch))
        for file in (found.output_file_id, found.error_file_id):
            if file:
                content = await self._failures.naming(self._client.files.content(file))
                for line in content.text.splitlines():
                    if line.strip():
                        yield self._result(line)

    def _result(self, line: str) -> Result:
        try:
            row = json.loads(line)
            name = row["custom_id"]
            reply = row.get("response") or {}
            status, body, error = reply.get("status_code"), reply.get("body"), row.get("error")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
            raise self._failures.unreadable(fault) from None
        try:
            return name, self._completion(status, body, error)
        except ModelError as fault:
            return name, fault

    def _completion(self, status: Any, body: Any, error: Any) -> Completion:
        if error:
            message = error.get("message") if isinstance(error, dict) else error
            raise TransientError(f"{self._failures.where}: {clean(str(message), self._failures.secrets)}")
        if status != 200:
            return self._failures.replied(status if type(status) is int else 500, body, self._model)
        if not isinstance(body, dict):
            raise self._failures.unreadable("no body")
        return completion_of(body, self._failures, None)

    def _failure(self, batch: Any) -> str:
        errors = getattr(batch.errors, "data", None) or []
        said = "; ".join(str(getattr(error, "message", error)) for error in errors[:3])
        return clean(said or "no reason given", self._failures.secrets)
