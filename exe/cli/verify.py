"""`exe verify`: the fidelity oracle over a task set."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from exe import taskset
from exe.cli import options
from exe.cli.progress import Bar
from exe.errors import InputError
from exe.records import Json, Manifest
from exe.verify import Bench, CaseCheck, Figures, FunctionCheck, Report, originals, verify, without_unfaithful


@click.command()
@click.argument("set_name", metavar="SET", default=options.DEFAULT_SET)
@click.option("--drop", is_flag=True, help="Write the set anew without the functions that are not faithful.")
@options.workers_option
@options.unsafe_option
@options.quiet_option
@options.json_option
def command(set_name: str, drop: bool, workers: int, unsafe: bool, quiet: bool, as_json: bool) -> int:
    """Compare every program with the function that it was made from; exit 1 where they differ.

    The origin packages are taken at the versions that the set names: from this environment or the folder they were read
    from, or installed by pip below the cache folder, wheels only. They are imported in the sandbox alone. Each case is
    called on both sides: value, exception and arguments afterwards must be the same. With --drop a program with a case
    that differs leaves the set, as rejections `unfaithful`; the figures count it all the same.
    """
    tasks = taskset.read_set(options.set_folder(set_name))
    _same_interpreter(tasks.manifest)
    found = originals(tasks.manifest, options.cache_folder())
    used = {case.program for case in tasks.cases}
    with Bar("verifying", 2 * len(used), unit="runs of functions", quiet=quiet) as bar:
        report = verify(tasks, found, Bench(workers=workers, unsafe=unsafe, done=bar.advance))
    click.echo(json.dumps(as_tree(report)) if as_json else text(report))
    if not report.mismatches():
        return 0
    if not drop:
        return 1
    manifest = without_unfaithful(tasks, report)
    if not as_json:
        counts = manifest.counts
        click.echo(f"{tasks.directory}: written anew with {counts['cases']} cases of {counts['programs']} functions")
    return 0


def _same_interpreter(manifest: Manifest) -> None:
    """Messages of exceptions differ between minor versions. Raises InputError."""
    here = "{}.{}".format(*sys.version_info)
    if manifest.python.rpartition(".")[0] != here:
        raise InputError(
            f"{manifest.name} was made with Python {manifest.python}, this is {here}; verify it with the same minor version"
        )


def as_tree(report: Report) -> Json:
    """The report as one JSON object."""
    return {
        "set": report.name,
        "figures": _figures(report.figures),
        "dropped_before": report.dropped_before,
        "packages": {name: _figures(found) for name, found in report.by_package().items()},
        "constructs": {name: _figures(found) for name, found in report.by_construct().items()},
        "not_comparable": dict(report.obstacles().most_common()),
        "mismatches": [{**_function(one), **asdict(check)} for one, check in report.mismatches()],
        "functions": [
            {**_function(one), "faithful": one.faithful, "varied": one.varied, "cases": len(one.cases)}
            for one in report.functions
        ],
    }


def _function(one: FunctionCheck) -> dict[str, Json]:
    return {"function": one.name, "version": one.version, "program": one.program, "constructs": list(one.constructs)}


def _figures(found: Figures) -> dict[str, Json]:
    return {**asdict(found), "case_fidelity": found.case_fidelity, "function_fidelity": found.function_fidelity}


def text(report: Report) -> str:
    """The report for people: figures by package and construct, what could not be compared, then every mismatch."""
    rows = [("all", report.figures), *report.by_package().items()]
    lines = [*_table("package", rows), "", *_table("construct", list(report.by_construct().items()))]
    if report.figures.constant:
        lines += ["", f"{report.figures.constant} functions have one outcome only and count in no figure"]
    if report.dropped_before:
        lines += ["", f"{report.dropped_before} functions were dropped as unfaithful before; no figure counts them"]
    obstacles = report.obstacles()
    if obstacles:
        lines += ["", "not comparable (cases):"]
        for reason, count in obstacles.most_common():
            one, check = _first(report, reason)
            lines.append(f"  {count:6}  {reason}, e.g. {one.name}: {_short(check.original or check.program)}")
    mismatches = report.mismatches()
    lines += ["", f"mismatches: {len(mismatches)}"]
    for one, check in mismatches:
        lines += [
            f"  {one.name}  case {check.case}: {check.reason}",
            f"    {_short(check.call)}",
            f"    original  {_short(check.original)}",
            f"    program   {_short(check.program)}",
        ]
    return "\n".join(lines)


def _first(report: Report, reason: str) -> tuple[FunctionCheck, CaseCheck]:
    return next((one, check) for one in report.functions for check in one.cases if check.reason == reason)


def _table(head: str, rows: list[tuple[str, Figures]]) -> list[str]:
    width = max([len(head), *(len(name) for name, _ in rows)])
    lines = [f"{head:{width}}  functions  comparable  faithful   share     cases  comparable      same   share"]
    for name, found in rows:
        lines.append(
            f"{name:{width}}  {found.functions:9}  {found.comparable_functions:10}  {found.faithful_functions:8}  "
            f"{_share(found.function_fidelity)}  {found.cases:8}  {found.comparable_cases:10}  {found.same_cases:8}  "
            f"{_share(found.case_fidelity)}"
        )
    return lines


def _share(value: float | None) -> str:
    """Per cent, rounded down: only what is whole reads 100."""
    return "     –" if value is None else f"{int(value * 10_000) / 100:6.2f}"


def _short(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]}…"
