"""`exe verify`: programs beside the functions they were made from, as a user runs it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exe import codec, taskset
from exe.cli import main
from exe.records import Package, Program, Rejection
from exe.sources import scrape
from tests.support.command import exe


def changed(source: Path, into: Path, changes: dict[str, tuple[str, str]]) -> Path:
    """A copy of a set in which the text of some programs, by qualname, is changed; all hashes are right."""
    shutil.copytree(source, into)
    tasks = taskset.read_set(into)
    programs = []
    for each in tasks.programs.values():
        old, new = changes.get(each.origin.qualname, ("", ""))
        programs.append(replace(each, source=each.source.replace(old, new)) if old else each)
    assert sum(one != other for one, other in zip(programs, tasks.programs.values(), strict=True)) == len(changes)
    rejections = list(codec.read_jsonl(into / "rejections.jsonl", Rejection))
    taskset.write_set(into, tasks.manifest, programs, tasks.cases, rejections)
    return into


def report(capsys: pytest.CaptureFixture[str], directory: Path, *options: str, code: int) -> Any:
    assert main(["verify", str(directory), "--json", "--quiet", *options]) == code
    return json.loads(capsys.readouterr().out)


def by_function(directory: Path) -> dict[str, Program]:
    return {each.origin.qualname: each for each in taskset.read_set(directory).programs.values()}


def test_a_set_as_it_was_built_is_faithful_in_every_case(
    tidings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(capsys, tidings, code=0)
    figures = found["figures"]
    assert figures["case_fidelity"] == figures["function_fidelity"] == 1.0
    assert figures["cases"] == figures["comparable_cases"] == len(taskset.read_set(tidings).cases)
    assert figures["arguments_compared"] > 0.9 * figures["cases"]
    assert found["mismatches"] == []
    assert {"several-modules", "enum", "dataclass", "registry", "super"} <= set(found["constructs"])


FALSIFIED = {
    "letters": ("if letter.isalpha()", "if not letter.isalpha()"),
    "clamp": ("class OutOfRange(", "undefined_name\nclass OutOfRange("),
    "digits": ('f"base {base}"', 'f"no base {base}"'),
    "running": ("    return sums", "    isinstance(numbers, list) and numbers.clear()\n    return sums"),
}
REASONS = {
    "letters": "value",
    "clamp": "program-fails",
    "digits": "exception-message",
    "running": "arguments",
}


def test_falsified_programs_are_found_listed_and_dropped(
    tidings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = changed(tidings, tmp_path / "tidings", FALSIFIED)
    before = {each.id: each.program for each in taskset.read_set(copy).cases}
    gone = {by_function(copy)[name].id for name in FALSIFIED}
    assert main(["verify", str(copy), "--quiet"]) == 1
    shown = capsys.readouterr().out
    found = report(capsys, copy, "--drop", code=0)
    reasons = {(one["function"].rpartition(":")[2], one["reason"]) for one in found["mismatches"]}
    assert reasons == set(REASONS.items())
    assert all(one["original"] != one["program"] for one in found["mismatches"])
    assert f"mismatches: {len(found['mismatches'])}" in shown
    assert all(f"tidings:{by_function(tidings)[name].origin.module}:{name}" in shown for name in FALSIFIED)
    figures = found["figures"]
    assert figures["faithful_functions"] == figures["functions"] - len(FALSIFIED)
    assert figures["same_cases"] == figures["cases"] - len(found["mismatches"])
    _assert_dropped(tidings, copy, {case for case, program in before.items() if program in gone}, found["mismatches"])
    again = report(capsys, copy, code=0)
    assert again["dropped_before"] == len(FALSIFIED)
    assert again["figures"]["function_fidelity"] == 1.0


def _assert_dropped(tidings: Path, copy: Path, cases: set[str], mismatches: list[dict[str, str]]) -> None:
    """The falsified programs left whole, each with its reasons, and nothing else did."""
    left = taskset.read_set(copy)
    assert set(by_function(copy)) == set(by_function(tidings)) - set(FALSIFIED)
    assert {each.id for each in left.cases} == {each.id for each in taskset.read_set(tidings).cases} - cases
    rejections = [
        each for each in codec.read_jsonl(copy / "rejections.jsonl", Rejection) if each.reason == "unfaithful"
    ]
    details = {each.subject: each.detail for each in rejections}
    names = {f"tidings:{by_function(tidings)[name].origin.module}:{name}" for name in FALSIFIED}
    assert set(details) == cases | names
    assert len(details) == len(rejections)
    assert all(each.stage == "certify" for each in rejections)
    for one in mismatches:
        assert one["original"] in details[one["case"]]
        assert one["program"] in details[one["case"]]
    measured = [json.loads(line)["case"] for line in (copy / "measurements.jsonl").read_text().splitlines()]
    assert set(measured) <= {case.id for case in left.cases}


def test_a_case_that_states_what_neither_does_is_found(
    tidings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "tidings"
    shutil.copytree(tidings, copy)
    tasks = taskset.read_set(copy)
    wrong = next(case for case in tasks.cases if "value" in case.expected)
    cases = [replace(each, typed={"value": "no"}) if each is wrong else each for each in tasks.cases]
    taskset.write_set(copy, tasks.manifest, list(tasks.programs.values()), cases, [])
    found = report(capsys, copy, code=1)
    assert [(one["case"], one["reason"]) for one in found["mismatches"]] == [(wrong.id, "record")]


ODD = {
    "pyproject.toml": '[project]\nname = "odd"\nversion = "1"\nlicense = "MIT"\n',
    "odd/__init__.py": "",
    "odd/needs.py": "def twice(a: int) -> int:\n    return a * 2\n",
    "odd/raises.py": "def thrice(a: int) -> int:\n    return a * 3\n",
    "odd/ends.py": "def four(a: int) -> int:\n    return a * 4\n",
}
TROUBLE = {
    "odd/needs.py": "import no_such_package_here\n",
    "odd/raises.py": "raise RuntimeError('not on this machine')\n",
    "odd/ends.py": "import os\nos._exit(3)\n",
}


def test_originals_that_cannot_be_had_are_counted_by_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in ODD.items():
        (tmp_path / "odd" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "odd" / name).write_text(text)
    assert main(["build", "path:odd", "--set", "tasks/odd", "--cases", "3", "--quiet", "--workers", "1"]) == 0
    for name, text in TROUBLE.items():
        (tmp_path / "odd" / name).write_text(text + ODD[name])
    capsys.readouterr()
    found = report(capsys, Path("tasks/odd"), code=0)
    assert list(found["not_comparable"]) == ["source-changed"]
    assert found["figures"]["comparable_cases"] == 0
    assert found["figures"]["case_fidelity"] is None

    tasks = taskset.read_set(tmp_path / "tasks" / "odd")
    package = scrape(f"path:{tmp_path / 'odd'}", cache=tmp_path)[0]
    assert isinstance(package, Package)
    manifest = replace(tasks.manifest, sources=({**tasks.manifest.sources[0], "sha256": package.sha256},))
    taskset.write_set(tasks.directory, manifest, list(tasks.programs.values()), tasks.cases, [])
    found = report(capsys, Path("tasks/odd"), code=0)
    each = len(tasks.cases) // 3
    assert found["not_comparable"] == {"import-fails": 2 * each, "optional-dependency": each}
    assert main(["verify", "tasks/odd", "--quiet"]) == 0
    assert "No module named 'no_such_package_here'" in capsys.readouterr().out


def test_another_minor_version_is_refused(tidings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "tidings"
    shutil.copytree(tidings, copy)
    tasks = taskset.read_set(copy)
    taskset.write_set(copy, replace(tasks.manifest, python="3.9.1"), list(tasks.programs.values()), tasks.cases, [])
    assert main(["verify", str(copy), "--quiet"]) == 2
    assert "Python 3.9.1" in capsys.readouterr().err


@pytest.mark.network
def test_a_package_of_the_index_is_installed_and_compared(tmp_path: Path) -> None:
    done = exe(
        "build", "pypi:idna==3.10", "--set", "idna", "--per-package", "4", "--cases", "5", "--quiet",
        cwd=tmp_path, EXE_CACHE=str(tmp_path / "cache"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = exe("verify", "idna", "--json", "--quiet", cwd=tmp_path, EXE_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(done.stdout)
    assert found["figures"]["case_fidelity"] == 1.0
    assert found["figures"]["comparable_cases"] == found["figures"]["cases"] > 0
    assert list(found["packages"]) == ["idna 3.10"]
    [folder] = (tmp_path / "cache" / "originals").iterdir()
    assert (folder / "idna" / "core.py").is_file()
