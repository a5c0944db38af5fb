"""`exe merge`: the shards of runs, joined."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from exe import taskset
from exe.cli import options, tables
from exe.cli.run import whole_numbers
from exe.errors import IncompleteError, InputError
from runners.merge import find_parts, merge
from runners.scorefile import score_run


@click.command()
@click.argument("roots", nargs=-1, type=click.Path(path_type=Path), metavar="[RESULTS]...")
@options.set_option(None)
@click.option("--k", "ks", default="1", show_default=True, metavar="K[,K...]", help="Which pass@k to print.")
@options.json_option
def command(roots: tuple[Path, ...], set_name: str | None, ks: str, as_json: bool) -> None:
    """Join the shards of `exe run --shard I/N` below RESULTS (results/ where none is named).

    The whole run stands beside its shards, with the files that one process would have written. Shards that are missing or not finished
    are named, and nothing is written for their run.
    """
    found = [parts for root in roots or (options.RESULTS,) for parts in find_parts(root)]
    if not found:
        raise InputError(f"no shards below {', '.join(map(str, roots or (options.RESULTS,)))}")
    unfinished = []
    for parts in found:
        tasks = taskset.read_set(options.set_folder(set_name or parts.described["taskset"]["name"]))
        try:
            folder = merge(parts, tasks)
        except IncompleteError as error:
            unfinished.append(str(error))
            continue
        score = score_run(folder, tasks, whole_numbers(ks))
        text = json.dumps({"run": str(folder), **asdict(score)}) if as_json else tables.scores([(folder, score)], tasks)
        click.echo(text)
    if unfinished:
        raise IncompleteError("; ".join(unfinished))
