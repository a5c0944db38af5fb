"""Scores as a table for people."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from exe.taskset import TaskSet
from runners import results
from runners.intervals import Estimate
from runners.job import RunSettings
from runners.score import Score


def percent(found: Estimate | None) -> str:
    """A share with its 95% interval, "–" where it is unknown."""
    if found is None:
        return "–"
    return f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def scores(rows: Iterable[tuple[str, Path, Score]], tasks: TaskSet, settings: RunSettings | None = None) -> str:
    """One row a run: pass@k, the error cases apart, typed-strict, unreadable answers, tokens, seconds; then where it all is."""
    listed = list(rows)
    ks = list(listed[0][2].pass_at)
    table = Table(title=f"{tasks.manifest.name}: {_asked(listed[0][2], tasks, settings)}", title_justify="left")
    table.add_column("model", overflow="fold")
    for k in ks:
        table.add_column(f"pass@{k} % [95%]", justify="right")
    for heading in ("errors %", "typed %", "unread", "failed", "tokens in/out", "time s"):
        table.add_column(heading, justify="right")
    for spec, folder, score in listed:
        errors = next((part for part in score.slices if (part.group, part.value) == ("outcome", "error")), None)
        spent, seconds = _spent(folder)
        table.add_row(
            spec,
            *(percent(score.pass_at[k]) for k in ks),
            percent(errors.pass_at[ks[0]]) if errors else "–",
            percent(score.rules["typed"]),
            str(score.verdicts["unparseable"] + score.verdicts["truncated"]),
            str(score.verdicts["failed"] + score.verdicts["missing"]),
            spent,
            seconds,
        )
    text = io.StringIO()
    Console(file=text, width=max(_terminal_width(), 110)).print(table)
    return text.getvalue() + "\n".join(f"results: {folder}" for _, folder, _ in listed)


def _terminal_width() -> int:
    return Console().width


def _asked(score: Score, tasks: TaskSet, settings: RunSettings | None) -> str:
    """How many cases, and how they were chosen."""
    text = f"{score.cases} of {len(tasks.cases)} cases, {score.clusters} functions, rule {tasks.manifest.rule}"
    if settings is not None and settings.max_source:
        text += f", only programs of up to {settings.max_source} characters"
    if settings is not None and settings.limit and score.cases < len(tasks.cases):
        text += f", sample drawn with seed {settings.seed}"
    return text


def _spent(folder: Path) -> tuple[str, str]:
    """(tokens, seconds) as text; unknown is a dash."""
    tokens = results.read_object(folder / results.SCORE).get("spent", {}).get("tokens", {})
    known = [f"{tokens[name]:,}" if tokens.get(name) is not None else "–" for name in ("input", "output")]
    timing = folder / results.TIMING
    seconds = results.read_object(timing).get("seconds") if timing.exists() else None
    return " / ".join(known), "–" if seconds is None else f"{seconds:.0f}"
