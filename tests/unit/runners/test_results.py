from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
from pathlib import Path
from typing import Any

import pytest

from exe.errors import InputError, StorageError
from exe.records import Attempt, Case, Completion
from exe.taskset import read_set as load
from runners import results
from runners.attempts import UNGRADED
from runners.environment import describe
from runners.lock import Locked, exclusive
from runners.report.leaderboard import leaderboard
from runners.results import AttemptLog, Plan
from runners.scorefile import score_run
from tests.support import tasks
from tests.support.questions import measure

PLAN = Plan(cases=tuple(tasks.case(1, turn) for turn in range(4)), samples=2)


def attempt(position: int, **changes: Any) -> Attempt:
    case, sample = PLAN.at(position)
    fields: dict[str, Any] = {
        "case": case.id,
        "sample": sample,
        "request_sha256": f"{position:064x}",
        "completion": Completion(text="naïve \ud800 text\n"),
        "repair": None,
        "answer": None,
        "verdict": "correct",
        "reason": None,
        "credit": 1.0,
        "strict": dict(UNGRADED),
    }
    return Attempt(**{**fields, **changes})


def wanted(case: Case, sample: int) -> str:
    return f"{PLAN.cases.index(case) * 2 + sample:064x}"


def opened(path: Path) -> tuple[AttemptLog, list[Attempt]]:
    log = AttemptLog(path, PLAN)
    return log, list(log.recover(wanted))


def test_any_order_of_writing_ends_in_the_order_of_the_plan(tmp_path: Path) -> None:
    path = tmp_path / results.ATTEMPTS
    log, _ = opened(path)
    for position in (5, 0, 7, 1, 2, 6, 4, 3):
        log.append(attempt(position))
    log.finish()
    assert list(results.read_attempts(path)) == [attempt(position) for position in range(8)]
    before = path.stat().st_ino
    log, found = opened(path)
    log.finish()
    assert len(found) == 8
    assert path.stat().st_ino == before  # an ordered file is left alone


def test_a_later_try_takes_the_place_of_a_failed_one(tmp_path: Path) -> None:
    path = tmp_path / results.ATTEMPTS
    log, _ = opened(path)
    log.append(attempt(0, verdict="failed", completion=None))
    log.append(attempt(1))
    assert list(log.missing()) == [0, 2, 3, 4, 5, 6, 7]
    log.close()
    log, found = opened(path)
    assert found == [attempt(1)]
    assert log.count_missing() == 7
    log.append(attempt(0))
    log.finish()
    assert list(results.read_attempts(path)) == [attempt(0), attempt(1)]


@pytest.mark.parametrize("cut", [1, 50, 10_000])
def test_a_line_without_end_is_cut_off_wherever_it_tore(tmp_path: Path, cut: int) -> None:
    path = tmp_path / results.ATTEMPTS
    log, _ = opened(path)
    log.append(attempt(0))
    log.append(attempt(1, completion=Completion(text="x" * 200_000)))
    log.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    log, found = opened(path)
    assert found == [attempt(0)]
    log.append(attempt(1, completion=Completion(text="x" * 200_000)))
    log.close()
    assert path.read_bytes() == whole


def test_a_file_of_one_torn_line_is_empty(tmp_path: Path) -> None:
    path = tmp_path / results.ATTEMPTS
    path.write_bytes(b'{"case": "x')
    log, found = opened(path)
    log.close()
    assert found == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize("line", [b"{}\n", b"[]\n", b"\n", b"\xff\n", b"[" * 100_000 + b"\n"])
def test_a_malformed_line_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / results.ATTEMPTS
    log, _ = opened(path)
    log.append(attempt(0))
    log.close()
    path.write_bytes(path.read_bytes() + line)
    log = AttemptLog(path, PLAN)
    with pytest.raises(InputError, match=r"attempts\.jsonl:2: "):
        list(log.recover(wanted))
    log.close()


def test_an_attempt_of_another_plan_is_named(tmp_path: Path) -> None:
    path = tmp_path / results.ATTEMPTS
    log, _ = opened(path)
    with pytest.raises(InputError, match="not of this run"):
        log.append(attempt(0, sample=2))
    log.close()


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    log = AttemptLog(Path("/dev/full"), PLAN)
    with pytest.raises(StorageError, match="No space left"):
        log.append(attempt(0))
    assert log.count_missing() == 8
    log.close()


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "", "...", "a/b\\c:d", "CON", "ü" * 300, "openai:org/m@http://h:1/v1", "-rf", "a\0b\n"]
)
def test_slugs_are_safe_and_tell_different_things_apart(name: str) -> None:
    one, two = results.slug(name, "1" * 64), results.slug(name, "2" * 64)
    assert one != two
    assert re.fullmatch(r"[a-z0-9](?:[a-z0-9._-]{0,46}[a-z0-9])?-[0-9a-f]{8}", one)
    assert ".." not in one


