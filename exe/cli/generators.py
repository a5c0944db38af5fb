"""`exe show --generators`: how the generators of one or more sets compare, as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from exe.quality import Comparison, Quality, compare
from exe.sandbox.host import Sandbox
from exe.taskset import TaskSet

HEADER = (
    "set", "generator", "with cases", "cases", "median", "outcomes", "own", "raising", "branches",
    "requests", "retries", "tokens in", "tokens out", "US$", "told",
)  # fmt: skip


def report(sets: Sequence[TaskSet], *, unsafe: bool, as_json: bool) -> str:
    """The table, or one JSON object. Runs all cases once more, in the sandbox."""
    with Sandbox(workers=1, unsafe=unsafe, hash_seed=0) as sandbox:
        found = compare(sets, sandbox.execute)
    return json.dumps(asdict(found)) if as_json else table(found)


def table(found: Comparison) -> str:
    """Columns as wide as they need to be; "–" is unknown, or that no model was asked; "told" is what answers were sent back for."""
    lines = [HEADER, *(_row(one) for one in found.rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEADER))]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    note = f"; {found.left_out} left out that not every set tried" if found.left_out else ""
    return "\n".join([f"{found.functions} functions compared{note}", *shown])


def _row(one: Quality) -> tuple[str, ...]:
    spent = one.spent
    costs = (
        ["–"] * 6
        if spent is None
        else [
            str(spent.requests),
            str(spent.retries),
            _or_dash(spent.input_tokens, ","),
            _or_dash(spent.output_tokens, ","),
            _or_dash(spent.cost_usd, ".4f"),
            ", ".join(f"{name} {count}" for name, count in sorted(spent.told.items())) or "nothing",
        ]
    )
    return (
        one.set,
        one.generator,
        f"{one.with_cases}/{one.functions}",
        str(one.cases),
        f"{one.median_cases:g}",
        str(one.outcomes),
        str(one.own),
        _or_dash(one.raising, ".0%"),
        _or_dash(one.branches, ".1%"),
        *costs,
    )


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
