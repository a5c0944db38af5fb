"""Whole runs, in this process, against known models and a real server."""

from __future__ import annotations

import ast
import json
import random
import re
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exe.errors import AuthError, IncompleteError, InputError, ModelUnavailable, StorageError, UsageError
from exe.records import Attempt
from exe.taskset import read_set as load
from runners import results
from runners.asking import RetryPolicy
from runners.job import RunSettings
from runners.loop import Progress
from runners.models import open_model
from runners.run import run
from runners.scorefile import regrade, score_run
from tests.support import tasks
from tests.support.chat_server import Reply, chat_server, closed_port, error_body
from tests.support.questions import FAST, context, measure


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdefghij")


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return tasks.write_set(tmp_path / "set", programs=4, cases=5)


def settings(**changes: Any) -> RunSettings:
    return RunSettings(**{"policy": FAST, "concurrency": 4, **changes})


def solve(body: dict[str, Any]) -> str:
    """The right answer to a question about the demo programs, read from the prompt as sent."""
    text = "\n".join(message["content"] for message in body["messages"])
    a, b = (int(number) for number in re.findall(r"add_\d+\(a=(-?\d+), b=(-?\d+)\)", text)[-1])
    n = int(re.findall(r"def add_(\d+)", text)[-1])
    return '{"error": {"code": "ValueError", "message": "negative"}}' if b < 0 else json.dumps({"value": a + b + n})


def stored(folder: Path) -> list[Attempt]:
    return list(results.read_attempts(folder / results.ATTEMPTS))


def test_oracle_is_all_right_and_baselines_are_what_they_are(demo: Path, tmp_path: Path) -> None:
    oracle = measure("oracle", demo, tmp_path / "out")
    assert oracle.score.verdicts["correct"] == oracle.planned == 20
    null = measure("baseline:null", demo, tmp_path / "out")
    assert null.score.verdicts["unparseable"] == 20
    assert {attempt.repair for attempt in stored(null.folder)} == {None}
    echo = measure("baseline:echo", demo, tmp_path / "out")
    assert echo.score.verdicts["correct"] == 1  # add_0(a=10, b=0) is 10
    assert len({oracle.folder, null.folder, echo.folder}) == 3


def test_a_finished_run_asks_nothing_and_keeps_its_bytes(demo: Path, tmp_path: Path) -> None:
    first = measure("oracle", demo, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in first.folder.iterdir()}
    second = measure("oracle", demo, tmp_path / "out")
    assert (second.asked, second.reused, second.folder) == (0, 20, first.folder)
    assert {path.name: path.read_bytes() for path in first.folder.iterdir()} == before


def test_the_folder_says_what_ran_and_holds_no_path_and_no_key(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda body, _n: Reply(solve(body))) as server:
        done = measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings())
    described = json.loads((done.folder / "run.json").read_text())
    assert described["model"]["base_url"] == server.url
    assert described["prompt"]["sha256"]
    assert described["taskset"]["sha256"] == load(demo).sha256
    assert described["environments"][0]["python"]
    for path in done.folder.iterdir():
        assert "sk-test" not in path.read_text()
        assert str(tmp_path) not in path.read_text()
    assert re.fullmatch(r"[a-z0-9._-]+", "".join(done.folder.relative_to(tmp_path / "out").parts))


def test_every_attempt_is_as_specified(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda body, _n: Reply(solve(body))) as server:
        done = measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings(samples=2, temperature=0.7, seed=5))
    found = stored(done.folder)
    assert [(each.case, each.sample) for each in found] == [(c.id, s) for c in load(demo).cases for s in range(2)]
    assert {each.verdict for each in found} == {"correct"}
    assert all(each.completion and each.completion.usage["input"] == 11 for each in found)
    assert len({each.request_sha256 for each in found}) == 40
    assert Counter(body["seed"] for body in server.requests) == {5: 20, 6: 20}


