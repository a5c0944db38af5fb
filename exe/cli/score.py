"""`exe score`: the numbers of finished runs again, from what they stored."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from exe import taskset
from exe.cli import options, tables
from exe.cli.run import whole_numbers
from exe.errors import IncompleteError
from runners import results
from runners.scorefile import regrade, score_run


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@options.set_option(None)
@click.option("--k", "ks", default="1", show_default=True, metavar="K[,K...]", help="Which pass@k to print.")
@click.option("--regrade", "again", is_flag=True, help="Grade every stored answer again first; asks no model.")
@options.json_option
def command(runs: tuple[Path, ...], set_name: str | None, ks: str, again: bool, as_json: bool) -> None:
    """Score finished attempts again, without asking a model.

    RUN is the folder of a run, as `exe run` prints it. The task set is looked for by the name that the run noted, below tasks/, or
    where --set says.
    """
    incomplete = []
    for run in runs:
        name = set_name or results.read_run(run)["taskset"]["name"]
        tasks = taskset.read_set(options.set_folder(name))
        if again:
            changed = regrade(run, tasks)
            click.echo(f"{run}: {changed} verdicts changed", err=True)
        found = score_run(run, tasks, whole_numbers(ks))
        if as_json:
            click.echo(json.dumps({"run": str(run), **asdict(found)}))
        else:
            click.echo(tables.scores([(run, found)], tasks))
        if not found.complete:
            incomplete.append(str(run))
    if incomplete:
        raise IncompleteError(f"incomplete: {', '.join(incomplete)}; repeat the run's own command to finish it")
