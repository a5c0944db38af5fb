"""The leaderboard: one row a run below some results roots, ranked within each task set; and its four forms as text."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, assert_never

from rich.markup import escape
from rich.table import Table

from exe.errors import InputError, UsageError
from exe.records import Json
from runners import results

Form = Literal["table", "markdown", "csv", "json"]
FLOORS = ("baseline", "oracle")
MAX_DEPTH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share in 0..1 with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run. `rank` is None for baselines and the oracle, and for a run that is not complete.

    Shares are of planned attempts; None where the run is incomplete or the number does not apply. Tokens and money are
    None where a provider did not tell, seconds are wall-clock and None where no session ended in order.
    """

    rank: int | None
    model: str
    set: str
    set_sha256: str
    complete: bool
    cases: int
    samples: int
    done: int
    pass_at_1: Share | None
    errors: Share | None  # pass@1 over cases that raise
    typed: Share | None  # attempts right in value and type
    unparseable: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    seconds: float | None
    provider: str
    folder: str


def leaderboard(roots: Sequence[Path]) -> tuple[Row, ...]:
    """The rows of every run in `roots` (run folders or folders that hold some), by set, then rank.

    Equal pass@1 is an equal rank. Raises InputError for a root without runs or a malformed file, and UsageError that
    lists the runs where a model has several on one set: which of them counts is not ours to choose.
    """
    folders = sorted({folder.resolve(): folder for root in roots for folder in run_folders(root)}.values())
    described = [(folder, run) for folder in folders if _is_whole(folder, run := results.read_run(folder))]
    _refuse_doubles(described)
    by_set: dict[str, list[Row]] = defaultdict(list)
    for folder, run in described:
        row = _row(folder, run)
        by_set[row.set_sha256].append(row)
    groups = sorted(by_set.values(), key=lambda rows: (rows[0].set, rows[0].set_sha256))
    return tuple(row for rows in groups for row in ranked(rows))


def _is_whole(folder: Path, run: dict[str, Json]) -> bool:
    """Whether the run is no shard. Raises InputError for a shard that has not been merged: its score is of a part."""
    if results.shard_of(run) is None:
        return True
    if not (results.whole_folder(folder) / results.RUN).exists():
        raise InputError(f"{folder} is a shard of a run; join the shards with `exe merge` first")
    return False


def run_folders(root: Path) -> list[Path]:
    """The folders with a run.json in `root`, at most six levels deep. Raises InputError where there is none."""
    if not root.is_dir():
        raise InputError(f"{root} is no folder; give a run folder or a results root")
    found = []
    for folder, names, files in os.walk(root):
        if results.RUN in files:
            found.append(Path(folder))
            names.clear()
        elif len(Path(folder).relative_to(root).parts) >= MAX_DEPTH:
            names.clear()
    if not found:
        raise InputError(f"{root} holds no runs; make one with `exe run`")
    return sorted(found)


def ranked(rows: Iterable[Row]) -> list[Row]:
    """The rows of one set from best to worst with their ranks; incomplete runs last."""
    ordered = sorted(
        rows, key=lambda row: (row.pass_at_1 is None, -(row.pass_at_1.value if row.pass_at_1 else 0), row.model)
    )
    competing = [row.pass_at_1.value for row in ordered if _competes(row) and row.pass_at_1]
    return [
        replace(row, rank=1 + sum(other > row.pass_at_1.value for other in competing))
        if _competes(row) and row.pass_at_1
        else replace(row, rank=None)
        for row in ordered
    ]


def _competes(row: Row) -> bool:
    return row.complete and row.provider not in FLOORS


def _refuse_doubles(described: Sequence[tuple[Path, dict[str, Json]]]) -> None:
    runs: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for folder, run in described:
        runs[run["taskset"]["sha256"], results.digest(run["model"])].append(folder)
    for folders in runs.values():
        if len(folders) > 1:
            listed = ", ".join(map(str, folders))
            raise UsageError(f"{len(folders)} runs of one model on one set; give the one that counts: {listed}")