def test_a_changed_temperature_prompt_or_limit_never_reuses_an_answer(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda body, _n: Reply(solve(body))) as server:
        spec = f"openai:m1@{server.url}"
        folders = set()
        for changes in (
            {},
            {"temperature": 0.8},
            {"style": "cot"},
            {"max_tokens": 9},
            {"limit": 7},
            {"examples": True},
        ):
            done = measure(spec, demo, tmp_path / "out", settings(**changes))
            assert done.reused == 0
            folders.add(done.folder)
        assert len(folders) == 6


def test_an_attempt_with_another_request_hash_is_asked_anew(demo: Path, tmp_path: Path) -> None:
    first = measure("oracle", demo, tmp_path / "out")
    path = first.folder / results.ATTEMPTS
    before = path.read_bytes()
    lines = before.splitlines(keepends=True)
    lines[3] = re.sub(rb'"request_sha256":\s*"[0-9a-f]{64}"', b'"request_sha256":"' + b"0" * 64 + b'"', lines[3])
    path.write_bytes(b"".join(lines))
    again = measure("oracle", demo, tmp_path / "out")
    assert (again.asked, again.reused) == (1, 19)
    assert path.read_bytes() == before


def test_faults_lose_nothing_and_change_nothing(demo: Path, tmp_path: Path) -> None:
    faults = [
        Reply(status=429, headers={"Retry-After": "0.02"}, body=error_body("slow down")),
        Reply(status=500, body=b"oops"),
        Reply(status=529, body=error_body("overloaded")),
        Reply(fault="cut"),
        Reply(body=b'{"choices": ['),
        Reply(body=b'{"choices": []}'),
    ]
    draw = random.Random(7)
    lock = threading.Lock()

    def behave(body: dict[str, Any], _number: int) -> Reply:
        with lock:
            return draw.choice(faults) if draw.random() < 0.25 else Reply(solve(body))

    notes: list[Progress] = []
    taskset = load(demo)
    patient = RetryPolicy(retries=9, base=0.005, cap=0.02, timeout=5.0)
    with chat_server(behave) as server:
        model = open_model(f"openai:m1@{server.url}", context(taskset))
        done = run(model, taskset, settings(samples=3, policy=patient), tmp_path / "out", notes.append)
    assert done.score.complete
    assert done.score.verdicts["correct"] == 60
    assert len(stored(done.folder)) == 60
    assert done.retries == len(server.requests) - 60 > 5
    assert sum(each.completion.retries for each in stored(done.folder) if each.completion) == done.retries
    assert notes[-1].done == 60
    assert any("again in" in note.note for note in notes)


def test_failed_attempts_are_no_wrong_answers_and_are_asked_again(demo: Path, tmp_path: Path) -> None:
    broken = True

    def behave(body: dict[str, Any], _number: int) -> Reply:
        if broken and "add_2" in body["messages"][0]["content"]:
            return Reply(status=400, body=error_body("this request is not for me"))
        return Reply(solve(body))

    with chat_server(behave) as server:
        first = measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings())
        assert not first.score.complete
        assert first.score.verdicts["failed"] == 5
        assert first.score.verdicts["wrong"] == 0
        reasons = {each.reason for each in stored(first.folder) if each.verdict == "failed"}
        assert all(reason and "not for me" in reason for reason in reasons)
        broken = False
        second = measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings())
    assert (second.asked, second.reused, second.score.verdicts["correct"]) == (5, 15, 20)
    assert len(stored(second.folder)) == 20


def test_a_refused_key_stops_at_once_and_loses_nothing(demo: Path, tmp_path: Path) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return (
            Reply(solve(body))
            if number < 6
            else Reply(status=401, body=error_body("bad key sk-test-0123456789abcdefghij"))
        )

    with chat_server(behave) as server:
        with pytest.raises(AuthError) as caught:
            measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings(concurrency=1))
        assert len(server.requests) == 7
        assert "sk-test" not in str(caught.value)
        server.behave = lambda body, _number: Reply(solve(body))
        again = measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings(concurrency=1))
    assert (again.reused, again.asked) == (6, 14)


