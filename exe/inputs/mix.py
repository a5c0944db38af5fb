"""Several generators for one program: their inputs pooled, one of each in turn, none twice."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Final, NamedTuple

from exe.inputs.decode import canonical_key
from exe.inputs.explore import Execute
from exe.inputs.generate import Generated, generate
from exe.inputs.model import Ask, Spent, propose
from exe.inputs.schema import read_schema
from exe.records import Call, Program, Rejection

OFFLINE: Final = "offline"
"""The generator that needs no model; every other name is a model's."""


class Mixed(NamedTuple):
    """The pooled inputs with what was dropped on the way, and what each model took for its own."""

    generated: Generated
    spent: dict[str, Spent]


def mix(
    program: Program,
    names: str,
    *,
    seed: int,
    count: int,
    execute: Execute,
    asks: Mapping[str, Ask],
    errors_only: bool = False,
) -> Mixed:
    """At most `count` inputs of each generator in `names`, a comma list; each sees what those before it made.

    `asks` has every model of the list. Raises what `generate` and `propose` raise.
    """
    lists: list[list[Call]] = []
    rejections: list[Rejection] = []
    spent: dict[str, Spent] = {}
    for name in names.split(","):
        if name == OFFLINE:
            made = generate(program, seed=seed, count=count, execute=execute)
        else:
            made, spent[name] = propose(
                program,
                seed=seed,
                count=count,
                execute=execute,
                ask=asks[name],
                model=name,
                earlier=[call for calls in lists for call in calls],
                errors_only=errors_only,
            )
        lists.append(made.calls)
        rejections += made.rejections
    signature = read_schema(program.parameters)
    pooled: dict[str, Call] = {}
    for turn in zip_longest(*lists):
        for call in turn:
            if call is not None:
                pooled.setdefault(canonical_key(signature, call.arguments), call)
    return Mixed(Generated(list(pooled.values()), rejections), spent)
