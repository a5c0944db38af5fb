"""Runs by a provider's batches, over real sockets: nothing asked twice, nothing lost, half the price."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from exe.errors import IncompleteError, UsageError
from exe.records import Attempt
from exe.taskset import read_set as load
from runners import results
from runners.batch import FILE, read_journal
from runners.job import RunSettings
from runners.models import open_model
from runners.prices import Given
from runners.run import RunSummary, run
from tests.support import tasks
from tests.support.batch_server import BatchServer, batch_server
from tests.support.chat_server import Reply, chat_server, error_body
from tests.support.command import start
from tests.support.questions import FAST

PROVIDERS = ("openai", "anthropic")


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdefghij")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0123456789abcdefghij")


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return tasks.write_set(tmp_path / "set", programs=4, cases=5)


def spec(provider: str, server: BatchServer) -> str:
    return f"{provider}:m1@{server.url}" + ("/v1" if provider == "openai" else "")


def solve(body: dict[str, Any]) -> Reply:
    """The right answer to a question about the demo programs; the case a=10, b=3 needs its second turn."""
    text = body["messages"][0]["content"] if len(body["messages"]) < 3 else body["messages"][-3]["content"]
    a, b = (int(number) for number in re.findall(r"add_\d+\(a=(-?\d+), b=(-?\d+)\)", text)[-1])
    n = int(re.findall(r"def add_(\d+)", text)[-1])
    if b == 3 and "could not be read" not in body["messages"][-1]["content"]:
        return Reply("no idea")
    if b < 0:
        return Reply('{"error": {"code": "ValueError", "message": "negative"}}')
    return Reply(json.dumps({"value": a + b + n}))


def batched(model: str, folder: Path, out: Path, **changes: Any) -> RunSummary:
    settings = RunSettings(**{"policy": FAST, "batch": True, "poll": 0.01, **changes})
    return run(open_model(model), load(folder), settings, out)


def stored(done: RunSummary) -> list[Attempt]:
    return list(results.read_attempts(done.folder / results.ATTEMPTS))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_two_batches_make_the_run(provider: str, demo: Path, tmp_path: Path) -> None:
    with batch_server(solve) as server:
        done = batched(spec(provider, server), demo, tmp_path / "out", price=Given(input=1000, output=1000))
        assert [len(batch.requests) for batch in server.batches.values()] == [20, 4]
        again = batched(spec(provider, server), demo, tmp_path / "out", price=Given(input=1000, output=1000))
        assert (again.asked, again.reused, len(server.batches)) == (0, 20, 2)
    found = stored(done)
    assert (done.score.verdicts["correct"], done.planned) == (20, 20)
    assert sum(one.repair is not None for one in found) == 4
    assert all(one.completion and one.completion.latency_ms is None for one in found)
    assert not read_journal(done.folder / FILE).open


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_batch_says_what_single_requests_say(provider: str, demo: Path, tmp_path: Path) -> None:
    def told(done: RunSummary) -> list[tuple[Any, ...]]:
        return [
            (one.case, one.answer, one.verdict, one.completion and one.completion.usage, one.repair and one.repair.text)
            for one in stored(done)
        ]

    with batch_server(solve) as server, chat_server(lambda body, _number: solve(body)) as single:
        whole = batched(spec(provider, server), demo, tmp_path / "a")
        address = single.url if provider == "openai" else single.url.removesuffix("/v1")
        model = open_model(f"{provider}:m1@{address}")
        assert told(run(model, load(demo), RunSettings(policy=FAST), tmp_path / "b")) == told(whole)
    sent = server.batches["batch_0"].requests[0]
    body = sent.get("body") or sent["params"]
    assert {"model", "messages"} <= set(body)
    assert "extra_body" not in body
    assert body["temperature"] == 0.0
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", sent["custom_id"])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_a_batch_did_not_answer_is_failed_and_asked_again(provider: str, demo: Path, tmp_path: Path) -> None:
    trouble = [True]

    def decide(body: dict[str, Any]) -> Reply | None:
        text = body["messages"][0]["content"]
        if trouble[0] and "def add_1" in text:
            return None
        if trouble[0] and "def add_2" in text:
            return Reply(status=500, body=error_body("oops", kind="api_error"))
        return solve(body)

    with batch_server(decide) as server:
        first = batched(spec(provider, server), demo, tmp_path / "out")
        assert (first.score.verdicts["failed"], first.score.complete) == (10, False)
        trouble[0] = False
        second = batched(spec(provider, server), demo, tmp_path / "out")
        assert (second.score.verdicts["correct"], second.asked) == (20, 10)
        asked = Counter(row["custom_id"] for batch in server.batches.values() for row in batch.requests)
    assert sum(asked.values()) == 20 + 2 + 10 + 2  # the second turns of two programs each time


@pytest.mark.parametrize("provider", PROVIDERS)
def test_overflow_in_a_batch_is_an_answer(provider: str, demo: Path, tmp_path: Path) -> None:
    body = error_body("prompt is too long: 9 tokens > 8 maximum", kind="invalid_request_error")
    with batch_server(lambda _body: Reply(status=400, body=body)) as server:
        done = batched(spec(provider, server), demo, tmp_path / "out", limit=2)
    assert {(one.verdict, one.reason) for one in stored(done)} == {("truncated", "context overflow, empty")}


def test_half_the_listed_price(demo: Path, tmp_path: Path) -> None:
    """The listed price is a single request's; the price that somebody states is what they pay."""
    with batch_server(solve) as server:
        stated = batched(spec("openai", server), demo, tmp_path / "out", price=Given(input=1000, output=1000), repair=0)
    described = results.read_run(stated.folder)
    assert described["environments"][0]["prices"]["source"] == "given"
    assert {one.completion and one.completion.cost_usd for one in stored(stated)} == {0.014}