def test_a_dead_server_ends_the_run_after_bounded_retries(demo: Path, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    quick = RetryPolicy(retries=2, base=0.01, cap=0.02, timeout=5.0)
    with pytest.raises(ModelUnavailable, match="is the server running"):
        measure(f"openai:m1@{url}", demo, tmp_path / "out", settings(policy=quick))
    (left,) = (tmp_path / "out").rglob(results.ATTEMPTS)
    assert left.read_bytes() == b""


def test_a_server_that_only_fails_ends_the_run(tmp_path: Path) -> None:
    folder = tasks.write_set(tmp_path / "set", programs=20, cases=4)
    quick = RetryPolicy(retries=0, base=0.01, timeout=5.0)
    with (
        chat_server(lambda _body, _number: Reply(status=500)) as server,
        pytest.raises(IncompleteError, match="in a row"),
    ):
        measure(f"openai:m1@{server.url}", folder, tmp_path / "out", settings(policy=quick))
    assert len(server.requests) < 30


def test_a_hang_is_given_up_within_its_time(demo: Path, tmp_path: Path) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return Reply(fault="hang") if number == 0 else Reply(solve(body), fault="drip" if number == 1 else "")

    policy = RetryPolicy(retries=3, base=0.01, timeout=0.6)
    with chat_server(behave) as server:
        done = measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings(policy=policy, limit=4))
    assert done.score.verdicts["correct"] == 4
    assert done.retries == 2


def test_overload_lowers_the_requests_in_flight_and_they_recover(tmp_path: Path) -> None:
    folder = tasks.write_set(tmp_path / "set", programs=30, cases=4)
    limits: list[int] = []

    def behave(body: dict[str, Any], number: int) -> Reply:
        if 16 <= number < 24:
            return Reply(status=429, body=error_body("slow down"))
        return Reply(solve(body), delay=0.005)

    taskset = load(folder)
    with chat_server(behave) as server:
        model = open_model(f"openai:m1@{server.url}")
        quick = settings(concurrency=8, policy=RetryPolicy(retries=9, base=0.01, cap=0.02))
        done = run(model, taskset, quick, tmp_path / "out", lambda now: limits.append(now.limit))
    assert done.score.verdicts["correct"] == 120
    assert min(limits) <= 4
    assert limits[-1] == 8
    assert server.peak <= 8


def test_one_more_turn_for_an_answer_that_cannot_be_read(demo: Path, tmp_path: Path) -> None:
    def behave(body: dict[str, Any], _number: int) -> Reply:
        return Reply("I think it is fine." if len(body["messages"]) == 1 else solve(body))

    with chat_server(behave) as server:
        done = measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings(limit=3))
        assert done.score.verdicts["correct"] == 3
        first = stored(done.folder)[0]
        assert first.completion
        assert first.repair
        assert first.completion.text == "I think it is fine."
        roles = [message["role"] for message in server.requests[-1]["messages"]]
        assert roles == ["user", "assistant", "user"]
        count = len(server.requests)
        assert count == 6
        once = measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings(limit=3, repair=0))
        assert once.score.verdicts["unparseable"] == 3
        assert len(server.requests) == count + 3


def test_structured_answers_are_asked_for_where_they_fit(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda body, _n: Reply(solve(body))) as server:
        spec = f"openai:m1@{server.url}"
        measure(spec, demo, tmp_path / "out", settings(limit=1, structured=True))
        measure(spec, demo, tmp_path / "out", settings(limit=1))
        with pytest.raises(UsageError, match="structured"):
            measure(spec, demo, tmp_path / "out", settings(limit=1, structured=True, style="cot"))
    assert ["response_format" in body for body in server.requests] == [True, False]


def test_endings_are_verdicts_of_their_own(demo: Path, tmp_path: Path) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        if number == 0:
            return Reply("Let me see, the", finish_reason="length")
        if number == 1:
            return Reply(status=400, body=error_body("maximum context length is 8", "context_length_exceeded"))
        return Reply("", finish_reason="content_filter") if number == 2 else Reply(solve(body))

    with chat_server(behave) as server:
        done = measure(f"openai:m1@{server.url}", demo, tmp_path / "out", settings(concurrency=1, repair=0))
    assert done.score.complete
    assert [each.verdict for each in stored(done.folder)[:3]] == ["truncated", "truncated", "refused"]
    assert done.score.verdicts["correct"] == 17


