"""The tolerant reader: what it takes, what it refuses, where a search goes on."""

from __future__ import annotations

import math
import time

import pytest

from exe.grading.reader import MAX_HASHED, read

READ = [
    ('{"a": [1, 2.5, "x", null, true]}', {"a": [1, 2.5, "x", None, True]}, set()),
    ("{'k': \"it's\"}", {"k": "it's"}, {"python literal"}),
    ("[(1, 2), (3,), (4), ()]", [(1, 2), (3,), 4, ()], {"python literal"}),
    ("{1, 'a'}", {1, "a"}, {"python literal"}),
    ("[{}, set(), {1: None}]", [{}, set(), {1: None}], {"python literal"}),
    ("[frozenset({1, 2})]", [frozenset({1, 2})], {"python literal"}),
    ('["a,]", 1,]', ["a,]", 1], {"trailing comma"}),
    ('{"a": 1, // one\n "b": 2 /* two */}', {"a": 1, "b": 2}, {"comment"}),
    ("[1, # one\n 2]", [1, 2], {"comment"}),
    ('"a\nb"', "a\nb", {"control character"}),
    ("[1e400, -1e400]", [math.inf, -math.inf], set()),
    ("[-Infinity, INF, -inf]", [-math.inf, math.inf, -math.inf], {"number token"}),
    ("[0x1F, 0b11, 1_000, +1, .5, 00]", [31, 3, 1000, 1, 0.5, 0], {"python literal"}),
    ("[1+2j, 1 - 2j, -3j]", [1 + 2j, 1 - 2j, -3j], {"python literal"}),
    (r'"\ud83d\ude00\/"', "\U0001f600/", set()),
    (r"'\x41\101\N{BULLET}\d'", r"AA•\d", {"python literal"}),
    (r"b'\xff\u0041'", b"\xff\\u0041", {"python literal"}),
    (r"r'\n'", r"\n", {"python literal"}),
]


@pytest.mark.parametrize(("text", "value", "notes"), READ, ids=[text for text, _, _ in READ])
def test_reads(text: str, value: object, notes: set[str]) -> None:
    reading = read(text)
    assert (reading.status, reading.end, set(reading.notes)) == ("complete", len(text), notes)
    assert reading.value == value
    assert type(reading.value) is type(value)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[1,,2]", 3),
        ('{"a" 1}', 5),
        ('{"a": }', 6),
        ("[,]", 1),
        ("[1, 2: 3]", 5),
        ("{1, 2: 3}", 5),
        ("[3 + 4]", 3),
        ('["a" + "b"]', 5),
        ('["a" "b"]', 5),
        ("[3 // 2]", 3),
        ("[tru]", 1),
        ("[007]", 4),
        ("[1.5.3]", 1),
        ("[f(1)]", 1),
        ("(1]", 2),
        ("['a\n']", 1),
    ],
)
def test_breaks_where_the_syntax_ends(text: str, where: int) -> None:
    reading = read(text)
    assert (reading.status, reading.end, reading.truncated) == ("broken", where, False)


@pytest.mark.parametrize("text", ["[1", "[", '{"a', '{"a": "b', "{'a': [1, ", '["a\\"', "[1 # c"])
def test_knows_that_the_end_of_the_text_cut_it(text: str) -> None:
    reading = read(text)
    assert (reading.status, reading.truncated) == ("broken", True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 1}}', "duplicate key 'c'"),
        ("{1: 0, True: 1}", "duplicate key True"),
        ("[{[1]: 2}, 3]", "unhashable key or element list"),
        ("{{}, 1}", "unhashable key or element dict"),
        (r"['\ud']", "an unfinished escape \\u"),
        (r"['\N{NO SUCH NAME}']", "no character is named 'NO SUCH NAME'"),
        ("[b'ä']", "bytes with characters beyond ASCII"),
        ("[" + "9" * 200_001 + "]", "an integer of more than 200000 digits"),
    ],
)
def test_refuses_what_it_can_follow(text: str, reason: str) -> None:
    reading = read(text)
    assert (reading.status, reading.reason, reading.end) == ("invalid", reason, len(text))


def test_integers_beyond_the_interpreters_limit_are_exact() -> None:
    value = read("[-" + "9" * 5000 + "]").value[0]
    assert value == 1 - 10**5000


@pytest.mark.parametrize(("depth", "status"), [(200, "complete"), (201, "invalid"), (100_000, "invalid")])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("(", ",)"), ('{"a":', "}")])
def test_depth_is_bounded(depth: int, status: str, opening: str, closing: str) -> None:
    assert read(opening * depth + "1" + closing * depth).status == status


def test_colliding_hashes_do_not_stall_it() -> None:
    text = "{" + ",".join(str(i * (2**61 - 1)) for i in range(8_000)) + "}"
    started = time.process_time()
    reading = read(text)
    assert (reading.status, reading.reason) == (
        "invalid",
        f"more than {MAX_HASHED} keys or set elements that are not strings",
    )
    assert time.process_time() - started < 5


def test_a_failed_reading_resumes_before_text_that_it_may_have_swallowed() -> None:
    text = '{"value": "never closed\n{"value": 3}'
    reading = read(text)
    assert reading.status == "broken"
    assert text[reading.resume :].startswith('\n{"value": 3}')