def test_objects_are_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in ("[1]", "{", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(InputError, match=r"x\.json"):
            results.read_object(path)
    with pytest.raises(InputError, match="No such file"):
        results.read_object(tmp_path / "none.json")


def _hold(path: str, ready: Any, done: Any) -> None:
    with exclusive(Path(path), wait=True):
        ready.set()
        done.wait(30)


def test_a_lock_keeps_another_process_out_until_it_ends(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(str(tmp_path / ".lock"), ready, done))
    holder.start()
    assert ready.wait(30)
    with pytest.raises(Locked), exclusive(tmp_path / ".lock", wait=False):
        pass
    holder.kill()
    holder.join()
    with exclusive(tmp_path / ".lock", wait=False):
        pass


def test_the_environment_names_versions_and_no_folder() -> None:
    found = describe()
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", found["python"])
    assert str(Path.cwd()) not in json.dumps(found)
    if found["git"] is not None:
        assert re.fullmatch("[0-9a-f]{40}", found["git"]["commit"])


def test_a_set_is_read_whole_and_checked(tmp_path: Path) -> None:
    folder = tasks.write_set(tmp_path / "set")
    taskset = load(folder)
    assert len(taskset.cases) == 12
    assert taskset.program(taskset.cases[0]).entry == "add_0"
    assert load(folder).sha256 == taskset.sha256
    cases = folder / "cases.jsonl"
    text = cases.read_text()
    cases.write_text(text.replace('"value":', '"value": ', 1))
    with pytest.raises(InputError, match="is not the manifest's"):
        load(folder)
    cases.unlink()
    with pytest.raises(InputError, match=r"cases\.jsonl: missing"):
        load(folder)
    with pytest.raises(InputError, match=r"no task set here"):
        load(tmp_path)


@pytest.mark.parametrize(("change", "words"), [("twice", "stands there twice"), ("orphan", "is not in programs.jsonl")])
def test_cases_must_be_unique_and_have_their_program(tmp_path: Path, change: str, words: str) -> None:
    folder = tasks.write_set(tmp_path / "set")
    cases = folder / "cases.jsonl"
    lines = cases.read_text().splitlines(keepends=True)
    lines += (
        [lines[0]]
        if change == "twice"
        else [lines[0].replace(tasks.program(0).id, "0" * 16).replace(tasks.case(0, 0).id, "f" * 16)]
    )
    cases.write_text("".join(lines))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["cases.jsonl"] = hashlib.sha256(cases.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=rf"cases\.jsonl:13: .*{words}"):
        load(folder)


SHAPES: list[tuple[str, str, Any]] = [
    ("taskset", "name", 5),
    ("taskset", "sha256", [1]),
    ("model", "name", None),
    ("settings", "kinds", "output"),
    ("settings", "limit", -1),
    ("settings", "max_source", "a"),
    ("settings", "seed", None),
    ("settings", "samples", "2"),
    ("settings", "samples", 0),
    ("settings", "samples", True),
    ("settings", "samples", 10**18),
    ("planned", "cases", "a"),
]


@pytest.mark.parametrize(("outer", "inner", "value"), SHAPES)
def test_a_run_json_of_another_shape_is_named(tmp_path: Path, outer: str, inner: str, value: Any) -> None:
    done = measure("oracle", tasks.write_set(tmp_path / "set"), tmp_path / "out")
    path = done.folder / "run.json"
    whole = json.loads(path.read_text())
    assert results.read_run(done.folder) == whole
    for changed, words in (
        ({**whole, outer: {**whole[outer], inner: value}}, f"'{outer}.{inner}' is not"),
        ({**whole, outer: {}}, f"'{outer}."),
        ({**whole, outer: None}, f"'{outer}."),
    ):
        path.write_text(json.dumps(changed))
        for read in (lambda: results.read_run(done.folder), lambda: leaderboard([done.folder])):
            with pytest.raises(InputError, match=rf"run\.json is not the description of a run: {words}"):
                read()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("score.json", {"pass_at": {"1": {"value": "a", "low": 0, "high": 1}}}),
        ("score.json", {"pass_at": {"1": {"value": 10**400, "low": 0, "high": 1}}}),
        ("score.json", {"spent": {"tokens": {"input": "a", "output": 1}, "cost_usd": None}}),
        ("score.json", {"spent": {"tokens": {"input": 1, "output": 1}, "cost_usd": "a"}}),
        ("timing.json", {"seconds": "a"}),
    ],
)
def test_numbers_that_are_none_are_named(tmp_path: Path, name: str, change: dict[str, Any]) -> None:
    done = measure("oracle", tasks.write_set(tmp_path / "set"), tmp_path / "out")
    path = done.folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=re.escape(name)):
        leaderboard([done.folder])


def test_what_a_failed_attempt_took_is_unknown(tmp_path: Path) -> None:
    folder = tasks.write_set(tmp_path / "set", 1, 2)
    texts = tmp_path / "one.jsonl"
    texts.write_text(json.dumps({"case": load(folder).cases[0].id, "sample": 0, "text": "1"}) + "\n")
    done = measure(f"replay:{texts}", folder, tmp_path / "out")
    spent = results.read_object(done.folder / "score.json")["spent"]
    assert set(spent["tokens"].values()) == {None}
    assert spent["cost_usd"] is None


def test_an_attempt_that_was_not_planned_is_named_with_its_file(tmp_path: Path) -> None:
    folder = tasks.write_set(tmp_path / "set", 1, 2)
    done = measure("oracle", folder, tmp_path / "out")
    path = done.folder / "attempts.jsonl"
    path.write_text(path.read_text() * 2)
    with pytest.raises(InputError, match=r"attempts\.jsonl: two verdicts on case"):
        score_run(done.folder, load(folder))
