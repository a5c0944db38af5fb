"""A set certified again: stable and unstable truths, wrong ones, other versions of Python, and what a run then asks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exe import taskset
from exe.cli import main
from exe.codec import from_json, read_json
from exe.recertify import Bench, recertify
from exe.records import Case, Manifest, Origin, Program, Rejection
from exe.sandbox.host import Sandbox
from exe.values import encode
from runners.sampling import selected
from tests.support import tasks as support

STABLE = "def f(n):\n    return n + 1\n"
UNSTABLE = "def f(n):\n    return list({'a', 'b', 'c', 'd', 'e', 'f'})\n"
BY_VERSION = "import sys\ndef f(n):\n    return n if sys.version_info < (3, 12) else -n\n"


def another(minor: int) -> str:
    """An interpreter of that minor version; skips the test where there is none."""
    for name in (f"python3.{minor}", *map(str, (Path.home() / ".pyenv" / "versions").glob(f"3.{minor}.*/bin/python"))):
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    pytest.skip(f"no Python 3.{minor} here")


def program(source: str) -> Program:
    origin = Origin(package="p", version="1", module="m", qualname="f", path="m.py", line=1)
    return Program(
        id=support.digest(source), entry="f", source=source, parameters={}, returns="int", origin=origin, provenance={}
    )


def case(source: str, n: int, truth: Any) -> Case:
    plain, typed = encode(truth)
    return Case(
        id=support.digest(f"{source}{n}"),
        program=support.digest(source),
        kind="output",
        arguments={"n": n},
        call=f"f(n={n})",
        expected={"value": plain},
        typed={"value": typed},
    )


def written(folder: Path, programs: list[Program], cases: list[Case]) -> taskset.TaskSet:
    support.write_set(folder)
    manifest = from_json(Manifest, read_json(folder / taskset.MANIFEST), "manifest")
    version = "{}.{}.{}".format(*sys.version_info[:3])
    taskset.write_set(folder, replace(manifest, python=version, settings={}), programs, cases, [])
    return taskset.read_set(folder)


def test_stable_truths_stand_and_others_do_not(tmp_path: Path) -> None:
    cases = [case(STABLE, 3, 4), case(STABLE, 4, 6), case(UNSTABLE, 3, ["a", "b", "c", "d", "e", "f"])]
    tasks = written(tmp_path, [program(STABLE), program(UNSTABLE)], cases)
    report = recertify(tasks, Bench())
    found = {one.case.call + one.case.program: one for one in report.findings}
    assert found["f(n=3)" + cases[0].program].rejection is None
    wrong = found["f(n=4)" + cases[0].program].rejection
    assert wrong is not None
    assert (wrong.reason, wrong.detail) == ("another-truth", '{"value":6} | {"value":5}')
    unstable = found["f(n=3)" + cases[2].program].rejection
    assert unstable is not None
    assert (unstable.subject, unstable.reason) == (cases[2].id, "nondeterministic")
    assert not report.sound


def test_a_truth_written_as_a_literal_does_not_say_what_is_one_object(tmp_path: Path) -> None:
    source = "def f(n):\n    a = [n]\n    return {'a': a, 'b': a} if n else (n,)\n"
    cases = [case(source, 3, {"a": [3], "b": [3]}), case(source, 0, [0])]
    for rule, refused in (("python", [cases[1].call]), ("json", [cases[0].call, cases[1].call])):
        written(tmp_path, [program(source)], cases)
        manifest = from_json(Manifest, read_json(tmp_path / taskset.MANIFEST), "manifest")
        taskset.write_set(tmp_path, replace(manifest, rule=rule, answer_format="odata"), [program(source)], cases, [])
        report = recertify(taskset.read_set(tmp_path), Bench())
        assert sorted(one.case.call for one in report.findings if one.rejection) == sorted(refused)


def test_text_in_another_language_is_executed_by_nobody(tmp_path: Path) -> None:
    foreign = replace(case(STABLE, 3, 99), language="java")
    (found,) = recertify(written(tmp_path, [program(STABLE)], [foreign]), Bench()).findings
    assert (found.verdict, found.rejection) == ("not-python", None)


@pytest.mark.parametrize("minor", [12, 13])
def test_what_differs_by_version_is_tagged_and_not_asked(minor: int, tmp_path: Path, capsys: Any) -> None:
    if sys.version_info >= (3, 12):
        pytest.skip("the program tells older versions from 3.12")
    cases = [case(STABLE, 3, 4), case(BY_VERSION, 0, 0), case(BY_VERSION, 5, 5)]
    written(tmp_path, [program(STABLE), program(BY_VERSION)], cases)
    path = another(minor)
    assert main(["certify", str(tmp_path), "--python", path, "--tag", "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    (version,) = told["differing"]
    assert version.startswith(f"3.{minor}.")
    assert told["differs"] == [{"case": cases[2].id, version: '{"value":5} | {"value":-5}'}]
    tasks = taskset.read_set(tmp_path)
    assert {one.call: one.differs for one in tasks.cases if one.program == cases[2].program} == {
        "f(n=0)": None,
        "f(n=5)": (f"3.{minor}",),
    }
    assert len(selected(tasks.cases, tasks.programs, (), None)) == 2
    with Sandbox(workers=1, python=path) as box:
        list(box.execute([]))


def test_the_command_tells_and_tags(tmp_path: Path, capsys: Any) -> None:
    cases = [case(STABLE, 3, 4), case(UNSTABLE, 3, ["a", "b", "c", "d", "e", "f"])]
    written(tmp_path, [program(STABLE), program(UNSTABLE)], cases)
    assert main(["certify", str(tmp_path), "--tag", "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "1 certified, 1 refused" in out
    assert "nondeterministic" in out
    tasks = taskset.read_set(tmp_path)
    assert [one.id for one in tasks.cases] == [cases[0].id]
    assert list(tasks.programs) == [cases[0].program]
    rejections = (tmp_path / "rejections.jsonl").read_text()
    assert from_json(Rejection, json.loads(rejections.splitlines()[0]), "").subject == cases[1].id
    assert main(["certify", str(tmp_path), "--quiet"]) == 0


def test_a_path_that_is_no_python_is_bad_usage(tmp_path: Path, capsys: Any) -> None:
    written(tmp_path, [program(STABLE)], [case(STABLE, 3, 4)])
    assert main(["certify", str(tmp_path), "--python", "/bin/true", "--quiet"]) == 2
    assert "no Python" in capsys.readouterr().err
