"""What a run amounts to, for people: the leaderboard's own table of these runs, then what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exe.taskset import TaskSet
from runners import results
from runners.intervals import Estimate
from runners.job import RunSettings
from runners.report.leaderboard import leaderboard, render
from runners.score import Score


def percent(found: Estimate | None) -> str:
    """A share in percent with its 95% interval, "–" where it is unknown."""
    if found is None:
        return "–"
    return f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def scores(runs: Sequence[tuple[Path, Score]], tasks: TaskSet, settings: RunSettings | None = None) -> str:
    """The table, pass@k beyond 1, how the cases were chosen, and where the results are."""
    lines = [render(leaderboard([folder for folder, _ in runs]), "table").rstrip(), ""]
    for folder, score in runs:
        for k, found in score.pass_at.items():
            if k != "1":
                lines.append(f"pass@{k}: {percent(found)} ({folder.parent.name})")
    lines.append(_asked(runs[0][1], tasks, settings))
    if any(score.type_only is not None for _, score in runs):
        judges = {_judge(folder) for folder, _ in runs}
        lines.append(f"messages of exceptions: {'; '.join(sorted(judges))}")
    lines += [f"results: {folder}" for folder, _ in runs]
    return "\n".join(lines)


def _judge(folder: Path) -> str:
    judge = results.read_run(folder).get("judge")
    return (
        "compared by rule, no judge" if judge is None else f"judged by {judge['name']} where the rules see a difference"
    )


def _asked(score: Score, tasks: TaskSet, settings: RunSettings | None) -> str:
    text = f"asked: {score.cases} of {len(tasks.cases)} cases, {score.clusters} of {len(tasks.programs)} functions"
    if settings is not None and settings.max_source:
        text += f"; only programs of up to {settings.max_source} characters"
    if settings is not None and settings.limit:
        text += f"; a sample drawn with seed {settings.seed}"
    return text
