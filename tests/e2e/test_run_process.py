"""Runs as processes: killed, interrupted, out of space; each ends with the bytes of one that was left alone."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runners import results
from tests.support import tasks
from tests.support.chat_server import Reply, chat_server

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return tasks.write_set(tmp_path / "set", programs=4, cases=5)


def start(*arguments: str, limit_bytes: int | None = None) -> subprocess.Popen[str]:
    def limited() -> None:
        if limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.run_demo", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-test-0123456789abcdefghij"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limited,  # noqa: PLW1509 - no threads run here yet
    )


def finish(*arguments: str) -> int:
    """Run to the end; returns how many questions were asked."""
    process = start(*arguments)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return int(out.splitlines()[-1].removeprefix("asked "))


def run_folder(out: Path) -> Path:
    (found,) = out.rglob(results.RUN)
    return found.parent


def kept(folder: Path) -> dict[str, bytes]:
    """The files that must not depend on how often a run was interrupted."""
    return {name: (folder / name).read_bytes() for name in (results.RUN, results.ATTEMPTS, results.SCORE)}


def read_until(process: subprocess.Popen[str], done: int) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= done:
            return
    raise AssertionError(f"the run ended before {done} attempts")


def test_sigkill_at_random_points_loses_nothing_and_asks_nothing_twice(demo: Path, tmp_path: Path) -> None:
    assert finish("oracle", str(demo), str(tmp_path / "whole")) == 40
    draw = random.Random(11)
    arguments = ("oracle", str(demo), str(tmp_path / "killed"), "0.01")
    counted = 0
    for _ in range(3):
        process = start(*arguments)
        counted += draw.randint(4, 11)
        read_until(process, counted)
        process.kill()
        process.communicate()
        lines = (run_folder(tmp_path / "killed") / results.ATTEMPTS).read_bytes().split(b"\n")[:-1]
        assert len(lines) >= counted  # what was counted is on disk
        counted = len(lines)
        assert len({(json.loads(line)["case"], json.loads(line)["sample"]) for line in lines}) == len(lines)
    assert finish(*arguments) == 40 - counted
    assert kept(run_folder(tmp_path / "killed")) == kept(run_folder(tmp_path / "whole"))
    assert {path.name for path in run_folder(tmp_path / "killed").iterdir()} == {
        results.RUN,
        results.ATTEMPTS,
        results.SCORE,
        results.TIMING,
        results.LOCK,
    }


def test_an_interrupted_run_finishes_what_is_in_flight_and_resumes(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda _body, _n: Reply('{"value": 1}', delay=0.15)) as server:
        arguments = (f"openai:m1@{server.url}", str(demo), str(tmp_path / "out"))
        process = start(*arguments)
        read_until(process, 4)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 130, err
        assert "Traceback" not in err
        lines = (run_folder(tmp_path / "out") / results.ATTEMPTS).read_bytes().splitlines()
        assert len(lines) == len(server.requests)  # what was in flight got its line
        server.behave = lambda _body, _n: Reply('{"value": 1}')
        assert finish(*arguments) == 40 - len(lines)
        assert len(server.requests) == 40


def test_a_second_interrupt_gives_up_what_is_in_flight(demo: Path, tmp_path: Path) -> None:
    with chat_server(lambda _body, number: Reply(fault="hang" if number > 5 else "")) as server:
        process = start(f"openai:m1@{server.url}", str(demo), str(tmp_path / "out"))
        read_until(process, 5)
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
        assert process.returncode == 130


def test_a_full_disk_is_one_line_and_exit_code_3_and_resumes(demo: Path, tmp_path: Path) -> None:
    assert finish("oracle", str(demo), str(tmp_path / "whole")) == 40
    process = start("oracle", str(demo), str(tmp_path / "full"), limit_bytes=10_000)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "cannot be written" in err
    assert len(err.splitlines()) == 1
    left = (run_folder(tmp_path / "full") / results.ATTEMPTS).read_bytes()
    assert left.endswith(b"\n")
    assert 0 < left.count(b"\n") < 40
    assert finish("oracle", str(demo), str(tmp_path / "full")) == 40 - left.count(b"\n")
    assert kept(run_folder(tmp_path / "full")) == kept(run_folder(tmp_path / "whole"))
