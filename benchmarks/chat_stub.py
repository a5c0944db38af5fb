"""A server on loopback that answers every chat completion with one text after a fixed time, as cheaply as it can.

    python benchmarks/chat_stub.py LATENCY_SECONDS [ANSWER]

Prints its port, serves until its standard input ends, then prints one JSON object: requests, and the most at work at once.
"""

from __future__ import annotations

import asyncio
import json
import sys

ANSWER = '{"value": 7}'


class Counts:
    """What the server has seen."""

    def __init__(self) -> None:
        self.requests = self.at_work = self.peak = 0


class Chat(asyncio.Protocol):
    """One connection. A request is its head, then as many bytes as `content-length` says."""

    def __init__(self, reply: bytes, latency: float, counts: Counts) -> None:
        self._reply, self._latency, self._counts = reply, latency, counts
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Bytes of a client: each whole request is answered when its time has come."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(b"\r\ncontent-length:")
            length = int(head[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            self._counts.requests += 1
            self._counts.at_work += 1
            self._counts.peak = max(self._counts.peak, self._counts.at_work)
            asyncio.get_running_loop().call_later(self._latency, self._answer)

    def _answer(self) -> None:
        self._counts.at_work -= 1
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(self._reply)


def reply(answer: str) -> bytes:
    """The whole reply as it goes over the wire."""
    body = {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": answer}, "logprobs": None, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 300, "completion_tokens": 8, "total_tokens": 308},
    }
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


async def main() -> None:
    """Serve."""
    latency = float(sys.argv[1])
    text = reply(sys.argv[2] if len(sys.argv) > 2 else ANSWER)
    counts = Counts()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Chat(text, latency, counts), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    print(json.dumps({"requests": counts.requests, "peak": counts.peak}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
