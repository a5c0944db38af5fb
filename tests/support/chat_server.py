"""A real HTTP server on loopback that speaks Chat Completions, Responses and Messages, with faults on demand."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What one request gets. `body` None is a proper completion with `text`; `fault` is "hang", "cut" or "drip"."""

    text: str = '{"value": 0}'
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    finish_reason: str = "stop"
    message: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    fault: str = ""
    delay: float = 0.0
    model: str | None = None  # None: the one that was asked for


Behaviour = Callable[[dict[str, Any], int], Reply]


class ChatServer:
    """`requests` are the bodies received, `keys` their keys as sent, `at_work` and `peak` how many at once, now and at most."""

    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.peak = 0
        self.at_work = 0
        self.lock = threading.Lock()
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer.answer(self)

            def log_message(self, *_args: object) -> None:
                """Quiet."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_args: object) -> None:
                """A client that went away is what several tests are about."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self.lock:
            number = len(self.requests)
            self.requests.append(body)
            self.keys.append(handler.headers.get("Authorization") or handler.headers.get("x-api-key"))
            self.at_work += 1
            self.peak = max(self.peak, self.at_work)
        try:
            reply = self.behave(body, number)
            if reply.delay:
                self.released.wait(reply.delay)
            self.send(handler, reply, body)
        finally:
            with self.lock:
                self.at_work -= 1

    def send(self, handler: BaseHTTPRequestHandler, reply: Reply, request: dict[str, Any]) -> None:
        if reply.fault == "hang":
            self.released.wait(60)
            handler.close_connection = True
            return
        write = FORMS.get(handler.path.rpartition("/")[2], completion)
        data = reply.body if reply.body is not None else write(reply, request)
        handler.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        if reply.fault == "cut":
            handler.wfile.write(data[: len(data) // 2])
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        if reply.fault == "drip":
            for byte in data:
                handler.wfile.write(bytes([byte]))
                handler.wfile.flush()
                if self.released.wait(0.05):
                    return
            return
        handler.wfile.write(data)


def completion(reply: Reply, request: dict[str, Any]) -> bytes:
    message = {"role": "assistant", "content": reply.text, **reply.message}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": reply.model or request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": reply.usage or {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }
    return json.dumps(body).encode()


def message(reply: Reply, request: dict[str, Any]) -> bytes:
    """A reply of the Messages API; `reply.message` replaces members of it."""
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": reply.model or request["model"],
        "content": [{"type": "text", "text": reply.text}],
        "stop_reason": "end_turn" if reply.finish_reason == "stop" else reply.finish_reason,
        "stop_sequence": None,
        "usage": reply.usage or {"input_tokens": 11, "output_tokens": 3},
        **reply.message,
    }
    return json.dumps(body).encode()


def response(reply: Reply, request: dict[str, Any]) -> bytes:
    """A reply of the Responses API; `reply.message` replaces members of it."""
    said = {"type": "output_text", "text": reply.text, "annotations": []}
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": reply.model or request["model"],
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "output": [
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]},
        ],
        "usage": reply.usage or {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14},
        **reply.message,
    }
    return json.dumps(body).encode()


FORMS = {"messages": message, "responses": response}


def error_body(message: str, code: str | int | None = None, kind: str = "error") -> bytes:
    return json.dumps({"error": {"message": message, "type": kind, "code": code}}).encode()


@contextmanager
def chat_server(behave: Behaviour) -> Iterator[ChatServer]:
    server = ChatServer(behave)
    thread = threading.Thread(target=server.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.server.shutdown()
        server.server.server_close()
        thread.join(5)


def closed_port() -> int:
    """A loopback port on which nothing listens: bound once, then closed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
