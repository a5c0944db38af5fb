"""The command line where a user slips: each end is one line with its exit code, and nothing of the user's is touched."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support import tasks
from tests.support.command import COMMAND, environment, exe


@pytest.fixture
def work(tmp_path: Path) -> Path:
    tasks.write_set(tmp_path / "tasks" / "small", 2, 3)
    return tmp_path


REFUSED: list[tuple[tuple[str, ...], int, str]] = [
    (("show", "--set", ""), 2, "--set: names no set"),
    (("show", "--set", "x" * 5000), 2, "File name too long"),
    (("run", "oracle", "--set", "small", "--out", ""), 2, "--out: names no folder"),
    (("run", "oracle", "--set", "small", "--temperature", "nan"), 2, "nan is no finite number"),
    (("run", "oracle", "--set", "small", "--temperature", "inf"), 2, "inf is no finite number"),
    (("run", "oracle", "--set", "small", "--timeout", "nan"), 2, "nan is no finite number"),
    (("run", "oracle", "--set", "small", "--samples", "9" * 20), 2, "--samples"),
    (("run", "oracle", "--set", "small", "--k", "5"), 2, "pass@5 is not defined for 1 samples"),
    (("run", "oracle", "--set", "small", "--kind", "output,eror"), 2, "no cases of kind eror; there are error, output"),
    (("run", "oracle", "--set", "small", "--kind", "output,,error"), 2, "expected words with commas between"),
    (("build", "installed:", "--set", "new"), 2, "'' is not a package name"),
    (("import", "cruxeval", "nowhere.jsonl"), 2, "nowhere.jsonl: no such file"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_a_slip_ends_in_one_line(work: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = exe(*arguments, cwd=work)
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout, len(lines)) == (code, "", 1), done.stderr
    assert lines[0].startswith("exe: ")
    assert words in lines[0]
    assert len(lines[0]) < 600
    assert sorted(os.listdir(work)) == ["tasks"]


def test_no_set_is_written_over_other_files(work: Path) -> None:
    project = work / "project"
    project.mkdir()
    (project / "programs.jsonl").write_text("mine")
    (project / "notes.txt").write_text("mine")
    data = work / "c.jsonl"
    data.write_text(
        json.dumps({"id": "sample_0", "code": "def f(a):\n    return a", "input": "1", "output": "1"}) + "\n"
    )
    for command in (("build", "installed:idna"), ("import", "cruxeval", str(data))):
        done = exe(*command, "--set", str(project), cwd=work)
        assert done.returncode == 2
        assert "it holds notes.txt; choose another --set" in done.stderr
        done = exe(*command, "--set", "small", cwd=work)
        assert done.returncode == 2
        assert "holds another set (demo" in done.stderr
    assert {path.name: path.read_text() for path in project.iterdir()} == {
        "programs.jsonl": "mine",
        "notes.txt": "mine",
    }


def test_machine_output_is_one_object_a_line(work: Path) -> None:
    for command in (
        ("run", "oracle", "oracle", "baseline:echo", "--set", "small"),
        ("show", "--set", "small"),
        ("show", "add", "--set", "small"),
        ("leaderboard",),
        ("doctor",),
    ):
        done = exe(*command, "--json", cwd=work)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert found, done.stderr
        assert all(isinstance(each, dict) for each in found)
        if command[0] == "run":
            assert [each["model"] for each in found] == ["oracle", "baseline:echo"]  # one model named twice is one


def test_quiet_says_nothing(work: Path) -> None:
    assert exe("run", "oracle", "--set", "small", "--quiet", cwd=work).stderr == ""


@pytest.mark.parametrize(("end", "code"), [("| true", 0), ("> /dev/full", 3), (">&-", 0)])
def test_an_output_that_takes_nothing(work: Path, end: str, code: int) -> None:
    call = " ".join(f"'{part}'" for part in COMMAND)
    script = f"set -o pipefail; {call} show --set small --json {end}"
    done = subprocess.run(["bash", "-c", script], cwd=work, env=environment(), capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert done.stderr.splitlines() == (["exe: output: No space left on device"] if code else [])


def test_names_that_no_encoding_has(work: Path) -> None:
    folder = os.fsdecode(b"caf\xe9")
    (work / folder).mkdir()
    done = exe("run", "oracle", "--set", "small", "--out", folder, cwd=work, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "results: caf" in done.stdout


def test_a_program_cannot_steer_the_terminal(work: Path) -> None:
    folder = work / "tasks" / "small"
    path = folder / "programs.jsonl"
    path.write_text(path.read_text().replace("'negative'", r"'\u001b[2J\u0007'"))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["programs.jsonl"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    done = exe("show", "add_1", "--set", "small", cwd=work)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert r"\x1b[2J\x07" in done.stdout
