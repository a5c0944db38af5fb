"""Choosing the inputs to keep: as different in what they do as can be, simple ones first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from exe.inputs.validators import Trial
from exe.records import Json

_WEIGHTS = {"branch": 5, "output": 3, "shape": 3, "error": 4, "path": 2, "recurs": 4, "size": 2, "given": 1}
_NEWS = ("branch", "shape", "error", "path")
_MASK = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9]+")


def features(trial: Trial) -> frozenset[tuple[str, str]]:
    """What a trial shows that others may not: its outcome, its shape, its path, its size, the arguments given."""
    found = {("size", str(len(trial.call.call).bit_length()))} if trial.call is not None else set()
    found.add(("given", " ".join(sorted(trial.arguments))))
    outcome = trial.outcome
    if outcome is None or outcome.plain is None:
        return frozenset(found)
    if outcome.branches:
        found.add(("path", " ".join(map(str, outcome.branches))))
        found.update(("branch", str(number)) for number in outcome.branches)
    if trial.raises:
        error = outcome.plain["error"]
        found.add(("error", str(error["code"])))
        found.add(("shape", f"{error['code']}: {_MASK.sub('…', str(error['message']))[:200]}"))
    else:
        found.add(("output", trial.output))
        found.add(("shape", shape((outcome.typed or {}).get("value"))))
    return frozenset(found)


def shape(value: Json, level: int = 0) -> str:
    """The form of a typed value without its contents: kinds, which elements are empty, magnitudes."""
    match value:
        case None | True | False:
            return str(value)
        case int():
            return (
                "0"
                if value == 0
                else f"{'-' if value < 0 else ''}int{len(str(abs(value))) if abs(value) < 10**9 else '+'}"
            )
        case float():
            return "float" if value >= 0 else "-float"
        case str():
            return f"str{len(value).bit_length()}"
        case list() if level < 3:
            kinds = sorted({shape(item, level + 1) for item in value[:50]})
            return f"[{len(value).bit_length()}:{','.join(kinds[:6])}]"
        case dict() if "@odata.type" in value:
            return f"{value['@odata.type']}{shape(value.get('value'), level + 1)}"
        case dict() if level < 3:
            return (
                f"{{{len(value).bit_length()}:{','.join(shape(item, level + 1) for item in list(value.values())[:6])}}}"
            )
        case _:
            return "…"


def novel(trials: Sequence[Trial], seen: frozenset[tuple[str, str]]) -> list[Trial]:
    """Trials, simple ones first, that show a branch, a shape, an error or a path not seen before."""
    known = set(seen)
    found = []
    for one in sorted(trials, key=_simplicity):
        fresh = {feature for feature in features(one) if feature[0] in _NEWS} - known
        if fresh and one.usable:
            known |= fresh
            found.append(one)
    return found


def select(trials: Sequence[Trial], count: int) -> list[Trial]:
    """At most `count` usable trials, greedily by how much each adds; at most half raise and less than half echo.

    Branches come first. An output that several inputs share is likely a branch of its own, and is represented. Once all
    branches are there no outcome takes more than a third; where that leaves places free, up to three fifths.
    """
    rest = sorted((one for one in trials if one.usable), key=_simplicity)
    times = Counter(one.output for one in rest)
    traits = {
        id(one): features(one) | ({("recurs", one.output)} if times[one.output] > 1 else frozenset()) for one in rest
    }
    chosen: list[Trial] = []
    seen: set[tuple[str, str]] = set()
    often = max(1, count * 3 // 5)
    for kinds, repeats in ((("branch",), often), (tuple(_WEIGHTS), max(1, count // 3)), (tuple(_WEIGHTS), often)):
        weights = {kind: _WEIGHTS[kind] for kind in kinds}
        while len(chosen) < count:
            allowed = [one for one in rest if _within(one, chosen, count, repeats)]
            gains = [sum(weights.get(kind, 0) for kind, _ in traits[id(one)] - seen) for one in allowed]
            if not gains or (kinds == ("branch",) and not max(gains)):
                break
            best = allowed[gains.index(max(gains))]
            chosen.append(best)
            seen |= traits[id(best)]
            rest.remove(best)
    return chosen


def _within(one: Trial, chosen: Sequence[Trial], count: int, repeats: int) -> bool:
    """Whether there is still room for a trial of this sort."""
    if one.raises and sum(other.raises for other in chosen) >= count // 2:
        return False
    if one.echo and sum(other.echo for other in chosen) >= (count - 1) // 2:
        return False
    return sum(other.output == one.output for other in chosen) < repeats


def _simplicity(one: Trial) -> tuple[int, str]:
    text = one.call.call if one.call is not None else ""
    return len(text), text