class _reading:
    """Turns a missing or misshapen member of a file into an InputError that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, KeyError | TypeError | AttributeError | ValueError | OverflowError) and not isinstance(
            error, InputError
        ):
            raise InputError(
                f"{self._path} is not as this version writes it ({type(error).__name__}: {error}); run `exe score` on it"
            ) from None


def _row(folder: Path, run: dict[str, Json]) -> Row:
    """The row of one run; a run that was never scored shows as incomplete."""
    path = folder / results.SCORE
    score = results.read_object(path) if path.exists() else None
    timing = folder / results.TIMING
    with _reading(timing):
        seconds = _number(results.read_object(timing).get("seconds")) if timing.exists() else None
    with _reading(folder / results.RUN):
        planned = run["planned"]
        row = Row(
            rank=None,
            model=run["model"]["name"],
            set=run["taskset"]["name"],
            set_sha256=run["taskset"]["sha256"],
            complete=False,
            cases=planned["cases"],
            samples=planned["samples"],
            done=0,
            pass_at_1=None,
            errors=None,
            typed=None,
            unparseable=None,
            input_tokens=None,
            output_tokens=None,
            cost_usd=None,
            seconds=seconds,
            provider=run["model"]["provider"],
            folder=str(folder),
        )
    if score is None:
        return row
    with _reading(path):
        return _scored(row, score)


def _scored(row: Row, score: dict[str, Json]) -> Row:
    spent = score["spent"]
    raising = [part for part in score["slices"] if (part["group"], part["value"]) == ("outcome", "error")]
    return replace(
        row,
        complete=bool(score["complete"]),
        done=int(score["recorded"]),
        pass_at_1=_share(score["pass_at"].get("1")),
        errors=_share(raising[0]["pass_at"].get("1")) if raising else None,
        typed=_share(score["rules"].get("typed")),
        unparseable=float(score["rates"]["unparseable"]) if score["complete"] else None,
        input_tokens=_whole(spent["tokens"]["input"]),
        output_tokens=_whole(spent["tokens"]["output"]),
        cost_usd=_number(spent["cost_usd"]),
    )


def _share(estimate: Any) -> Share | None:
    if estimate is None:
        return None
    value, low, high = (float(estimate[name]) for name in ("value", "low", "high"))
    return Share(value=value, low=low, high=high)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


HEADINGS = (
    "#",
    "model",
    "pass@1 [95%]",
    "errors",
    "typed",
    "unparseable",
    "cases×n",
    "tokens in/out",
    "cost $",
    "time",
)


def render(rows: Sequence[Row], form: Form) -> str:
    """The rows as text; `table` is for a terminal of 120 columns."""
    match form:
        case "json":
            return json.dumps([asdict(row) for row in rows], indent=2) + "\n"
        case "csv":
            return _csv(rows)
        case "markdown":
            return _markdown(rows)
        case "table":
            return _plain(rows)
        case _:
            assert_never(form)


def tables(rows: Sequence[Row]) -> Iterator[Table]:
    """One rich table a task set."""
    for name, group in _by_set(rows):
        table = Table(title=escape(name), title_justify="left")
        for number, heading in enumerate(HEADINGS):
            table.add_column(heading, justify="left" if number == 1 else "right")
        for row in group:
            table.add_row(*map(escape, _cells(row)), style=None if row.provider not in FLOORS else "dim")
        yield table


def _by_set(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.set, row.set_sha256].append(row)
    return [(f"{name} ({sha256[:8]})", group) for (name, sha256), group in groups.items()]


def _cells(row: Row) -> tuple[str, ...]:
    whole = (
        f"{100 * row.pass_at_1.value:.1f} [{100 * row.pass_at_1.low:.1f}, {100 * row.pass_at_1.high:.1f}]"
        if row.pass_at_1
        else ""
    )
    planned = row.cases * row.samples
    tokens = [_count(row.input_tokens), _count(row.output_tokens)]
    return (
        "–" if row.rank is None else str(row.rank),
        row.model,
        whole or f"incomplete: {row.done}/{planned}",
        _percent(row.errors.value if row.errors else None),
        _percent(row.typed.value if row.typed else None),
        _percent(row.unparseable),
        f"{row.cases}×{row.samples}",
        "–" if tokens == ["–", "–"] else "/".join(tokens),
        "–" if row.cost_usd is None else f"{row.cost_usd:.2f}",
        "–" if row.seconds is None else _duration(row.seconds),
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _count(number: int | None) -> str:
    if number is None:
        return "–"
    return f"{number / 1e6:.1f}M" if number >= 1e6 else f"{number / 1e3:.1f}k" if number >= 1e3 else str(number)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{seconds:.1f}s"


def _plain(rows: Sequence[Row]) -> str:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=120, color_system=None)
    for table in tables(rows):
        console.print(table)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def _markdown(rows: Sequence[Row]) -> str:
    lines = []
    for name, group in _by_set(rows):
        lines += [f"**{_flat(name)}**", "", f"| {' | '.join(HEADINGS)} |"]
        lines += ["|" + "|".join(" :-- " if number == 1 else " --: " for number in range(len(HEADINGS))) + "|"]
        lines += [f"| {' | '.join(map(_flat, _cells(row)))} |" for row in group]
        lines.append("")
    return "\n".join(lines)


def _flat(text: str) -> str:
    """Text that cannot leave its cell."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def _csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    shares = ("pass_at_1", "errors", "typed")
    names = [name for name in Row.__slots__ if name not in shares]
    writer.writerow([*names, *(f"{name}{end}" for name in shares for end in ("", "_low", "_high"))])
    for row in rows:
        cells: list[object] = [getattr(row, name) for name in names]
        for name in shares:
            share = getattr(row, name)
            cells += [None] * 3 if share is None else [share.value, share.low, share.high]
        writer.writerow(cells)
    return out.getvalue()
