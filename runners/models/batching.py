"""Batches of requests, as providers take them at half the price: submitted as one, answered within a day."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from exe.errors import ModelError
from exe.records import Completion, Json
from runners.models.base import Request

MAX_REQUESTS = 20_000
MAX_BYTES = 90_000_000
"""What is put into one batch; providers take 50,000 to 100,000 requests and 200 MB or more."""

Result = tuple[str, Completion | ModelError]
"""The id of a request in its batch, and what became of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState:
    """Where a batch is. `note` is for people; `failure` says why it gives no results at all, empty where it gives some."""

    ended: bool
    note: str
    failure: str = ""


def merged(body: dict[str, Any]) -> dict[str, Json]:
    """A request's body as it is sent: what the SDK is told to add to it is part of it."""
    return {**{name: value for name, value in body.items() if name != "extra_body"}, **body.get("extra_body", {})}


class Batches(Protocol):
    """The batches of one model. Every method raises what `Model.complete` raises."""

    def entry(self, name: str, request: Request) -> dict[str, Json]:
        """A request as a batch has it; `name` is of letters, digits, `-` and `_`, at most 64."""
        ...

    async def submit(self, entries: Sequence[dict[str, Json]], mark: str, /) -> str:
        """Hand in a batch under a mark of ours, where the provider takes one; its id."""
        ...

    async def find(self, mark: str, /) -> str | None:
        """The id of the batch that was handed in under this mark; None where there is none, or nobody can tell."""
        ...

    async def state(self, batch: str) -> BatchState:
        """Where a batch is now."""
        ...

    def results(self, batch: str) -> AsyncIterator[Result]:
        """What became of each request of a batch that has ended, in any order."""
        ...


@runtime_checkable
class Batching(Protocol):
    """A model that takes batches."""

    @property
    def batches(self) -> Batches:
        """They."""
        ...
