"""`exe show --prompt CASE --model M` prints what a run of that model sends, to the letter."""

from __future__ import annotations

import json
from pathlib import Path

from exe.taskset import read_set
from runners import results
from runners.job import RunSettings
from runners.models import open_model
from runners.run import run
from tests.support import tasks
from tests.support.chat_server import Reply, chat_server
from tests.support.command import exe
from tests.support.questions import FAST


def test_it_is_what_a_run_sends(tmp_path: Path) -> None:
    folder = tasks.write_set(tmp_path / "set")
    case = read_set(folder).cases[5]
    with chat_server(lambda _body, _number: Reply()) as server:
        spec = f"openai:m1@{server.url}"
        shown = exe("show", "--prompt", case.id, "--model", spec, "--set", str(folder), "--json", cwd=tmp_path)
        assert shown.returncode == 0, shown.stderr
        assert server.requests == []
        done = run(open_model(spec), read_set(folder), RunSettings(policy=FAST), tmp_path / "out")
        said = json.loads(shown.stdout)
        (sent,) = [body for body in server.requests if body["messages"] == said["messages"]]
        assert (sent["temperature"], sent["max_tokens"]) == (said["temperature"], said["max_tokens"])
    (stored,) = [one for one in results.read_attempts(done.folder / results.ATTEMPTS) if one.case == case.id]
    assert stored.request_sha256 == said["request_sha256"]
    text = exe("show", "--prompt", case.id, "--model", spec, "--set", str(folder), cwd=tmp_path).stdout
    assert said["messages"][-1]["content"].rstrip() in text
    assert "# max_tokens: 4096" in text
    cot = exe("show", "--prompt", case.id, "--model", spec, "--style", "cot", "--set", str(folder), cwd=tmp_path)
    assert "step by step" in cot.stdout


def test_it_wants_a_case_and_a_model(tmp_path: Path) -> None:
    folder = tasks.write_set(tmp_path / "set")
    case = read_set(folder).cases[0]
    for arguments in (("--prompt", case.id), ("--prompt", "--model", "oracle"), (case.id, "--model", "oracle")):
        done = exe("show", *arguments, "--set", str(folder), cwd=tmp_path)
        assert done.returncode == 2
        assert "--model MODEL" in done.stderr
