"""Budgets of a run, against a real server: what is asked at a cap, what resumes, what is said before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exe.errors import IncompleteError, UsageError
from exe.taskset import read_set as load
from runners import results
from runners.estimate import estimate
from runners.job import RunSettings, prepare
from runners.models import open_model
from runners.prices import Given
from tests.support import tasks
from tests.support.chat_server import Reply, chat_server
from tests.support.command import exe
from tests.support.questions import FAST, measure

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
PRICE = Given(input=1.0, output=10.0)  # 0.002 dollars a reply


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return tasks.write_set(tmp_path / "set", programs=10, cases=10)


def settings(**changes: Any) -> RunSettings:
    return RunSettings(**{"policy": FAST, "concurrency": 4, "repair": 0, "price": PRICE, **changes})


def spent(out: Path) -> tuple[int, float]:
    """Attempts on disk and what they cost."""
    (path,) = out.rglob(results.ATTEMPTS)
    costs = [attempt.completion.cost_usd for attempt in results.read_attempts(path) if attempt.completion]
    assert all(cost is not None for cost in costs)
    return len(costs), sum(cost for cost in costs if cost is not None)


def test_a_cost_cap_is_overshot_by_what_was_in_flight_at_most_and_the_run_resumes(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda _body, _number: Reply(usage=USAGE, delay=0.01)) as server:
        spec = f"openai:m@{server.url}"
        with pytest.raises(IncompleteError, match=r"--max-cost 0\.05 is reached: .* of 100 attempts are done"):
            measure(spec, demo, tmp_path / "out", settings(max_cost=0.05))
        count, cost = spent(tmp_path / "out")
        assert 0.05 <= cost <= 0.05 + 4 * 0.002 + 1e-9
        assert count == len(server.requests)  # nothing that was paid for is lost
        with pytest.raises(IncompleteError, match="is reached"):
            measure(spec, demo, tmp_path / "out", settings(max_cost=0.05))
        assert len(server.requests) == count
        whole = measure(spec, demo, tmp_path / "out", settings(max_cost=1.0))
        assert (whole.asked, whole.reused) == (100 - count, count)
        assert whole.score.complete
        assert spent(tmp_path / "out")[1] == pytest.approx(0.2)
        described = json.loads((whole.folder / results.RUN).read_text())
        assert described["environments"][0]["prices"] == {
            "source": "given",
            "input": 1.0,
            "output": 10.0,
            "cached": None,
        }


def test_a_token_cap(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda _body, _number: Reply(usage=USAGE)) as server:
        with pytest.raises(IncompleteError, match=r"--max-total-tokens 11000 is reached"):
            measure(f"openai:m@{server.url}", demo, tmp_path / "out", settings(max_total_tokens=11_000))
        assert 10 <= len(server.requests) <= 14


def test_a_cost_that_cannot_be_known_cannot_be_capped(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda _body, _number: Reply(usage={"prompt_tokens": None})) as server:
        spec = f"openai:m@{server.url}"
        with pytest.raises(UsageError, match="--price"):
            measure(spec, demo, tmp_path / "out", settings(max_cost=0.05, price=None))
        assert server.requests == []
        with pytest.raises(IncompleteError, match="without a count of tokens"):
            measure(spec, demo, tmp_path / "out", settings(max_cost=0.05))
        assert len(server.requests) <= 4
    assert measure("oracle", demo, tmp_path / "out", settings(max_cost=0.0, price=None)).score.complete  # costs nothing


def test_without_a_listed_price_the_cost_is_unknown_not_zero(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda _body, _number: Reply(usage=USAGE)) as server:
        done = measure(f"openai:m@{server.url}", demo, tmp_path / "out", settings(price=None))
    score = json.loads((done.folder / results.SCORE).read_text())
    assert score["spent"]["cost_usd"] is None


def test_the_estimate_counts_what_is_missing(demo: Path) -> None:
    taskset = load(demo)
    job = prepare(open_model("oracle"), taskset, settings(max_tokens=50))
    whole, half = estimate(job, 100), estimate(job, 50)
    assert (whole.requests, whole.output_tokens) == (100, 5000)
    assert whole.input_tokens == pytest.approx(2 * half.input_tokens, rel=0.01)
    assert whole.input_usd == pytest.approx(whole.input_tokens / 1e6)
    assert whole.most_usd == pytest.approx(whole.input_tokens / 1e6 + 5000 * 10 / 1e6)
    unknown = estimate(replace(job, tariff=None), 100)
    assert (unknown.input_usd, unknown.most_usd) == (None, None)


def test_a_dry_run_asks_nothing_and_writes_nothing(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda _body, _number: Reply()) as server:
        arguments = ("run", f"openai:m@{server.url}", "--set", str(demo), "--dry-run", "--price", "1,10")
        done = exe(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "100 questions, about " in done.stdout
        assert "for the questions, $" in done.stdout
        as_json = json.loads(exe(*arguments, "--json", cwd=tmp_path).stdout)
        assert as_json["requests"] == 100
        assert server.requests == []
    assert not (tmp_path / "results").exists()


def test_sampling_options_reach_the_server(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda _body, _number: Reply()) as server:
        options = (
            "--temperature",
            "none",
            "--top-p",
            "0.9",
            "--effort",
            "low",
            "--system",
            "Be brief.",
            "--stop",
            "END",
        )
        done = exe("run", f"openai:m@{server.url}", "--set", str(demo), "--limit", "1", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        sent = server.requests[0]
    assert "temperature" not in sent
    assert (sent["top_p"], sent["reasoning_effort"], sent["stop"]) == (0.9, "low", ["END"])
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert exe("run", "oracle", "--set", str(demo), "--temperature", "warm", cwd=tmp_path).returncode == 2
