"""Length-prefixed frames over pipes, JSON or a job: the one wire format of the sandbox, on both sides."""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

HEADER = struct.Struct(">I")
READ_SIZE = 1 << 16  # below what the C library takes from the kernel and gives back each time


_JOB = struct.Struct(">II???IId16s")
_MARSHAL = 4  # a format that every supported Python reads


class FrameError(ValueError):
    """Bytes that are not a frame we can accept: too long, or not the JSON of an object."""


def pack(payload: bytes) -> bytes:
    """`payload` behind its length: four bytes, big-endian."""
    return HEADER.pack(len(payload)) + payload


def dump(message: dict[str, Any]) -> bytes:
    """One message as a frame: UTF-8 JSON, ASCII only."""
    return pack(json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii"))


def load(payload: bytes) -> dict[str, Any]:
    """The message in a frame's payload. Integers of any size are exact, whatever the interpreter's digit limit."""
    try:
        message = _decode(payload.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"not JSON: {type(error).__name__}: {error}") from None
    if not isinstance(message, dict):
        raise FrameError("not a JSON object")
    return message


class Kind(NamedTuple):
    """How the calls of a job are run: see `exe.records.Job`."""

    trace: bool = False
    batch: bool = False
    cover: bool = False
    witness: int = 0
    steps: int = 0
    cpu: float = 0.0


class JobFrame(NamedTuple):
    """A request as the zygote holds it: what it must know itself, and all of it for the children."""

    number: int
    calls: int  # how many
    trace: bool
    batch: bool
    cover: bool  # tell with each outcome which branches were taken (see `branches.py`)
    witness: int  # the number of the conditions to run under (see `witness.py`), 0 for the ordinary ones
    steps: int  # probes that a call may come to, 0 for no bound
    cpu: float  # seconds a call, 0 for no other limit than the sandbox's
    source: bytes  # a hash of it: jobs with the same one are of the same program
    payload: bytes

    def contents(self) -> tuple[str, Sequence[tuple[str, str | None]]]:
        """The source and the calls, each with its parts (see `calls.split`) or None. For a child to ask, not the zygote."""
        source, calls = marshal.loads(memoryview(self.payload)[_JOB.size :])
        return source, calls


def dump_job(number: int, source: str, calls: Sequence[tuple[str, str | None]], kind: Kind) -> bytes:
    """A request's payload: numbers and flags, then what only the children read, as they read it fastest."""
    digest = hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return _JOB.pack(number, len(calls), *kind, digest) + marshal.dumps((source, tuple(calls)), _MARSHAL)


def load_job(payload: bytes) -> JobFrame:
    """The request in a frame's payload, its contents unread."""
    number, calls, trace, batch, cover, witness, steps, cpu, source = _JOB.unpack_from(payload)
    return JobFrame(number, calls, trace, batch, cover, witness, steps, cpu, source, payload)


def parse_int(text: str, chunk: int = 4000) -> int:
    """`int(text)` without the interpreter's limit on the number of digits, by halves."""
    digits = text.lstrip("-")
    if len(digits) <= chunk:
        return int(text)
    half = len(digits) // 2
    value: int = parse_int(digits[:-half], chunk) * 10**half + parse_int(digits[-half:], chunk)
    return -value if text.startswith("-") else value


_decode = json.JSONDecoder(parse_int=parse_int).decode


class Reader:
    """Collects bytes and cuts them into payloads; refuses a frame longer than `limit` bytes before reading it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.pending = bytearray()

    def feed(self, data: bytes) -> None:
        """Take over bytes that arrived."""
        self.pending += data

    def frames(self) -> Iterator[bytes]:
        """The complete payloads that have arrived; raises FrameError on one that is too long."""
        while len(self.pending) >= HEADER.size:
            (length,) = HEADER.unpack_from(self.pending)
            if length > self.limit:
                raise FrameError(f"frame of {length} bytes, limit {self.limit}")
            end = HEADER.size + length
            if len(self.pending) < end:
                return
            payload = bytes(self.pending[HEADER.size : end])
            del self.pending[:end]
            yield payload


def read_frame(descriptor: int, limit: int) -> bytes | None:
    """One payload from a blocking descriptor; None at its end. Raises FrameError when too long."""
    header = _read_exactly(descriptor, HEADER.size)
    if header is None:
        return None
    (length,) = HEADER.unpack(header)
    if length > limit:
        raise FrameError(f"frame of {length} bytes, limit {limit}")
    return _read_exactly(descriptor, length)


def _read_exactly(descriptor: int, size: int) -> bytes | None:
    data = os.read(descriptor, min(size, READ_SIZE))
    if len(data) == size:
        return data
    parts = bytearray(data)
    while data and len(parts) < size:
        data = os.read(descriptor, min(size - len(parts), READ_SIZE))
        parts += data
    return bytes(parts) if data else None


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything to a blocking descriptor."""
    sent = os.write(descriptor, data)
    while sent < len(data):
        sent += os.write(descriptor, memoryview(data)[sent:])
