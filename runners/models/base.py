"""The protocol every provider fulfils: one frozen request in, one completion out, named errors between."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from exe.errors import TransientError
from exe.records import Completion, Json, Message, Tool, ToolCompletion


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question as a provider gets it. `case` and `sample` say which attempt it belongs to, None means "not sent".

    The first `shared` messages are the same in every question of the run: a provider may keep what it made of them.
    """

    case: str
    sample: int
    messages: tuple[Message, ...]
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    effort: str | None = None  # reasoning effort, where the provider has such a thing
    schema: dict[str, Json] | None = None  # JSON Schema that the server should hold the answer to
    shared: int = 0
    tool: Tool | None = None  # to be called, once or several times: the reply is a ToolCompletion where it was

    def sha256(self, settings: dict[str, Json]) -> str:
        """Hex digest of everything that decides the reply: this request and the model's `settings`.

        Case and sample are part of it, so that two samples of one prompt never share a stored reply.
        """
        body: dict[str, Any] = {
            "model": settings,
            "case": self.case,
            "sample": self.sample,
            "messages": [[message.role, message.content] for message in self.messages],
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "stop": list(self.stop),
            "effort": self.effort,
            "schema": self.schema,
            "shared": self.shared,
        }
        if self.tool is not None:
            body["tool"] = [self.tool.name, self.tool.description, self.tool.parameters]
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How a run should treat a model by default; no part of its identity.

    `remote` models are asked over a socket: their failures may end a run early and their latency is measured.
    `repairs` says whether an unreadable answer earns one more turn. `few_shot` asks for worked examples in the prompt,
    `structured` for answers held to the schema of the answer format, where the style asks for nothing but the answer.
    `tools` says whether it takes a request's tool.
    """

    remote: bool = True
    repairs: bool = True
    few_shot: bool = False
    structured: bool = False
    tools: bool = False
    max_tokens: int | None = 4096
    concurrency: int = 16


class Model(Protocol):
    """A model under measurement. `settings` is the JSON that identifies it in run.json; it never holds a key."""

    @property
    def name(self) -> str:
        """The MODEL that opens it, without secrets and without paths of this machine."""
        ...

    @property
    def settings(self) -> dict[str, Json]:
        """What identifies this model: provider, model, address, hashes of files."""
        ...

    @property
    def traits(self) -> Traits:
        """Defaults for a run with it."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Ask once, without retrying.

        A context overflow or a content filter is a completion with that `finish_reason` and what text there is.
        Raises TransientError (worth another try), RequestError (this request is refused), AuthError and
        ModelUnavailable (no request can succeed).
        """
        ...

    async def aclose(self) -> None:
        """Give back sockets and processes; safe to call twice."""
        ...


def with_calls(completion: Completion, calls: tuple[str, ...]) -> Completion:
    """The completion together with the arguments of the tool calls in it, the same one where there are none."""
    if not calls:
        return completion
    said: dict[str, Any] = {field.name: getattr(completion, field.name) for field in fields(Completion)}
    return ToolCompletion(**said, calls=calls)


CONTEXT_OVERFLOW = "context_overflow"
CONTENT_FILTER = "content_filter"


class Unreachable(TransientError):
    """Nothing answers at the model's address. Worth a few tries; then the model is unavailable."""


class Overloaded(TransientError):
    """The server asks for less: a rate limit (429) or an overload (503, 529). Fewer requests at once will help."""


_KEY_LIKE = re.compile(r"\b(?:sk|key|pk|rk)[-_][A-Za-z0-9_\-*]{6,}")


def clean(text: str, secrets: tuple[str, ...] = (), limit: int = 300) -> str:
    """One line of at most `limit` characters in which no secret stands, fit for a file or a terminal."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[key]")
    text = _KEY_LIKE.sub("[key]", text)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def file_sha256(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
