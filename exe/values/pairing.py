"""Pair two collections off, each element of one with one of the other that it matches, in whatever order they come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any


class Budget:
    """Comparisons left: a hostile answer may not cost more than this many."""

    def __init__(self, comparisons: int = 300_000) -> None:
        self.left = comparisons

    def spend(self) -> bool:
        """Take one; False when there is none left."""
        self.left -= 1
        return self.left >= 0


def pair_off(
    truths: list[Any],
    answers: list[Any],
    key: Callable[[Any], str | None],
    matches: Callable[[Any, Any], bool],
    budget: Budget,
) -> bool:
    """Tell whether a perfect matching exists between two lists of one length.

    Elements with equal keys are paired first, which settles most sets in linear time; what remains is settled exactly
    by augmenting paths (bipartite matching). When the budget is spent the answer counts as different.
    """
    pairing = _Pairing(truths, answers, matches, budget)
    buckets: defaultdict[str | None, list[int]] = defaultdict(list)
    for index in range(len(answers) - 1, -1, -1):
        buckets[key(answers[index])].append(index)
    rest = [index for index, truth in enumerate(truths) if not pairing.take(index, buckets.get(key(truth), []))]
    return all(pairing.augment(index) for index in rest)


class _Pairing:
    def __init__(
        self, truths: list[Any], answers: list[Any], matches: Callable[[Any, Any], bool], budget: Budget
    ) -> None:
        self.truths, self.answers = truths, answers
        self.matches, self.budget = matches, budget
        self.known: dict[tuple[int, int], bool] = {}
        self.owner: dict[int, int] = {}  # answer → truth

    def edge(self, truth: int, answer: int) -> bool:
        """Tell whether two elements match, at the cost of one comparison the first time."""
        found = self.known.get((truth, answer))
        if found is None:
            found = self.budget.spend() and self.matches(self.truths[truth], self.answers[answer])
            self.known[truth, answer] = found
        return found

    def take(self, truth: int, candidates: list[int]) -> bool:
        """Give a truth the first free candidate that matches."""
        for position in range(len(candidates) - 1, max(-1, len(candidates) - 9), -1):
            answer = candidates[position]
            if self.edge(truth, answer):
                self.owner[answer] = truth
                del candidates[position]
                return True
        return False

    def augment(self, start: int) -> bool:
        """Find a place for one more truth, moving others where that helps (breadth first)."""
        came_from: dict[int, int] = {}  # answer → truth that reached it
        queue = [start]
        for truth in queue:
            for answer in range(len(self.answers)):
                if self.budget.left < 0:
                    return False
                if answer in came_from or not self.edge(truth, answer):
                    continue
                came_from[answer] = truth
                if answer in self.owner:
                    queue.append(self.owner[answer])
                else:
                    self._shift(answer, came_from)
                    return True
        return False

    def _shift(self, answer: int, came_from: dict[int, int]) -> None:
        held = {truth: held for held, truth in self.owner.items()}
        while True:
            truth = came_from[answer]
            self.owner[answer] = truth
            if truth not in held:
                return
            answer = held[truth]