def test_replay_scores_what_it_holds_and_fails_what_it_has_not(demo: Path, tmp_path: Path) -> None:
    cases = load(demo).cases
    lines = [{"case": c.id, "sample": s, "text": json.dumps(c.expected)} for c in cases for s in range(2)]
    replay = tmp_path / "answers.jsonl"
    replay.write_text("".join(json.dumps(line) + "\n" for line in lines[:-1]))
    done = measure(f"replay:{replay}", demo, tmp_path / "out", settings(samples=2))
    assert done.score.verdicts["correct"] == 39
    assert done.score.verdicts["failed"] == 1
    assert not done.score.complete
    last = stored(done.folder)[-1]
    assert last.reason
    assert "holds no answer" in last.reason


def test_python_format_runs_end_to_end(tmp_path: Path) -> None:
    folder = tasks.write_set(tmp_path / "set", answer_format="python")
    done = measure("oracle", folder, tmp_path / "out")
    assert done.score.verdicts["correct"] == done.planned
    assert [ast.literal_eval(each.completion.text) for each in stored(done.folder) if each.completion]


def test_a_torn_last_line_is_healed_and_any_other_is_named(demo: Path, tmp_path: Path) -> None:
    first = measure("oracle", demo, tmp_path / "out")
    path = first.folder / results.ATTEMPTS
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:7]) + lines[7][:40])
    again = measure("oracle", demo, tmp_path / "out")
    assert (again.reused, again.asked) == (7, 13)
    assert path.read_bytes() == whole
    path.write_bytes(b"".join(lines[:3]) + lines[3][:40] + b"\n" + b"".join(lines[4:]))
    with pytest.raises(InputError, match=r"attempts\.jsonl:4: "):
        measure("oracle", demo, tmp_path / "out")


def test_nothing_to_ask_and_impossible_settings_are_refused_before_asking(demo: Path, tmp_path: Path) -> None:
    for changes in ({"samples": 0}, {"limit": 0}, {"concurrency": 0}, {"kinds": ("coverage",)}, {"ks": (1, 5)}):
        with pytest.raises(UsageError):
            measure("oracle", demo, tmp_path / "out", settings(**changes))
    assert not (tmp_path / "out").exists()


def test_two_runs_do_not_write_one_folder(demo: Path, tmp_path: Path) -> None:
    taskset = load(demo)

    def behave(body: dict[str, Any], number: int) -> Reply:
        if number == 0:
            with pytest.raises(UsageError, match="another process"):
                run(open_model(spec), taskset, settings(concurrency=1), tmp_path / "out")
            refused.append(True)
        return Reply(solve(body))

    refused: list[bool] = []
    with chat_server(behave) as server:
        spec = f"openai:m1@{server.url}"
        done = run(open_model(spec), taskset, settings(concurrency=1), tmp_path / "out")
    assert refused == [True]
    assert done.score.verdicts["correct"] == 20


def test_an_output_folder_that_cannot_be_is_a_storage_error(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot make"):
        measure("oracle", demo, tmp_path / "file" / "out")


def test_grading_again_uses_stored_texts_alone(demo: Path, tmp_path: Path) -> None:
    done = measure("oracle", demo, tmp_path / "out")
    path = done.folder / results.ATTEMPTS
    right = path.read_bytes()
    path.write_bytes(right.replace(b'"correct"', b'"wrong"'))
    taskset = load(demo)
    assert score_run(done.folder, taskset).verdicts["wrong"] == 20
    assert regrade(done.folder, taskset) == 20
    assert path.read_bytes() == right
    assert score_run(done.folder, taskset).verdicts["correct"] == 20
    with pytest.raises(InputError, match="another version"):
        score_run(done.folder, replace(taskset, sha256="0" * 64))