def test_a_refused_batch_is_named_and_handed_in_again(demo: Path, tmp_path: Path) -> None:
    with batch_server(solve, refuse="line 3 is bad") as server:
        with pytest.raises(IncompleteError, match="line 3 is bad"):
            batched(spec("openai", server), demo, tmp_path / "out")
        server.refuse = ""
        assert batched(spec("openai", server), demo, tmp_path / "out").score.complete


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_overloaded_server_is_asked_again(provider: str, demo: Path, tmp_path: Path) -> None:
    with batch_server(solve, fail_next=3) as server:
        assert batched(spec(provider, server), demo, tmp_path / "out").score.verdicts["correct"] == 20
        assert len(server.batches) == 2


def test_models_without_batches_and_caps_that_do_not_fit(demo: Path, tmp_path: Path) -> None:
    with batch_server(solve) as server:
        with pytest.raises(UsageError, match="takes none"):
            run(open_model("baseline:null"), load(demo), RunSettings(batch=True), tmp_path / "out")
        price = Given(input=1000, output=1000)
        with pytest.raises(UsageError, match="this batch may come to"):
            batched(spec("openai", server), demo, tmp_path / "out", max_cost=0.5, price=price)
        with pytest.raises(UsageError, match="--max-total-tokens 9"):
            batched(spec("openai", server), demo, tmp_path / "out", max_total_tokens=9)
        assert server.batches == {}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_batch_outlives_the_process_that_handed_it_in(provider: str, demo: Path, tmp_path: Path) -> None:
    with batch_server(solve, patience=10**9) as server:
        arguments = ("run", spec(provider, server), "--set", str(demo), "--batch", "--out", str(tmp_path / "out"))
        process = start(*arguments, cwd=tmp_path)
        deadline = time.monotonic() + 60
        while not any(batch.looks for batch in server.batches.values()):
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        server.patience = 0
        (journal,) = (tmp_path / "out").rglob(FILE)
        assert [one.batch for one in read_journal(journal).open.values()] == ["batch_0"]
        with pytest.raises(UsageError, match="--batch fetches it"):
            run(open_model(spec(provider, server)), load(demo), RunSettings(policy=FAST), tmp_path / "out")
        done = batched(spec(provider, server), demo, tmp_path / "out")
        assert [len(batch.requests) for batch in server.batches.values()] == [20, 4]
    assert (done.score.verdicts["correct"], done.score.complete) == (20, True)


def test_a_batch_whose_id_was_not_written_is_found_by_its_mark(demo: Path, tmp_path: Path) -> None:
    """A kill between the provider's yes and the line that notes it."""
    with batch_server(solve) as server:
        whole = batched(spec("openai", server), demo, tmp_path / "a", repair=0)
        rows = (whole.folder / FILE).read_text().splitlines()
        (whole.folder / FILE).write_text(rows[0] + "\n")
        (whole.folder / results.ATTEMPTS).write_text("")
        done = batched(spec("openai", server), demo, tmp_path / "a", repair=0)
        assert len(server.batches) == 1
    assert (done.asked, done.score.complete) == (20, True)
