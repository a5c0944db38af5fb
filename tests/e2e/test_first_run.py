"""What a newcomer sees: the built wheel in a new virtual environment, `exe run` in an empty folder."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest

from exe import taskset
from exe.chain import INTERNAL_ERROR
from exe.codec import read_jsonl
from exe.inputs import read_schema
from exe.inputs.echo import echoes
from exe.records import Outcome, Rejection
from tests.support.command import ROOT, environment


def run(*command: str, cwd: Path, timeout: float = 3600) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in environment().items() if name not in ("PYTHONPATH", "EXE_CACHE")}
    done = subprocess.run(command, cwd=cwd, env=plain, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a clean copy of what is committed or at hand."""
    work = tmp_path_factory.mktemp("wheel")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, work / "source" / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(work), str(work / "source"), cwd=work)
    (found,) = work.glob("*.whl")
    return found


@pytest.mark.network
def test_the_wheel_holds_the_two_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"exe", "runners"}
    assert {"exe/py.typed", "exe/schemas/case.json", "exe/data/blocklists.toml"} <= set(names)


@pytest.mark.network
@pytest.mark.slow
def test_a_newcomer_gets_a_real_score_in_ten_minutes(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"), cwd=tmp_path)
    python = str(tmp_path / "venv" / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[local]", cwd=tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    exe = str(tmp_path / "venv" / "bin" / "exe")
    began = time.monotonic()
    first = run(exe, "run", cwd=empty)
    minutes = (time.monotonic() - began) / 60
    print(first.stdout, f"{minutes:.1f} minutes")
    check_set(empty / "tasks" / "default")
    scores = {
        path.parent.parent.name.rsplit("-", 1)[0]: json.loads(path.read_text()) for path in empty.rglob("score.json")
    }
    assert len(scores) == 2
    for score in scores.values():
        assert score["complete"]
        assert score["planned"] >= 100
    assert "pass@1 [95%]" in first.stdout
    assert "results: " in first.stdout
    before = {path: path.read_bytes() for path in empty.rglob("*.jsonl")}
    again = run(exe, "run", "--quiet", cwd=empty)
    assert "pass@1 [95%]" in again.stdout
    assert {path: path.read_bytes() for path in empty.rglob("*.jsonl")} == before


def check_set(directory: Path) -> None:
    """At least 8 packages and 50 functions; none constant, none an echo in all its cases; no fault of ours."""
    tasks = taskset.read_set(directory)
    assert len({program.origin.package for program in tasks.programs.values()}) >= 8
    assert len(tasks.programs) >= 50
    outcomes = defaultdict(set)
    echoed = defaultdict(list)
    for case in tasks.cases:
        program = tasks.program(case)
        outcomes[case.program].add(json.dumps(case.typed, sort_keys=True))
        outcome = Outcome(
            status="error" if "error" in case.expected else "value", plain=case.expected, typed=case.typed
        )
        echoed[case.program].append(echoes(read_schema(program.parameters), case.arguments, outcome))
    assert all(len(found) > 1 for found in outcomes.values())
    assert not any(all(found) for found in echoed.values())
    rejections = list(read_jsonl(directory / "rejections.jsonl", Rejection))
    assert [r for r in rejections if r.reason == INTERNAL_ERROR] == []
