"""A model that proposes inputs behind a server in trouble: retried by name and count, told, interrupted, capped; nothing answered is lost."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from exe.inputs.model.reading import LONGEST
from tests.e2e.test_model_generator import answer, build, cases, project, right
from tests.support.chat_server import Reply, chat_server, completion, error_body
from tests.support.command import exe, start

__all__ = ["project"]

TROUBLE: dict[str, Reply] = {
    "rate limit": Reply(status=429, body=error_body("slow down"), headers={"Retry-After": "0.1"}),
    "overload": Reply(status=503, body=error_body("busy")),
    "server error": Reply(status=500, body=error_body("oops")),
    "no JSON": Reply(body=b"<html>It works!</html>"),
    "empty body": Reply(body=b""),
    "other JSON": Reply(body=b'{"choices": []}'),
    "cut body": Reply(fault="cut"),
}


def measured(project: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.parent / "tasks/mine/measurements.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_that_passes_is_retried_and_counted(name: str, project: Path) -> None:
    with chat_server(lambda body, number: TROUBLE[name] if number in (0, 1) else right(body)) as server:
        done = build(project, server)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 4  # two functions, two retries
    assert min(cases(project).values()) >= 10
    rows = [row["generation"] for row in measured(project)]
    assert sum(row["requests"] for row in rows) == pytest.approx(2)
    assert sum(row["retries"] for row in rows) == pytest.approx(2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(status=500, body=error_body("oops")), "says 500: oops"),
        (Reply(fault="hang"), "did not"),
    ],
)
def test_trouble_that_stays_ends_the_build_in_one_line_and_the_same_command_resumes(
    reply: Reply, words: str, project: Path
) -> None:
    broken = True

    def behave(body: dict[str, Any], _number: int) -> Reply:
        return reply if broken and "`cut`" in body["messages"][1]["content"] else right(body)

    with chat_server(behave) as server:
        done = build(project, server, "--timeout", "1", "--quiet")
        assert done.returncode == 3
        assert done.stderr.count("\n") == 1
        assert words in done.stderr
        assert "same command" in done.stderr
        broken = False
        answered = sum("`merged`" in body["messages"][1]["content"] for body in server.requests)
        assert answered == 1
        server.requests.clear()
        assert build(project, server).returncode == 0
        assert len(server.requests) == 1


def test_a_refused_key_ends_the_build_at_once(project: Path) -> None:
    with chat_server(lambda _body, _number: Reply(status=401, body=error_body("bad key"))) as server:
        done = build(project, server, "--quiet")
        assert (done.returncode, len(server.requests)) == (2, 1)
    assert "bad key" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_answer_that_is_far_too_long_is_told_and_not_sent_back(project: Path) -> None:
    long = '{"inputs": [' + '{"a": 1}, ' * LONGEST

    def behave(body: dict[str, Any], _number: int) -> Reply:
        first = "`merged`" in body["messages"][1]["content"] and len(body["messages"]) == 2
        return Reply(text=long) if first else right(body)

    with chat_server(behave) as server:
        done = build(project, server)
        assert done.returncode == 0, done.stderr
        again = next(body for body in server.requests if len(body["messages"]) == 4)
        assert f"at most {LONGEST} are read" in again["messages"][3]["content"]
        assert len(again["messages"][2]["content"]) < LONGEST
    assert min(cases(project).values()) >= 10


def test_an_answer_that_breaks_off_gives_its_whole_inputs(project: Path) -> None:
    def behave(body: dict[str, Any], _number: int) -> Reply:
        text = right(body).text
        return Reply(text=text[: len(text) // 2], finish_reason="length") if len(body["messages"]) == 2 else answer([])

    with chat_server(behave) as server:
        assert build(project, server).returncode == 0
        told = [body["messages"][3]["content"] for body in server.requests if len(body["messages"]) == 4]
        assert all("breaks off" in text and "at least 10" in text for text in told)
    assert min(cases(project).values()) >= 4


def test_a_cap_on_tokens(project: Path) -> None:
    with chat_server(lambda body, _number: right(body)) as server:
        done = build(project, server, "--max-tokens", "10")
        assert done.returncode == 3
        assert "--max-tokens 10 is reached" in done.stderr
        assert build(project, server, "--max-tokens", "10").returncode == 0
        assert len(server.requests) == 2


def test_a_cap_on_cost_stops_what_has_a_price_and_refuses_what_has_none(project: Path) -> None:
    with chat_server(lambda body, _number: right(body)) as server:
        unpriced = build(project, server, "--max-cost", "1")
        assert (unpriced.returncode, len(server.requests)) == (2, 0)
        assert "state it with --price" in unpriced.stderr
        done = build(
            project, server, "--max-cost", "0.00001", "--price", "1,2"
        )  # a question of 11 tokens, an answer of 3
        assert done.returncode == 3
        assert "--max-cost 1e-05 is reached" in done.stderr
        assert len(server.requests) == 1
        assert build(project, server, "--max-cost", "1", "--price", "1,2").returncode == 0
        assert len(server.requests) == 2
    cost = sum(row["generation"]["cost_usd"] for row in measured(project))
    assert cost == pytest.approx(2 * 17e-6, rel=1e-3)


def test_a_cap_on_cost_cannot_be_held_where_tokens_are_not_counted(project: Path) -> None:
    def behave(body: dict[str, Any], _number: int) -> Reply:
        whole = json.loads(completion(right(body), body))
        del whole["usage"]
        return Reply(body=json.dumps(whole).encode())

    with chat_server(behave) as server:
        done = build(project, server, "--max-cost", "1", "--price", "1,2")
        assert (done.returncode, len(server.requests)) == (3, 1)
        assert "without a count of tokens" in done.stderr


def test_ctrl_c_loses_no_answer_and_asks_none_twice(project: Path) -> None:
    asked: list[str] = []

    def behave(body: dict[str, Any], _number: int) -> Reply:
        asked.append(json.dumps(body["messages"]))
        slow = "`merged`" in body["messages"][1]["content"] and len(asked) <= 2
        reply = answer([]) if len(body["messages"]) == 2 else right(body)
        return Reply(text=reply.text, delay=30.0 if slow and len(body["messages"]) == 4 else 0.0)

    with chat_server(behave) as server:
        arguments = ("build", f"path:{project}", "--set", "mine", "--generator", f"openai:m@{server.url}")
        process = start(*arguments, "--workers", "1", cwd=project.parent)
        until = time.monotonic() + 60
        while len(asked) < 2 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "same command resumes" in told
        first = Counter(asked)
        del asked[:]
        done = exe(*arguments, "--workers", "1", cwd=project.parent)
        assert done.returncode == 0, done.stderr
        again = Counter(asked)
    assert set(again.values()) == {1}
    assert sum((first & again).values()) <= 1  # the one question that Ctrl-C cut off before its answer came
    assert min(cases(project).values()) >= 10


SMALL = """
def scaled(size: int, unit: int = 3) -> int:
    if size < 0:
        raise ValueError("negative")
    return size * unit + 1
