from __future__ import annotations

import os
import sys

import pytest

from exe.sandbox import frames, supervise


def test_round_trip_in_pieces() -> None:
    messages = [{"a": 1}, {"text": "ü\n\ud800"}, {}]
    data = b"".join(map(frames.dump, messages))
    reader, seen = frames.Reader(1000), []
    for byte in data:
        reader.feed(bytes([byte]))
        seen += [frames.load(payload) for payload in reader.frames()]
    assert seen == messages


def test_a_long_frame_is_refused_by_its_header_alone() -> None:
    reader = frames.Reader(10)
    reader.feed(frames.HEADER.pack(11))
    with pytest.raises(frames.FrameError, match="11 bytes, limit 10"):
        list(reader.frames())


@pytest.mark.parametrize("payload", [b"", b"[1]", b"{", b"\xff", b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"])
def test_what_is_no_object_is_refused(payload: bytes) -> None:
    with pytest.raises(frames.FrameError):
        frames.load(payload)


@pytest.mark.parametrize("digits", [1, 3999, 4001, 9001])
@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_are_exact(digits: int, sign: str) -> None:
    before = sys.get_int_max_str_digits()
    value = int(sign + "1") * (10 ** (digits - 1) + 7)
    sys.set_int_max_str_digits(0)
    try:
        text = str(value)
    finally:
        sys.set_int_max_str_digits(before)
    assert frames.load(b'{"a":' + text.encode() + b"}") == {"a": value}


def test_blocking_read_ends_at_the_end() -> None:
    read, write = os.pipe()
    frames.write_all(write, frames.dump({"a": 1}) + b"\0\0")
    os.close(write)
    assert frames.read_frame(read, 100) == b'{"a":1}'
    assert frames.read_frame(read, 100) is None
    os.close(read)


def test_a_job_arrives_as_it_was_sent() -> None:
    calls = [("f('ü\ud800')", None), ("f(1)", "((f), ((1), ), {})")]
    kind = frames.Kind(batch=True, witness=3, steps=9, cpu=0.5)
    job = frames.load_job(frames.dump_job(7, "def f(x): return x", calls, kind))
    assert job[:8] == (7, 2, *kind)
    assert job.source == frames.load_job(frames.dump_job(8, "def f(x): return x", [], kind)).source
    assert job.source != frames.load_job(frames.dump_job(7, "def f(y): return y", calls, kind)).source
    assert job.contents() == ("def f(x): return x", tuple(calls))


NONCE = bytes(range(2, 18))


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (NONCE + b"V\0\0\0\2{}", (b"V", b"{}")),
        (NONCE + b"V\0\0\0\2{}junk", None),
        (NONCE + b"V\0\0\0\3{}", None),
        (NONCE + b"C\0\0\0\2{}", None),
        (NONCE + b"V\0\0\0\2\n}", None),
        (b"n" * 16 + b"V\0\0\0\2{}", None),
        (b"", None),
    ],
)
def test_one_report_and_nothing_else(data: bytes, found: tuple[bytes, bytes] | None) -> None:
    assert supervise.whole(data, NONCE) == found
