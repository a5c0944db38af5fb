"""`exe import`: another benchmark's files in, a task set out."""

from __future__ import annotations

import json
from pathlib import Path

import click

from exe import taskset
from exe.cli import options
from exe.errors import StorageError, UsageError
from exe.suites import cruxeval

SUITES = ("cruxeval",)


@click.command()
@click.argument("suite", type=click.Choice(SUITES), metavar="SUITE")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@options.set_option(None)
@click.option(
    "--replay",
    "replay",
    type=click.Path(path_type=Path),
    help="Also write the published answers of FILE 2 as a replay file.",
)
def command(suite: str, files: tuple[Path, ...], set_name: str | None, replay: Path | None) -> None:
    """Turn another benchmark's files into a task set.

    \b
    cruxeval  cruxeval.jsonl [generations.json --replay OUT.jsonl]   (MIT; 800 functions; answer format and rule `python`)
    """
    folder = options.set_folder(set_name or suite)
    if (replay is None) != (len(files) == 1):
        raise UsageError("published answers need both: the generations as second FILE, and --replay OUT.jsonl")
    if taskset.is_set(folder):
        found, _ = taskset.read_manifest(folder)
        if found.generator != suite:
            raise UsageError(f"{folder} holds another set ({found.name}); choose another --set or remove it")
    else:
        taskset.refuse_foreign(folder)
    answers = list(cruxeval.replay_lines(files[1], cruxeval.load(files[0])[2])) if replay is not None else []
    manifest = cruxeval.write_set(files[0], folder, name=folder.resolve().name)
    click.echo(
        f"{folder}: {manifest.counts['cases']} cases of {manifest.counts['programs']} functions, answer format {manifest.answer_format}"
    )
    if replay is not None:
        try:
            replay.write_text("".join(json.dumps(line) + "\n" for line in answers), "utf-8")
        except OSError as error:
            raise StorageError(f"{replay}: cannot be written: {error.strerror}") from None
        click.echo(f"{replay}: {len(answers)} answers")