"""


@pytest.mark.slow
@pytest.mark.network
def test_the_embedded_model_proposes(project: Path) -> None:
    """It is small and repeats itself: what holds is that every case is a proposal of its, and that counts add up."""
    pytest.importorskip("xllamacpp")
    (project / "demo.py").write_text(SMALL)
    done = exe(
        "build", f"path:{project}", "--set", "mine", "--generator", "local", "--workers", "1", "--cases", "5",
        "--timeout", "300", cwd=project.parent, timeout=1200,
    )  # fmt: skip
    if done.returncode == 2 and "cannot be had" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    folder = project.parent / "tasks/mine"
    rows = [json.loads(line) for line in (folder / "completions.jsonl").read_text().splitlines()]
    said = " ".join(row["completion"]["text"] for row in rows)
    assert rows
    assert {row["model"] for row in rows} == {"local"}
    found = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    for case in found:
        assert case["generator"] == "local"
        assert all(json.dumps(value) in said for value in case["arguments"].values())
    spent = [row["generation"] for row in measured(project)]
    assert len(spent) == len(found)
    assert sum(row["requests"] for row in spent) <= len(rows) + 1e-6
    rejections = [json.loads(line) for line in (folder / "rejections.jsonl").read_text().splitlines()]
    told = {row["subject"].rpartition(":")[2] for row in rejections if row["stage"] == "generate"}
    programs = [json.loads(line)["origin"]["qualname"] for line in (folder / "programs.jsonl").read_text().splitlines()]
    assert {*told, *programs} >= {"scaled"}
