"""Two thousand cases against a server of which every fifth request goes wrong: the run ends as if none had."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exe.records import Attempt
from exe.taskset import read_set
from runners import results
from runners.asking import RetryPolicy
from runners.job import RunSettings
from runners.loop import Progress
from runners.models import open_model
from runners.run import RunSummary, run
from tests.support import tasks
from tests.support.chat_server import Behaviour, ChatServer, Reply, chat_server, error_body
from tests.support.command import start

FAULTS: dict[str, Callable[[str], Reply]] = {
    "rate limit": lambda _text: Reply(status=429, headers={"Retry-After": "0.2"}, body=error_body("slow down")),
    "server error": lambda _text: Reply(status=500, body=error_body("oops")),
    "overload": lambda _text: Reply(status=529, body=error_body("overloaded", kind="overloaded_error")),
    "hang": lambda _text: Reply(fault="hang"),
    "cut": lambda text: Reply(text, fault="cut"),
    "no JSON": lambda _text: Reply(body=b'{"choices": [{"mess'),
    "no choices": lambda _text: Reply(body=b'{"id": "x", "choices": []}'),
    "drip": lambda text: Reply(text, body=b'{"choices":[]}', fault="drip"),
    "another model": lambda text: Reply(text, model="cheaper"),
    "late": lambda text: Reply(text, delay=0.3),
}
POLICY = RetryPolicy(retries=6, base=0.02, cap=0.2, timeout=1.5)
PROGRAMS, CASES = 400, 5


def key(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()


def answer(body: dict[str, Any]) -> str:
    """Right for most questions, wrong for some, unreadable for a few; the same whenever it is asked."""
    text = body["messages"][0]["content"]
    number = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
    a, b = (int(part) for part in re.findall(r"add_\d+\(a=(-?\d+), b=(-?\d+)\)", text)[-1])
    n = int(re.findall(r"def add_(\d+)", text)[-1])
    if number % 29 == 0:
        return "I would rather not say."
    if b < 0:
        return '{"error": {"code": "ValueError", "message": "negative"}}'
    return json.dumps({"value": a + b + n + (number % 7 == 0)})


class Faulty:
    """One fault for a fifth of the questions, at the first time that each is asked; `met` counts them by name."""

    def __init__(self, seed: int) -> None:
        self.met: Counter[str] = Counter()
        self._seed, self._asked, self._lock = seed, Counter[str](), threading.Lock()

    def __call__(self, body: dict[str, Any], _number: int) -> Reply:
        name = key(body)
        with self._lock:
            self._asked[name] += 1
            draw = random.Random(f"{self._seed}/{name}")
            fault = draw.choice(sorted(FAULTS)) if draw.random() < 0.2 and self._asked[name] == 1 else None
            if fault is not None:
                self.met[fault] += 1
        return Reply(answer(body)) if fault is None else FAULTS[fault](answer(body))


def measured(behave: Behaviour, folder: Path, out: Path, **changes: Any) -> tuple[RunSummary, ChatServer]:
    settings = RunSettings(**{"policy": POLICY, "concurrency": 64, **changes})
    with chat_server(behave) as server:
        model = open_model(f"openai:m1@{server.url}")
        return run(model, read_set(folder), settings, out), server


def stored(done: RunSummary) -> list[Attempt]:
    return list(results.read_attempts(done.folder / results.ATTEMPTS))


def told(done: RunSummary) -> list[tuple[Any, ...]]:
    """What must not depend on how often a question had to be asked."""
    return [
        (
            one.case,
            one.sample,
            one.verdict,
            one.reason,
            one.completion and (one.completion.text, one.completion.usage),
            one.repair and one.repair.text,
        )
        for one in stored(done)
    ]


def test_two_thousand_cases_with_a_fifth_of_faults_end_as_without(tmp_path: Path) -> None:
    folder = tasks.write_set(tmp_path / "set", programs=PROGRAMS, cases=CASES)
    plain, _ = measured(lambda body, _number: Reply(answer(body)), folder, tmp_path / "plain")
    faulty = Faulty(seed=7)
    done, server = measured(faulty, folder, tmp_path / "faulty")
    assert set(faulty.met) == set(FAULTS)
    assert 0.15 < sum(faulty.met.values()) / len({key(body) for body in server.requests}) < 0.25
    assert done.planned == len(stored(done)) == PROGRAMS * CASES
    assert done.score.complete
    assert done.score.verdicts == plain.score.verdicts
    assert done.score.verdicts["failed"] == 0
    assert told(done) == told(plain)
    ours = json.loads((done.folder / results.SCORE).read_text())["spent"]["tokens"]
    assert ours == json.loads((plain.folder / results.SCORE).read_text())["spent"]["tokens"]
    harmless = faulty.met["late"] + faulty.met["another model"]
    repeated = len(server.requests) - len({key(body) for body in server.requests})
    assert repeated == done.retries == sum(faulty.met.values()) - harmless
    models = Counter(one.completion.model for one in stored(done) if one.completion)
    assert 0 < models["cheaper"] <= faulty.met["another model"]  # who answered is written down


def test_what_never_gets_better_is_failed_and_never_wrong(tmp_path: Path) -> None:
    """Every fifth question fails each time: its attempt has no verdict on the model, and the score has none either."""
    folder = tasks.write_set(tmp_path / "set", programs=20, cases=5)
    broken = {name for name in FAULTS if name not in ("late", "another model", "hang")}

    def behave(body: dict[str, Any], _number: int) -> Reply:
        draw = random.Random(key(body))
        return FAULTS[draw.choice(sorted(broken))](answer(body)) if draw.random() < 0.2 else Reply(answer(body))

    policy = RetryPolicy(retries=1, overloads=1, base=0.01, cap=0.02, timeout=1.5)
    done, _ = measured(behave, folder, tmp_path / "out", policy=policy, repair=0)
    failed = [one for one in stored(done) if one.verdict == "failed"]
    assert 5 < len(failed) < 40
    assert not done.score.complete
    assert done.score.pass_at["1"] is None
    assert all(one.completion is None and (one.reason or "").startswith("provider: ") for one in failed)
    again, server = measured(lambda body, _number: Reply(answer(body)), folder, tmp_path / "out", repair=0)
    assert again.folder != done.folder or again.reused == 100 - len(failed)
    assert again.score.complete
    assert len(server.requests) in (100, len(failed))  # the address is part of what a run is


def test_concurrency_that_was_throttled_recovers(tmp_path: Path) -> None:
    """A server that turns away more than eight at once, then takes everybody again."""
    folder = tasks.write_set(tmp_path / "set", programs=240, cases=5)
    limits: list[tuple[int, int]] = []
    strict = threading.Event()
    strict.set()

    def behave(body: dict[str, Any], number: int) -> Reply:
        if number > 500:
            strict.clear()
        if strict.is_set() and server.at_work > 8:
            return Reply(status=429, body=error_body("slow down"))
        return Reply(answer(body), delay=0.01)

    def progress(now: Progress) -> None:
        limits.append((now.done, now.limit))

    with chat_server(behave) as server:
        settings = RunSettings(policy=POLICY, concurrency=32, repair=0)
        done = run(open_model(f"openai:m1@{server.url}"), read_set(folder), settings, tmp_path / "out", progress)
    assert done.score.complete
    assert min(limit for _, limit in limits) <= 12
    assert limits[-1][1] >= 24
    assert done.retries < 400


@pytest.mark.slow
def test_fifty_kills_in_one_run(tmp_path: Path) -> None:
    killed(tmp_path, kills=50)


def test_five_kills_in_one_run(tmp_path: Path) -> None:
    killed(tmp_path, kills=5)


def killed(root: Path, kills: int) -> None:
    """Kill -9 at random moments, each time after at least one more answer; what was in flight may be asked again, nothing else."""
    concurrency = 8
    folder = tasks.write_set(root / "set", programs=20 * kills, cases=5)
    draw = random.Random(5)
    with chat_server(lambda body, _number: Reply(answer(body), delay=0.02)) as server:
        spec = f"openai:m1@{server.url}"
        command = ("run", spec, "--set", str(folder), "--out", str(root / "out"), "--concurrency", str(concurrency))
        done = 0
        while done < kills:
            process = start(*command, "--quiet", cwd=root)
            seen = len(server.requests)
            limit = time.monotonic() + 60
            while len(server.requests) <= seen and process.poll() is None and time.monotonic() < limit:
                time.sleep(0.002)
            time.sleep(draw.random() * 0.12)
            assert process.poll() is None, "the run ended before it was killed so often: it needs more cases"
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            done += 1
        process = start(*command, "--quiet", "--json", cwd=root)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        asked = Counter(key(body) for body in server.requests)
    with chat_server(lambda body, _number: Reply(answer(body))) as calm:
        whole = run(open_model(f"openai:m1@{calm.url}"), read_set(folder), RunSettings(), root / "whole")
        calmly = Counter(key(body) for body in calm.requests)
    (attempts,) = (root / "out").rglob(results.ATTEMPTS)
    found = list(results.read_attempts(attempts))
    assert [(one.case, one.sample, one.verdict, one.completion and one.completion.text) for one in found] == [
        (one.case, one.sample, one.verdict, one.completion and one.completion.text) for one in stored(whole)
    ]
    assert json.loads(out)["verdicts"] == whole.score.verdicts
    assert set(asked) == set(calmly)
    twice = sum((asked - calmly).values())
    print(
        f"{kills} kills, {len(found)} attempts: {twice} questions asked twice, at most {kills * concurrency} in flight"
    )
    assert twice <= kills * concurrency
