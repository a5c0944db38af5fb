"""Where the order of a hash table may show: decided from the text."""

from __future__ import annotations

import pytest

from exe.hashing import shows


@pytest.mark.parametrize(
    "source",
    [
        "x = {1, 2}",
        "x = {a for a in b}",
        "x = list(set(a))",
        "x = map(frozenset, a)",
        "x = sorted(set(a), key=f)",
        "from collections import defaultdict\nx = defaultdict(set)",
        "x = a.keys() | b",
        "x = a - b.items()",
        "x = a.union(b)",
        "x = hash(a)",
        "x = sorted(a, key=id)",
        "x = a.__hash__()",
        "import weakref\nx = weakref.WeakSet()",
        "for a in {1, 2}: pass",
        "x = {1, 2} == a",
        "def f(",
    ],
)
def test_it_may_show(source: str) -> None:
    assert shows(source)


@pytest.mark.parametrize(
    "source",
    [
        "x = {1: 2}",
        "x = a in {1, 2}",
        "x = a not in set(b)",
        "x = sorted({1, 2})",
        "x = len(set(a))",
        "def f(a: set[int]) -> frozenset[int]: return a",
        "x: set[int]",
        "x = isinstance(a, (set, frozenset))",
        "x = a.keys()",
        "x = a | b",
        "class A:\n    def __hash__(self):\n        return 1",
        "set = 3",
        "T = dict[str, set[int]]",
    ],
)
def test_it_does_not_show(source: str) -> None:
    assert not shows(source)
