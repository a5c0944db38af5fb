"""Which cases a limited run asks: a seeded, nested sample, spread evenly over functions (pure)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from exe.records import Case, Program


def limited(cases: Sequence[Case], limit: int | None, seed: int) -> tuple[Case, ...]:
    """At most `limit` cases, in the order of `cases`; all of them for None.

    Functions and the cases of each are put in an order drawn from `seed` and their ids, then dealt round by round: one
    case of every function, then a second of every function, … So a sample of n is part of every larger one with the
    same seed, no function has two cases more than another that has cases left, and adding a function moves no other.
    """
    if limit is None:
        return tuple(cases)
    if limit < 0:
        raise ValueError(f"limit must not be negative: {limit}")
    chosen = set(dealt(cases, seed)[:limit])
    return tuple(case for case in cases if case.id in chosen)


def dealt(cases: Iterable[Case], seed: int) -> list[str]:
    """All case ids in the order in which a growing sample takes them."""
    groups: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        groups[case.program].append(case.id)
    ranked = []
    for program, ids in groups.items():
        for turn, case_id in enumerate(sorted(ids, key=lambda each: _draw(seed, each))):
            ranked.append((turn, _draw(seed, program), case_id))
    return [case_id for _, _, case_id in sorted(ranked)]


def _draw(seed: int, text: str) -> bytes:
    """A fixed pseudo-random key; hashing, since it must be the same on every Python."""
    return hashlib.sha256(f"{seed}\0{text}".encode()).digest()


def selected(
    cases: Sequence[Case], programs: Mapping[str, Program], kinds: Sequence[str], max_source: int | None
) -> tuple[Case, ...]:
    """The cases of the wanted kinds (all for none named) whose program has at most `max_source` characters.

    `error` is the slice of `output` cases that raise. Cases whose outcome differs between versions of Python are left out.
    """

    def wanted(case: Case) -> bool:
        if case.differs:
            return False
        if max_source is not None and len(programs[case.program].source) > max_source:
            return False
        return (
            not kinds or case.kind in kinds or ("error" in kinds and case.kind == "output" and "error" in case.expected)
        )

    return tuple(case for case in cases if wanted(case))
