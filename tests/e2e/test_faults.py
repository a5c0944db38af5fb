"""What goes wrong around a run ends with one clear line, the documented exit code, and loses nothing."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_server import Reply, chat_server, closed_port, error_body
from tests.support.command import TIDINGS, exe, start


def one_line(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """The command ended with this exit code and one line on stderr that holds all the words; no traceback."""
    assert done.returncode == code, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("exe: ")
    for word in words:
        assert word in lines[0]


def attempts(results: Path) -> Path:
    (found,) = results.rglob("attempts.jsonl")
    return found


def replay_file(folder: Path, target: Path, sample: str = '{"value": 1}') -> Path:
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text("utf-8").splitlines()]
    target.write_text(
        "".join(json.dumps({"case": row["id"], "sample": 0, "text": sample}) + "\n" for row in rows), "utf-8"
    )
    return target


def test_a_malformed_line_is_named(tidings: Path, tmp_path: Path) -> None:
    replay = replay_file(tidings, tmp_path / "answers.jsonl")
    lines = replay.read_text("utf-8").splitlines()
    replay.write_text("\n".join([*lines[:6], '{"case": "x", "sam', *lines[7:]]) + "\n", "utf-8")
    one_line(exe("run", f"replay:{replay}", "--set", str(tidings), "--quiet", cwd=tmp_path), 2, "answers.jsonl:7")


def test_an_edited_set_is_never_scored(tidings: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tidings, tmp_path / "edited")
    text = (copy / "cases.jsonl").read_text("utf-8")
    (copy / "cases.jsonl").write_text(text.replace('"kind"', '"kimd"', 1), "utf-8")
    one_line(exe("run", "oracle", "--set", str(copy), "--quiet", cwd=tmp_path), 2, "cases.jsonl", "rebuild")


def test_a_damaged_attempts_file_is_named_and_kept(tidings: Path, tmp_path: Path) -> None:
    command = ("run", "oracle", "--set", str(tidings), "--quiet")
    assert exe(*command, cwd=tmp_path).returncode == 0
    path = attempts(tmp_path / "results")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"nonsense\n", *lines[4:]]))
    damaged = path.read_bytes()
    one_line(exe(*command, cwd=tmp_path), 2, "attempts.jsonl:4")
    assert path.read_bytes() == damaged


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("run", "replay:nowhere.jsonl", "--set", "{set}"), ("nowhere.jsonl",)),
        (("run", "oracle", "--set", "nowhere"), ("tasks/nowhere", "exe build")),
        (("run", "gpt-4", "--set", "{set}"), ("unknown model", "openai:NAME")),
        (("run", "local:nowhere.gguf", "--set", "{set}"), ("nowhere.gguf",)),
        (("score", "nowhere"), ("nowhere",)),
        (("leaderboard", "nowhere"), ("nowhere",)),
        (("show", "no_such_function", "--set", "{set}"), ("no_such_function",)),
        (("build", "path:nowhere", "--set", "x"), ("nowhere",)),
        (("build", "installed:no-such-package-here", "--set", "x"), ("no-such-package-here",)),
        (("import", "cruxeval", "nowhere.jsonl"), ("nowhere.jsonl",)),
    ],
)
def test_what_is_not_there_is_named(
    argv: tuple[str, ...], words: tuple[str, ...], tidings: Path, tmp_path: Path
) -> None:
    filled = [part.replace("{set}", str(tidings)) for part in argv]
    quiet = ["--quiet"] if argv[0] in ("run", "build") else []
    one_line(exe(*filled, *quiet, cwd=tmp_path), 2, *words)


def test_a_wrong_key_stops_at_once_and_the_run_resumes(tidings: Path, tmp_path: Path) -> None:
    def behave(_body: dict[str, Any], number: int) -> Reply:
        return Reply() if number < 5 else Reply(status=401, body=error_body("bad key"))

    with chat_server(behave) as server:
        command = (
            "run",
            f"openai:m1@{server.url}",
            "--set",
            str(tidings),
            "--limit",
            "12",
            "--concurrency",
            "1",
            "--repair",
            "0",
            "--quiet",
        )
        one_line(exe(*command, cwd=tmp_path, OPENAI_API_KEY="sk-wrong-wrong-wrong-wrong"), 2, "key")
        assert "sk-wrong" not in "".join(path.read_text() for path in (tmp_path / "results").rglob("*.json*"))
        assert len(attempts(tmp_path / "results").read_text().splitlines()) == 5
        server.behave = lambda _body, _number: Reply()
        assert exe(*command, cwd=tmp_path).returncode == 0
        assert len(server.requests) == 6 + 7


def test_a_dead_server_is_said_and_the_run_resumes(tidings: Path, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    done = exe("run", f"openai:m1@{url}", "--set", str(tidings), "--limit", "5", "--quiet", cwd=tmp_path)
    one_line(done, 2, url.removesuffix("/v1"))
    assert attempts(tmp_path / "results").read_bytes() == b""


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 64 KiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_during_a_run_is_said_and_the_run_resumes(tidings: Path, tiny_disk: Path, tmp_path: Path) -> None:
    replay = replay_file(tidings, tmp_path / "answers.jsonl", sample=json.dumps({"value": "x" * 900}))
    command = ("run", f"replay:{replay}", "--set", str(tidings), "--quiet")
    one_line(exe(*command, "--out", str(tiny_disk), cwd=tmp_path), 3, "No space left")
    kept = attempts(tiny_disk).read_text("utf-8").splitlines()
    assert kept
    assert all(json.loads(line)["verdict"] == "wrong" for line in kept)
    subprocess.run(["mount", "-o", "remount,size=4m", str(tiny_disk)], check=True)
    assert exe(*command, "--out", str(tiny_disk), cwd=tmp_path).returncode == 0
    assert exe(*command, "--out", str(tmp_path / "roomy"), cwd=tmp_path).returncode == 0
    assert attempts(tiny_disk).read_bytes() == attempts(tmp_path / "roomy").read_bytes()


def test_a_full_disk_during_a_build_is_said_and_the_build_resumes(
    tidings: Path, tiny_disk: Path, tmp_path: Path
) -> None:
    command = ("build", f"path:{TIDINGS}", "--set", str(tiny_disk / "tidings"), "--quiet")
    one_line(exe(*command, cwd=tmp_path), 3, "No space left")
    subprocess.run(["mount", "-o", "remount,size=8m", str(tiny_disk)], check=True)
    done = exe(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tiny_disk / "tidings" / "cases.jsonl").read_bytes() == (tidings / "cases.jsonl").read_bytes()


def test_ctrl_c_ends_a_build_that_resumes(tidings: Path, tmp_path: Path) -> None:
    command = ("build", f"path:{TIDINGS}", "--set", str(tmp_path / "tidings"), "--quiet")
    process = start(*command, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any((tmp_path / "tidings" / ".build").glob("*.jsonl")):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert len(err.strip().splitlines()) == 1
    assert exe(*command, cwd=tmp_path).returncode == 0
    assert (tmp_path / "tidings" / "cases.jsonl").read_bytes() == (tidings / "cases.jsonl").read_bytes()


def test_ctrl_c_ends_a_run_that_resumes_without_asking_twice(tidings: Path, tmp_path: Path) -> None:
    with chat_server(lambda _body, _number: Reply(delay=0.05)) as server:
        command = (
            "run",
            f"openai:m1@{server.url}",
            "--set",
            str(tidings),
            "--limit",
            "60",
            "--concurrency",
            "2",
            "--quiet",
        )
        process = start(*command, cwd=tmp_path)
        while len(server.requests) < 10:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert len(err.strip().splitlines()) == 1
        assert exe(*command, cwd=tmp_path).returncode == 0
        asked = Counter(json.dumps(body["messages"]) for body in server.requests)
    assert len(asked) == 60
    assert set(asked.values()) == {1}


def test_a_run_killed_at_ten_random_points_ends_with_the_same_bytes(tidings: Path, tmp_path: Path) -> None:
    replay = replay_file(tidings, tmp_path / "answers.jsonl")
    command = ("run", f"replay:{replay}", "--set", str(tidings), "--quiet", "--concurrency", "1")
    assert exe(*command, "--out", str(tmp_path / "whole"), cwd=tmp_path).returncode == 0
    whole = attempts(tmp_path / "whole")
    draw = random.Random(11)
    killed = 0
    for _ in range(10):
        process = start(*command, "--out", str(tmp_path / "killed"), cwd=tmp_path)
        target = draw.randrange(len(whole.read_bytes()))
        deadline = time.monotonic() + draw.uniform(0.3, 3)
        while process.poll() is None and time.monotonic() < deadline:
            found = list((tmp_path / "killed").rglob("attempts.jsonl"))
            if found and found[0].stat().st_size >= target:
                break
        if process.poll() is None:
            process.kill()
            killed += 1
        process.communicate()
    assert exe(*command, "--out", str(tmp_path / "killed"), cwd=tmp_path).returncode == 0
    assert killed >= 3
    for name in ("attempts.jsonl", "score.json", "run.json"):
        assert attempts(tmp_path / "killed").with_name(name).read_bytes() == whole.with_name(name).read_bytes()


def test_a_run_killed_ten_times_asks_nothing_twice_that_it_has(tidings: Path, tmp_path: Path) -> None:
    """What was in flight at a kill may be asked again, one request a kill here; nothing that is on disk."""
    with chat_server(lambda _body, _number: Reply(delay=0.02)) as server:
        command = (
            "run",
            f"openai:m1@{server.url}",
            "--set",
            str(tidings),
            "--concurrency",
            "1",
            "--repair",
            "0",
            "--quiet",
        )
        draw = random.Random(5)
        killed = 0
        for _ in range(10):
            process = start(*command, cwd=tmp_path)
            before, wanted = len(server.requests), draw.randrange(1, 14)
            deadline = time.monotonic() + 30
            while process.poll() is None and len(server.requests) < before + wanted and time.monotonic() < deadline:
                time.sleep(0.005)
            if process.poll() is None:
                process.kill()
                killed += 1
            process.communicate()
        assert exe(*command, cwd=tmp_path).returncode == 0
        asked = Counter(json.dumps(body["messages"]) for body in server.requests)
    planned = len(attempts(tmp_path / "results").read_text("utf-8").splitlines())
    assert killed >= 5
    assert sum(asked.values()) - planned <= killed
