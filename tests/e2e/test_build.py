"""From a small package to a task set, as a user runs it."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from pathlib import Path

from exe import taskset
from exe.codec import read_jsonl
from exe.records import Rejection
from tests.support.command import TIDINGS, exe, start

BYTES = ("manifest.json", "programs.jsonl", "cases.jsonl", "rejections.jsonl")


def content(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in BYTES}


def test_the_set_holds_what_the_package_offers(tidings: Path) -> None:
    tasks = taskset.read_set(tidings)
    names = {program.origin.qualname for program in tasks.programs.values()}
    assert {"clamp", "digits", "running", "spread", "fold", "initials", "words", "letters", "find_span", "cut"} <= names
    assert tasks.manifest.sources[0]["license"] == "MIT"
    assert tasks.manifest.counts["programs"] == len(tasks.programs)


def test_every_function_is_a_program_or_a_rejection_with_its_reason(tidings: Path) -> None:
    tasks = taskset.read_set(tidings)
    rejections = list(read_jsonl(tidings / "rejections.jsonl", Rejection))
    reasons = {r.subject.rpartition(":")[2]: (r.stage, r.reason) for r in rejections}
    assert reasons["untyped"] == ("screen", "unannotated")
    assert reasons["stamp"] == ("screen", "time")
    used = {p.origin.function for p in tasks.programs.values()}
    assert used.isdisjoint(r.subject for r in rejections if r.subject.count(":") == 2)


def test_outcomes_are_values_and_exceptions_of_the_package_itself(tidings: Path) -> None:
    tasks = taskset.read_set(tidings)
    by_name = {p.origin.qualname: p.id for p in tasks.programs.values()}
    clamp = [case for case in tasks.cases if case.program == by_name["clamp"]]
    assert {"OutOfRange"} == {case.expected["error"]["code"] for case in clamp if "error" in case.expected}
    spans = [case for case in tasks.cases if case.program == by_name["find_span"]]
    assert any(
        isinstance(case.expected.get("value"), dict) and set(case.expected["value"]) == {"start", "end"}
        for case in spans
    )


def test_no_function_is_constant_or_an_echo_in_all_its_cases(tidings: Path) -> None:
    tasks = taskset.read_set(tidings)
    for program in tasks.programs.values():
        cases = [case for case in tasks.cases if case.program == program.id]
        assert len({json.dumps(case.expected) for case in cases}) > 1, program.origin.qualname


def test_another_process_and_worker_count_give_the_same_bytes(tidings: Path, tmp_path: Path) -> None:
    done = exe(
        "build",
        f"path:{TIDINGS}",
        "--set",
        str(tmp_path / "tidings"),
        "--workers",
        "1",
        "--quiet",
        cwd=tmp_path,
        PYTHONHASHSEED="77",
    )
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "tidings") == content(tidings)


def test_another_seed_gives_other_inputs(tidings: Path, tmp_path: Path) -> None:
    done = exe("build", f"path:{TIDINGS}", "--set", str(tmp_path / "tidings"), "--seed", "5", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "tidings")["cases.jsonl"] != content(tidings)["cases.jsonl"]


def test_a_build_killed_at_ten_random_points_gives_the_same_bytes(tidings: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    assert (
        exe(
            "build", f"path:{TIDINGS}", "--set", str(tmp_path / "whole" / "tidings"), "--quiet", cwd=tmp_path
        ).returncode
        == 0
    )
    whole = time.monotonic() - began
    draw = random.Random(20261130)
    killed, ended = 0, 0
    directory = tmp_path / "killed" / "tidings"
    while killed < 10:
        process = start("build", f"path:{TIDINGS}", "--set", str(directory), "--quiet", cwd=tmp_path)
        time.sleep(draw.uniform(0.05, 0.9) * whole)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
            continue
        assert process.returncode == 0, said  # it came to its end before: the next ones start with nothing again
        assert content(directory) == content(tidings)
        shutil.rmtree(directory)
        ended += 1
        assert ended <= 40
    done = exe("build", f"path:{TIDINGS}", "--set", str(directory), "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert killed == 10
    assert content(directory) == content(tidings)
    assert not (directory / ".build").exists()
