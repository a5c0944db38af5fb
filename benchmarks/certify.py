"""What certification catches, and what it costs.

    python benchmarks/certify.py [SET ...] [--calls N] [--json]

Each kind of program in `benchmarks/nondeterminism.py` is certified with N calls. Seeded nondeterminism counts as caught where
no call of it becomes a case; a stateful program where a batch shows its state and every truth is the one that the call has
in a process of its own; a control where every call becomes a case. The costs are CPU time of host, zygotes and children, the
start of the sandboxes left out, for the cases of the sets (without a set: of the controls): one plain run of each case in a
process of its own, and certification, by whether hashing shows in the program.

Exit status 1 where something was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nondeterminism import CONTROLS, SEEDED, STATEFUL
from sandbox import tree_cpu

from exe import hashing, taskset
from exe.certify import SEEDS, Execute, certify
from exe.records import Call, Case, Job, Origin, Program, Rejection
from exe.sandbox.host import Sandbox

ORIGIN = Origin(package="p", version="1", module="m", qualname="f", path="m.py", line=1)
_CHILDREN = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
Work = tuple[Program, list[Call]]


@dataclass(frozen=True, slots=True)
class Row:
    """One kind: whether all went as it must, and the reasons of its rejections."""

    group: str
    kind: str
    right: bool
    reasons: tuple[str, ...]


def main() -> int:
    """Print tables, or with `--json` one object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", type=Path, metavar="SET", help="folder of a task set")
    parser.add_argument("--calls", type=int, default=4, help="calls of each kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with opened(len(SEEDS)) as boxes:
        rows = [*kinds(boxes, options.calls)]
    work = [pair for folder in options.sets for pair in cases_of(folder)] or [
        (program(source), calls(program(source), 15)) for source in CONTROLS.values()
    ]
    found = costs(work)
    missed = [row for row in rows if not row.right]
    if options.json:
        groups = {group: count(rows, group) for group in ("seeded", "control", "stateful")}
        print(json.dumps({"kinds": groups, "missed": [row.kind for row in missed], "cpu_ms_per_case": found}))
    else:
        print("\n".join([*table(rows), "", *cost_table(found)]))
    return 1 if missed else 0


def program(source: str) -> Program:
    """A program of one kind."""
    return Program(id="p", entry="f", source=source, parameters={}, returns="int", origin=ORIGIN, provenance={})


def calls(of: Program, count: int) -> list[Call]:
    """The calls f(0), f(1), …"""
    return [Call(program=of.id, arguments={"n": n}, call=f"f({n})") for n in range(count)]


@contextmanager
def opened(count: int) -> Iterator[list[Execute]]:
    """Sandboxes under the first so many hash seeds."""
    with ExitStack() as stack:
        yield [stack.enter_context(Sandbox(workers=1, hash_seed=seed)).execute for seed in SEEDS[:count]]


def kinds(boxes: Sequence[Execute], count: int) -> Iterator[Row]:
    """Every kind, certified."""
    for group, table_of, check in (
        ("seeded", SEEDED, _none_passes),
        ("control", CONTROLS, _all_pass),
        ("stateful", STATEFUL, _truths_are_alone),
    ):
        for kind, source in table_of.items():
            one = program(source)
            judged = certify(one, calls(one, count), boxes[0], boxes[1], boxes[2:])
            reasons = sorted({item.reason for item in judged if isinstance(item, Rejection)})
            yield Row(group, kind, check(judged, source, boxes[0]), tuple(reasons))


def _none_passes(judged: Sequence[Case | Rejection], _source: str, _execute: Execute) -> bool:
    return not any(isinstance(item, Case) for item in judged)


def _all_pass(judged: Sequence[Case | Rejection], _source: str, _execute: Execute) -> bool:
    return all(isinstance(item, Case) for item in judged)


def _truths_are_alone(judged: Sequence[Case | Rejection], source: str, execute: Execute) -> bool:
    texts = tuple(call.call for call in calls(program(source), len(judged)))
    (batch,) = execute([Job(source=source, calls=texts, batch=True)])
    (alone,) = execute([Job(source=source, calls=texts)])
    truths = [outcome.plain for outcome in alone]
    shows = [outcome.plain for outcome in batch] != truths
    return shows and [item.expected for item in judged if isinstance(item, Case)] == truths


def cases_of(folder: Path) -> list[Work]:
    """The cases of a set by program."""
    tasks = taskset.read_set(folder)
    found: dict[str, list[Call]] = {}
    for case in tasks.cases:
        found.setdefault(case.program, []).append(
            Call(program=case.program, arguments=case.arguments, call=case.call, generator=case.generator)
        )
    return [(tasks.programs[key], listed) for key, listed in found.items()]


def costs(work: Sequence[Work]) -> dict[str, float | int | None]:
    """CPU ms a case: one plain run, and certification of programs in which hashing does not show, and does."""
    shown = [any(map(hashing.shows, (one.source, *(call.call for call in listed)))) for one, listed in work]
    plain = [pair for pair, shows in zip(work, shown, strict=True) if not shows]
    hashed = [pair for pair, shows in zip(work, shown, strict=True) if shows]
    return {
        "plain": _a_case(_plainly, work, 1),
        "certified": _a_case(_certified, plain, len(SEEDS)),
        "certified_hashing": _a_case(_certified, hashed, len(SEEDS)),
        "cases": sum(len(listed) for _, listed in plain),
        "cases_hashing": sum(len(listed) for _, listed in hashed),
    }


def _plainly(boxes: Sequence[Execute], work: Sequence[Work]) -> None:
    for one, listed in work:
        list(boxes[0]([Job(source=one.source, calls=tuple(call.call for call in listed))]))


def _certified(boxes: Sequence[Execute], work: Sequence[Work]) -> None:
    for one, listed in work:
        certify(one, listed, boxes[0], boxes[1], boxes[2:])


def _a_case(
    measured: Callable[[Sequence[Execute], Sequence[Work]], None], work: Sequence[Work], count: int
) -> float | None:
    """CPU ms a case beyond the start of the sandboxes; None without cases."""
    cases = sum(len(listed) for _, listed in work)
    if not cases:
        return None
    start = program("def f(n):\n    return {n}\n")
    with opened(count) as boxes:
        measured(boxes, [(start, calls(start, 1))])  # starts them
        before = _cpu()
        measured(boxes, work)
        return round(1000 * (_cpu() - before) / cases, 2)


def _cpu() -> float:
    """CPU seconds of this process, of the workers that it has, and of all that has ended below them."""
    return time.process_time() + sum(tree_cpu(int(pid)) for pid in _CHILDREN.read_text().split())


def count(rows: Sequence[Row], group: str) -> str:
    """ "56/56"."""
    of = [row for row in rows if row.group == group]
    return f"{sum(row.right for row in of)}/{len(of)}"


def table(rows: Sequence[Row]) -> list[str]:
    """The kinds as Markdown."""
    words = {"seeded": ("caught", "MISSED"), "control": ("certified", "REFUSED"), "stateful": ("caught", "MISSED")}
    lines = ["| group | kind | result | reasons |", "|---|---|---|---|"]
    for row in rows:
        good, bad = words[row.group]
        lines.append(f"| {row.group} | {row.kind} | {good if row.right else bad} | {', '.join(row.reasons)} |")
    totals = [f"{group} {count(rows, group)}" for group in words]
    return [*lines, "", "; ".join(totals)]


def cost_table(found: dict[str, float | int | None]) -> list[str]:
    """The costs as Markdown."""
    plain = found["plain"]
    lines = ["| what | cases | CPU ms a case | against a plain run |", "|---|---|---|---|"]
    for name, key, cases in (
        ("one plain run, a process a case", "plain", (found["cases"] or 0) + (found["cases_hashing"] or 0)),
        ("certified, hashing does not show", "certified", found["cases"]),
        ("certified, hashing shows", "certified_hashing", found["cases_hashing"]),
    ):
        cost = found[key]
        ratio = "–" if cost is None or not plain else f"{cost / plain:.1f}×"
        lines.append(f"| {name} | {cases} | {'–' if cost is None else cost} | {ratio} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
