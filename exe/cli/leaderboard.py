"""`exe leaderboard`: the runs below some folders, ranked."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import cast

import click

from exe.cli import options
from runners.report.leaderboard import Form, leaderboard, render


@click.command()
@click.argument("roots", nargs=-1, type=click.Path(path_type=Path), metavar="[RESULTS]...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "csv", "json"]),
    default="table",
    show_default=True,
    help="How to print it.",
)
@options.json_option
def command(roots: tuple[Path, ...], form: str, as_json: bool) -> None:
    """Rank the runs below RESULTS (results/ where none is named), each task set apart.

    One run a model and set: where a model has several, name the run folders that count.
    """
    rows = leaderboard(roots or (options.RESULTS,))
    if as_json:
        for row in rows:
            click.echo(json.dumps(asdict(row)))
    else:
        click.echo(render(rows, cast(Form, form)).rstrip())
