"""A real HTTP server on loopback that takes batches as OpenAI and as Anthropic do; a batch ends after some looks at it."""

from __future__ import annotations

import email.parser
import email.policy
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.chat_server import Reply, completion, message

Decide = Callable[[dict[str, Any]], Reply | None]
"""The body of one request in a batch → what it gets; None: the batch expires before it."""


@dataclass
class Batch:
    id: str
    requests: list[dict[str, Any]]
    metadata: dict[str, str]
    looks: int = 0


@dataclass
class BatchServer:
    """`batches` are those handed in. `patience` looks find a batch at work, the next one its end. `refuse` fails whole batches."""

    decide: Decide
    patience: int = 1
    refuse: str = ""
    batches: dict[str, Batch] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    url: str = ""
    fail_next: int = 0  # so many requests get 503
    lock: threading.Lock = field(default_factory=threading.Lock)

    def respond(self, method: str, path: str, body: bytes, content_type: str) -> tuple[int, bytes]:
        with self.lock:
            if self.fail_next:
                self.fail_next -= 1
                return 503, b'{"error": {"message": "overloaded", "type": "overloaded_error"}}'
            parts = path.partition("?")[0].strip("/").split("/")[1:]
            match (method, parts):
                case ("POST", ["files"]):
                    name = f"file-{len(self.files)}"
                    self.files[name] = _uploaded(body, content_type)
                    found: Any = {"id": name, "object": "file", "bytes": len(body), "created_at": 1}
                    found |= {"filename": "requests.jsonl", "purpose": "batch", "status": "processed"}
                case ("POST", ["batches"]):
                    asked = json.loads(body)
                    rows = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
                    found = self._openai(self._added(rows, asked.get("metadata") or {}))
                case ("GET", ["batches"]):
                    data = [self._openai(batch) for batch in reversed(self.batches.values())]
                    found = {"object": "list", "data": data, "has_more": False}
                case ("GET", ["batches", name]):
                    found = self._openai(self._looked_at(name))
                case ("GET", ["files", name, "content"]):
                    return 200, self._file(name)
                case ("POST", ["messages", "batches"]):
                    found = self._anthropic(self._added(json.loads(body)["requests"], {}))
                case ("GET", ["messages", "batches", name]):
                    found = self._anthropic(self._looked_at(name))
                case ("GET", ["messages", "batches", name, "results"]):
                    return 200, b"".join(_line(self._message_row(row)) for row in reversed(self.batches[name].requests))
                case _:
                    return 404, b'{"error": {"message": "no such place"}}'
            return 200, json.dumps(found).encode()

    def _added(self, rows: list[dict[str, Any]], metadata: dict[str, str]) -> Batch:
        batch = Batch(f"batch_{len(self.batches)}", rows, metadata)
        self.batches[batch.id] = batch
        return batch

    def _looked_at(self, name: str) -> Batch:
        self.batches[name].looks += 1
        return self.batches[name]

    def _ended(self, batch: Batch) -> bool:
        return batch.looks > self.patience

    def _openai(self, batch: Batch) -> dict[str, Any]:
        status = "failed" if self.refuse else "completed" if self._ended(batch) else "in_progress"
        ended = status == "completed"
        errors = {"object": "list", "data": [{"code": "bad", "message": self.refuse}]} if self.refuse else None
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "errors": errors,
            "input_file_id": "file-0",
            "completion_window": "24h",
            "status": status,
            "output_file_id": f"out-{batch.id}" if ended else None,
            "error_file_id": f"err-{batch.id}" if ended else None,
            "created_at": 1,
            "request_counts": {"total": len(batch.requests), "completed": 0, "failed": 0},
            "metadata": batch.metadata,
        }

    def _file(self, name: str) -> bytes:
        """Good results in one file, the others in another, the last request first."""
        kind, _, batch = name.partition("-")
        rows = [self._chat_row(row) for row in reversed(self.batches[batch].requests)]
        good = [bool(row["response"]) and row["response"]["status_code"] == 200 for row in rows]
        return b"".join(_line(row) for row, fine in zip(rows, good, strict=True) if fine is (kind == "out"))

    def _chat_row(self, row: dict[str, Any]) -> dict[str, Any]:
        reply = self.decide(row["body"])
        found = {"id": "r", "custom_id": row["custom_id"], "response": None, "error": None}
        if reply is None:
            return {**found, "error": {"code": "batch_expired", "message": "the batch expired"}}
        body = json.loads(reply.body if reply.body is not None else completion(reply, row["body"]))
        return {**found, "response": {"status_code": reply.status, "request_id": "q", "body": body}}

    def _anthropic(self, batch: Batch) -> dict[str, Any]:
        ended = self._ended(batch)
        counts = dict.fromkeys(("canceled", "errored", "expired", "processing", "succeeded"), 0)
        counts["succeeded" if ended else "processing"] = len(batch.requests)
        times = {"created_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-02T00:00:00Z"}
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            **times,
            "ended_at": times["created_at"] if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.url}/v1/messages/batches/{batch.id}/results" if ended else None,
        }

    def _message_row(self, row: dict[str, Any]) -> dict[str, Any]:
        reply = self.decide(row["params"])
        result: dict[str, Any]
        if reply is None:
            result = {"type": "expired"}
        elif reply.status != 200:
            result = {"type": "errored", "error": {"type": "error", **json.loads(reply.body or b"{}")}}
        else:
            result = {"type": "succeeded", "message": json.loads(message(reply, row["params"]))}
        return {"custom_id": row["custom_id"], "result": result}


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def _uploaded(body: bytes, content_type: str) -> bytes:
    """The file of a multipart form."""
    parser = email.parser.BytesParser(policy=email.policy.HTTP)
    form = parser.parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    parts = [part for part in form.iter_parts() if part.get_filename()]
    found = parts[0].get_payload(decode=True)
    assert isinstance(found, bytes)
    return found


@contextmanager
def batch_server(decide: Decide, **changes: Any) -> Iterator[BatchServer]:
    outer = BatchServer(decide, **changes)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, data = outer.respond(self.command, self.path, body, self.headers.get("Content-Type") or "")
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _any

        def log_message(self, *_args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    outer.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield outer
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
