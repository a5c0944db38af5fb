"""Shards: asked apart, merged into what one process would have written; and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from exe.errors import IncompleteError, InputError, UsageError
from exe.taskset import read_set as load
from runners import results
from runners.job import RunSettings
from runners.merge import find_parts, merge
from runners.report.leaderboard import leaderboard
from runners.results import Shard
from tests.support import tasks
from tests.support.command import exe
from tests.support.questions import FAST, measure


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return tasks.write_set(tmp_path / "set", programs=4, cases=5)


def settings(number: int | None = None, of: int = 4, **changes: Any) -> RunSettings:
    shard = None if number is None else Shard(number, of)
    return RunSettings(**{"policy": FAST, "samples": 2, "shard": shard, **changes})


def stored(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (results.RUN, results.ATTEMPTS, results.SCORE)}


def test_four_shards_merged_are_one_run(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    one = measure("oracle", demo, tmp_path / "one", settings())
    parts = [measure("oracle", demo, out, settings(number)) for number in (3, 1, 4, 2)]
    assert sum(part.planned for part in parts) == one.planned == 40
    arguments = ("merge", "--set", str(demo))
    done = exe(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    whole = results.whole_folder(parts[0].folder)
    assert whole.name == one.folder.name
    assert stored(whole) == stored(one.folder)
    assert exe(*arguments, cwd=tmp_path).returncode == 0  # once more changes nothing
    assert stored(whole) == stored(one.folder)
    (row,) = leaderboard((out,))  # the shards themselves do not compete
    assert (row.complete, row.cases) == (True, 20)
    again = measure("oracle", demo, out, settings())
    assert (again.asked, again.reused) == (0, 40)


def test_missing_and_unfinished_shards_are_named_and_nothing_is_written(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    first = measure("oracle", demo, out, settings(1))
    measure("oracle", demo, out, settings(2))
    measure("oracle", demo, out, settings(4))
    done = exe("merge", "--set", str(demo), cwd=tmp_path)
    assert done.returncode == 3
    assert "no run of shard 3/4" in done.stderr
    with pytest.raises(InputError, match="exe merge"):
        leaderboard((out,))
    third = measure("oracle", demo, out, settings(3))
    path = third.folder / results.ATTEMPTS
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    (parts,) = find_parts(out)
    with pytest.raises(IncompleteError, match="shard 3/4 is not finished"):
        merge(parts, load(demo))
    assert not (results.whole_folder(first.folder) / results.ATTEMPTS).exists()
    assert measure("oracle", demo, out, settings(3)).asked == 1
    assert exe("merge", "--set", str(demo), cwd=tmp_path).returncode == 0


def test_shards_of_different_cuts_do_not_mix(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    measure("oracle", demo, out, settings(1, 2))
    measure("oracle", demo, out, settings(2, 3))
    with pytest.raises(InputError, match="no shard of the same run"):
        find_parts(out)


def test_a_copied_shard_is_found_out(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = measure("oracle", demo, out, settings(1, 2))
    shutil.copytree(first.folder, first.folder.with_name(first.folder.name.replace("shard-1", "shard-2")))
    with pytest.raises(InputError, match="no shard of the same run"):
        find_parts(out)


@pytest.mark.parametrize("text", ["0/4", "5/4", "4", "a/b", "1/0", "-1/4", "1/1000000"])
def test_a_shard_that_cannot_be_is_refused(text: str, demo: Path, tmp_path: Path) -> None:
    done = exe("run", "oracle", "--set", str(demo), "--shard", text, cwd=tmp_path)
    assert done.returncode == 2
    assert "2/8" in done.stderr


def test_more_shards_than_cases(demo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fewer cases than shards"):
        measure("oracle", demo, tmp_path / "out", settings(30, 30))


def test_a_run_json_with_a_senseless_shard(demo: Path, tmp_path: Path) -> None:
    done = measure("oracle", demo, tmp_path / "out", settings(1, 2))
    path = done.folder / results.RUN
    for shard in ({"number": 3, "of": 2}, {"number": "1", "of": 2}, 4):
        path.write_text(json.dumps({**json.loads(path.read_text()), "shard": shard}))
        with pytest.raises(InputError, match="shard"):
            results.read_run(done.folder)
