"""The state of llama.cpp's slot after the messages that all questions of a run share, kept once and restored each time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import urllib.error
import urllib.request
from dataclasses import replace

from exe.errors import ModelUnavailable, TransientError
from exe.records import Completion, Message
from runners.models.base import Request, clean
from runners.models.openai import OpenAIModel

SLOT = "/slots/0"


class SharedState:
    """Asks the server of one slot; each question starts from the same state, whatever was asked before it.

    Reading the shared messages once saves most of a small question's time. A prompt cache alone would also save it,
    but start at the first token that differs from the question before: answers would depend on the order of questions.
    """

    def __init__(self, server: str, key: str, *, name: str, timeout: float) -> None:
        def client(cached: bool) -> OpenAIModel:
            return OpenAIModel(name, f"{server}/v1", api_key=key, timeout=timeout, extra={"cache_prompt": cached})

        self._from_state, self._from_nothing = client(True), client(False)
        self._server, self._key, self._timeout = server, key, timeout
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._saved: set[str] = set()

    async def complete(self, request: Request) -> Completion:
        """Ask once; one question at a time. Errors as of `Model.complete`."""
        shared = request.messages[: request.shared]
        if not shared:
            return await self._from_nothing.complete(request)
        state = hashlib.sha256(repr(shared).encode()).hexdigest()[:16]
        if state not in self._saved:
            await self._read(request, shared)
            await self._slot("save", state)
            self._saved.add(state)
        await self._slot("restore", state)
        return await self._from_state.complete(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._from_state.aclose()
        await self._from_nothing.aclose()

    async def _read(self, request: Request, shared: tuple[Message, ...]) -> None:
        """Let the model read the shared messages and the first letter of a question."""
        opening = Message(role="user", content=request.messages[len(shared)].content[:1])
        await self._from_nothing.complete(
            replace(request, messages=(*shared, opening), max_tokens=1, schema=None, stop=())
        )

    async def _slot(self, action: str, state: str) -> None:
        request = urllib.request.Request(
            f"{self._server}{SLOT}?action={action}",
            data=json.dumps({"filename": state}).encode(),
            headers={"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"},
        )
        try:
            await asyncio.to_thread(self._send, request)
        except urllib.error.HTTPError as error:
            raise ModelUnavailable(f"the model's server cannot {action} its state: {clean(str(error))}") from None
        except OSError as error:
            raise TransientError(f"the model's server does not answer: {clean(str(error))}") from None

    def _send(self, request: urllib.request.Request) -> None:
        with self._opener.open(request, timeout=self._timeout) as reply:
            reply.read()
