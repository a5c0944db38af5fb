from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from exe.errors import InputError, UsageError
from runners import results
from runners.job import RunSettings
from runners.report.leaderboard import Row, Share, leaderboard, ranked, render
from tests.support import tasks
from tests.support.questions import FAST, measure


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five real runs on one set, one on another; of the replays one is half right, one is incomplete."""
    root = tmp_path_factory.mktemp("board")
    demo = tasks.write_set(root / "set", programs=4, cases=5)
    for spec in ("oracle", "baseline:echo", "baseline:null"):
        measure(spec, demo, root / "out")
    lines = [
        {
            "case": tasks.case(n, turn).id,
            "sample": 0,
            "text": json.dumps(tasks.case(n, turn).expected if n < 2 else {"value": 0}),
        }
        for n in range(4)
        for turn in range(5)
    ]
    for name, chosen in (("half.jsonl", lines), ("part.jsonl", lines[:9])):
        (root / name).write_text("".join(json.dumps(line) + "\n" for line in chosen))
        measure(f"replay:{root / name}", demo, root / "out")
    measure("baseline:null", tasks.write_set(root / "other", programs=2, cases=3, answer_format="python"), root / "out")
    return root / "out"


def test_rows_are_ranked_within_their_set_and_floors_are_shown_unranked(out: Path) -> None:
    rows = leaderboard([out])
    big = [row for row in rows if row.cases == 20]
    assert [(row.model, row.rank) for row in big] == [
        ("oracle", None),
        ("replay:half.jsonl", 1),
        ("baseline:echo", None),
        ("baseline:null", None),
        ("replay:part.jsonl", None),
    ]
    assert [row.model for row in rows if row.cases != 20] == ["baseline:null"]


def test_a_row_says_what_the_run_was(out: Path) -> None:
    half = next(row for row in leaderboard([out]) if row.model == "replay:half.jsonl")
    assert half.complete
    assert half.pass_at_1
    assert half.pass_at_1.value == 0.5
    assert half.pass_at_1.low < 0.5 < half.pass_at_1.high
    assert half.errors
    assert half.errors.value == 0.5
    assert half.unparseable == 0.0
    assert (half.cases, half.samples, half.done) == (20, 1, 20)
    assert half.cost_usd is None
    assert half.input_tokens is None
    assert half.seconds is not None


def test_an_incomplete_run_has_no_number(out: Path) -> None:
    part = next(row for row in leaderboard([out]) if row.model == "replay:part.jsonl")
    assert not part.complete
    assert (part.done, part.pass_at_1, part.unparseable) == (9, None, None)
    assert "incomplete: 9/20" in render([part], "table")


def test_a_run_that_never_ended_is_shown_as_such(out: Path, tmp_path: Path) -> None:
    (folder,) = out.glob("*/oracle-*/*")
    (tmp_path / results.RUN).write_bytes((folder / results.RUN).read_bytes())
    (row,) = leaderboard([tmp_path])
    assert (row.complete, row.done, row.rank) == (False, 0, None)


def test_run_folders_and_roots_may_overlap(out: Path) -> None:
    (folder,) = out.glob("*/oracle-*/*")
    assert leaderboard([out, folder, out / "."]) == leaderboard([out])
    assert [row.model for row in leaderboard([folder])] == ["oracle"]


def test_two_runs_of_a_model_on_a_set_are_listed_not_chosen_from(tmp_path: Path) -> None:
    demo = tasks.write_set(tmp_path / "set")
    one = measure("oracle", demo, tmp_path / "out")
    two = measure("oracle", demo, tmp_path / "out", RunSettings(limit=2, policy=FAST))
    with pytest.raises(UsageError) as caught:
        leaderboard([tmp_path / "out"])
    assert str(one.folder) in str(caught.value)
    assert str(two.folder) in str(caught.value)


@pytest.mark.parametrize("name", [results.RUN, results.SCORE])
@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_malformed_file_is_named(tmp_path: Path, name: str, text: str) -> None:
    done = measure("oracle", tasks.write_set(tmp_path / "set"), tmp_path / "out")
    (done.folder / name).write_text(text)
    with pytest.raises(InputError, match=name):
        leaderboard([tmp_path / "out"])


def test_a_root_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no runs"):
        leaderboard([tmp_path])
    with pytest.raises(InputError, match="no folder"):
        leaderboard([tmp_path / "none"])


def row(model: str, value: float, provider: str = "openai") -> Row:
    return Row(
        rank=None,
        model=model,
        set="s",
        set_sha256="0" * 64,
        complete=True,
        cases=10,
        samples=1,
        done=10,
        pass_at_1=Share(value=value, low=0.0, high=1.0),
        errors=None,
        typed=None,
        unparseable=0.1,
        input_tokens=1_234_567,
        output_tokens=1_500,
        cost_usd=1.5,
        seconds=3725.0,
        provider=provider,
        folder="x",
    )


def test_equal_scores_share_a_rank_and_floors_take_none() -> None:
    rows = [row("c", 0.5), row("echo", 0.9, "baseline"), row("a", 0.7), row("b", 0.5), row("d", 0.1)]
    assert [(each.model, each.rank) for each in ranked(rows)] == [
        ("echo", None),
        ("a", 1),
        ("b", 2),
        ("c", 2),
        ("d", 4),
    ]


def test_every_form_shows_every_row(out: Path) -> None:
    rows = leaderboard([out])
    for form in ("table", "markdown"):
        text = render(rows, form)
        assert all(each.model in text for each in rows)
        assert "50.0 [" in text
    assert [each["model"] for each in json.loads(render(rows, "json"))] == [each.model for each in rows]
    table = list(csv.DictReader(io.StringIO(render(rows, "csv"))))
    assert [each["model"] for each in table] == [each.model for each in rows]
    assert next(each for each in table if each["model"] == "replay:half.jsonl")["pass_at_1"] == "0.5"


def test_numbers_read_as_people_write_them() -> None:
    text = render([row("m", 0.5)], "markdown")
    assert "1.2M/1.5k" in text
    assert "1h02m" in text
    assert "1.50" in text


def test_a_model_name_cannot_leave_its_cell_or_style_the_table() -> None:
    strange = replace(row("a|b\nc [red]x[/red]", 0.5), set="[bold]s")
    assert "| a\\|b c [red]x[/red] |" in render([strange], "markdown")
    assert "[red]x[/red]" in render([strange], "table")
    assert "[bold]s" in render([strange], "table")
