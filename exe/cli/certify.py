"""`exe certify`: a set's truths certified again, under other versions of Python too, and its grading proved."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

import click

from exe import taskset
from exe.cli import options
from exe.cli.progress import Bar
from exe.recertify import Bench, Finding, Report, recertify, tagged
from exe.records import Json

_SHOWN = 20


@click.command()
@click.argument("set_name", metavar="SET", default=options.DEFAULT_SET)
@click.option(
    "--python",
    "pythons",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Another interpreter to run every case with, by its path; may be repeated.",
)
@click.option(
    "--tag",
    is_flag=True,
    help="Write the set anew: refused cases leave it, those that differ by version are not asked.",
)
@options.unsafe_option
@options.quiet_option
@options.json_option
def command(set_name: str, pythons: tuple[str, ...], tag: bool, unsafe: bool, quiet: bool, as_json: bool) -> int:
    """Certify every case of a set again, and prove that it is graded rightly; exit 1 where something does not hold.

    Each truth has to come out again, under other hash seeds, addresses, clocks, entropy, surroundings, orders and depths of
    the stack. The truth written in every accepted form has to score correct, a fixed set of attacks wrong. With --python
    the cases run under other versions too; that an outcome differs there is told, and is no failure.
    """
    tasks = taskset.read_set(options.set_folder(set_name))
    with Bar("certifying", len({case.program for case in tasks.cases}), unit="functions", quiet=quiet) as bar:
        report = recertify(tasks, Bench(pythons=pythons, unsafe=unsafe, done=bar.advance))
    click.echo(json.dumps(as_tree(report)) if as_json else text(report))
    if tag:
        counts = tagged(tasks, report).counts
        if not as_json:
            click.echo(
                f"{tasks.directory}: written anew with {counts['cases']} cases of {counts['programs']} functions"
            )
    return 0 if report.sound else 1


def as_tree(report: Report) -> Json:
    """The report as one JSON object."""
    return {
        "set": report.name,
        "versions": list(report.versions),
        "cases": len(report.findings),
        "verdicts": dict(Counter(one.verdict for one in report.findings)),
        "differing": _differing(report),
        "refused": [asdict(one.rejection) for one in report.findings if one.rejection is not None],
        "differs": [{"case": one.case.id, **one.differs} for one in report.findings if one.differs],
        "faults": [asdict(fault) for one in report.findings for fault in one.faults],
        "sound": report.sound,
    }


def _differing(report: Report) -> dict[str, int]:
    return {version: sum(version in one.differs for one in report.findings) for version in report.versions[1:]}


def text(report: Report) -> str:
    """The report for people: counts, then what does not hold and what differs, a bounded number of each."""
    verdicts = Counter(one.verdict for one in report.findings)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    lines = [f"{report.name}: {len(report.findings)} cases: {counts}; Python {', '.join(report.versions) or 'none'}"]
    for version, count in _differing(report).items():
        lines.append(f"  {count} cases have another outcome under {version}")
    lines += _listed("refused", [_refusal(one) for one in report.findings if one.rejection is not None])
    lines += _listed(
        "graded wrongly",
        [f"{f.case}: {f.form} is {f.verdict}: {f.text}" for one in report.findings for f in one.faults],
    )
    lines += _listed(
        "other outcomes",
        [f"{one.case.id} under {version}: {both}" for one in report.findings for version, both in one.differs.items()],
    )
    return "\n".join(lines)


def _refusal(one: Finding) -> str:
    rejection = one.rejection
    return "" if rejection is None else f"{rejection.subject}: {rejection.reason}: {rejection.detail}"


def _listed(head: str, rows: list[str]) -> list[str]:
    if not rows:
        return []
    more = [f"  and {len(rows) - _SHOWN} more (--json lists all)"] if len(rows) > _SHOWN else []
    return [f"{head}:", *(f"  {' '.join(row.split())}" for row in rows[:_SHOWN]), *more]
