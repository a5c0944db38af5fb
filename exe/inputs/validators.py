"""The paper's seven validators (appendix A.2): what a batch of inputs must satisfy, with words for the model that made it.

Each rule sees the whole batch and answers None or one feedback text. `final` applies them as the last cycle does: rule 3
is waived, rules 2 and 7 (and 1) drop single cases, rules 4 to 6 must hold for what remains.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from exe.inputs.decode import MAX_CALL, ArgumentError, canonical_key
from exe.inputs.echo import echoes
from exe.inputs.schema import Signature
from exe.records import Call, Json, Outcome, Rejection

MIN_CASES = 10
ECHO_LIMIT = 0.5  # fewer than this share may return their input
REPEAT_LIMIT = 0.66  # no output may be this share or more
RAISE_LIMIT = 0.5  # at most this share may raise
CPU_LIMIT = 10.0  # seconds a case


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One proposed input: its call and outcome once it was run, its problem where it does not conform.

    `known` says that it was there before it was proposed.
    """

    arguments: Json
    key: str | None = None
    problem: str | None = None
    call: Call | None = None
    outcome: Outcome | None = None
    echo: bool = False
    known: bool = False
    output: str = ""  # its outcome as canonical text, typed; an exception counts by its class

    @property
    def usable(self) -> bool:
        """Whether it ran to a value or an exception."""
        return self.outcome is not None and self.outcome.status in ("value", "error")

    @property
    def raises(self) -> bool:
        """Whether its outcome is an exception."""
        return self.outcome is not None and self.outcome.status == "error"


Rule = Callable[[Sequence[Trial]], str | None]


@dataclass(frozen=True, slots=True)
class Validator:
    """One of the seven: a short name, and the rule."""

    name: str
    rule: Rule


def conformity(schema: dict[str, Json], signature: Signature, arguments: Json) -> tuple[str | None, str | None]:
    """(canonical key, None) of arguments that conform, else (None, what is wrong with them)."""
    try:
        size = len(json.dumps(arguments))
    except (RecursionError, ValueError) as error:
        return None, f"arguments: {error}"
    if size > MAX_CALL:
        return None, f"arguments: {size} characters of JSON; at most {MAX_CALL} are allowed"
    errors = sorted(
        _checker(json.dumps(schema, sort_keys=True)).iter_errors(arguments), key=lambda e: list(map(str, e.path))
    )
    if errors:
        where = ".".join(map(str, errors[0].absolute_path)) or "arguments"
        return None, f"{where}: {errors[0].message[:300]}"
    try:
        return canonical_key(signature, arguments), None
    except ArgumentError as error:
        return None, str(error)


@lru_cache(maxsize=64)
def _checker(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))


def trial(signature: Signature, key: str, call: Call, outcome: Outcome) -> Trial:
    """A conforming input, its canonical key, and its outcome."""
    echo = echoes(signature, call.arguments, outcome)
    return Trial(arguments=call.arguments, key=key, call=call, outcome=outcome, echo=echo, output=_output(outcome))


def _output(outcome: Outcome) -> str:
    if outcome.status == "error" and outcome.plain is not None:
        return f"error {outcome.plain['error']['code']}"
    return json.dumps(outcome.typed, sort_keys=True) if outcome.typed is not None else ""


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}"


def _conforms(trials: Sequence[Trial]) -> str | None:
    problems = [t.problem for t in trials if t.problem is not None]
    if not problems:
        return None
    shown = "\n".join(f"- {problem}" for problem in problems[:5])
    return f"{_share(len(problems), len(trials))} inputs do not fit the parameter schema:\n{shown}\nFollow the schema exactly."


def _distinct(trials: Sequence[Trial]) -> str | None:
    counted = Counter(t.key for t in trials if t.key is not None)
    known = {t.key for t in trials if t.known}
    repeated = [key for key, count in counted.items() if count > 1 or key in known]
    if not repeated:
        return None
    shown = "\n".join(f"- {key[:200]}" for key in repeated[:5])
    return f"These inputs occur more than once, or were there before:\n{shown}\nEvery input must differ from all others, earlier ones included."


def _enough(trials: Sequence[Trial]) -> str | None:
    count = len({t.key for t in trials if t.key is not None and not t.known})
    return None if count >= MIN_CASES else f"Only {count} usable inputs; give at least {MIN_CASES}."


def _transforms(trials: Sequence[Trial]) -> str | None:
    ran = [t for t in trials if t.usable]
    count = sum(t.echo for t in ran)
    if not ran or count < ECHO_LIMIT * len(ran):
        return None
    return (
        f"For {_share(count, len(ran))} inputs the function returns its argument as it came. "
        "Choose inputs that make it change something: fewer than half may come back untouched."
    )


def _varied(trials: Sequence[Trial]) -> str | None:
    ran = [t for t in trials if t.usable]
    if not ran:
        return None
    output, count = Counter(t.output for t in ran).most_common(1)[0]
    if count < REPEAT_LIMIT * len(ran):
        return None
    return (
        f"{_share(count, len(ran))} inputs lead to one and the same outcome, {output[:200]}. "
        "Reach other branches, so that no outcome makes up two thirds."
    )


def _succeeds(trials: Sequence[Trial]) -> str | None:
    ran = [t for t in trials if t.usable]
    count = sum(t.raises for t in ran)
    if count <= RAISE_LIMIT * len(ran):
        return None
    return (
        f"{_share(count, len(ran))} inputs raise an exception; at most half may. Give more that the function accepts."
    )


def _quick(trials: Sequence[Trial]) -> str | None:
    slow = [t for t in trials if _slow(t)]
    if not slow:
        return None
    shown = "\n".join(f"- {t.call.call[:200]}" for t in slow[:5] if t.call is not None)
    return f"These inputs need {CPU_LIMIT:g} seconds of CPU time or more:\n{shown}\nMake them smaller."


def _slow(one: Trial) -> bool:
    if one.outcome is None:
        return False
    return one.outcome.status == "timeout" or (one.outcome.cpu_seconds or 0.0) >= CPU_LIMIT


VALIDATORS: tuple[Validator, ...] = (
    Validator("schema", _conforms),
    Validator("duplicates", _distinct),
    Validator("enough", _enough),
    Validator("echo", _transforms),
    Validator("constant", _varied),
    Validator("errors", _succeeds),
    Validator("cpu", _quick),
)


def feedback(trials: Sequence[Trial]) -> dict[str, str]:
    """What each failing validator says, by its name, in the paper's order."""
    found = {validator.name: validator.rule(trials) for validator in VALIDATORS}
    return {name: text for name, text in found.items() if text is not None}


def final(subject: str, trials: Sequence[Trial]) -> tuple[list[Trial], list[Rejection]]:
    """What remains of the last cycle, in the given order, and what was dropped or why nothing remains.

    Surplus cases are dropped from the end where that makes rules 4 to 6 hold; where nothing can, all are rejected.
    """
    kept: list[Trial] = []
    dropped: Counter[str] = Counter()
    seen: set[str] = set()
    for one in trials:
        reason = _unfit(one, seen)
        if reason is not None:
            dropped[reason] += 1
            continue
        assert one.key is not None  # what does not conform is unfit
        seen.add(one.key)
        kept.append(one)
    whole = len(kept)
    balanced = _balance(kept)
    dropped["surplus"] += whole - len(balanced) if balanced else 0
    rejections = [
        Rejection(subject=subject, stage="generate", reason=reason, detail=f"{count} inputs dropped")
        for reason, count in sorted(dropped.items())
        if count
    ]
    if not balanced:
        rejections.append(_nothing_left(subject, kept))
    return balanced, rejections


def _unfit(one: Trial, seen: set[str]) -> str | None:
    if one.key is None:
        return "nonconforming"
    if one.known or one.key in seen:
        return "duplicate"
    if _slow(one):
        return "slow"
    return None if one.usable else one.outcome.status if one.outcome is not None else "not-run"


def _balance(trials: list[Trial]) -> list[Trial]:
    """The longest sub-list, as far as dropping from the end of what is too frequent goes, that rules 4 to 6 accept."""
    kept = list(trials)
    while kept:
        surplus = _surplus(kept)
        if surplus is None:
            return kept
        kept.remove(surplus)
    return []


def _surplus(trials: list[Trial]) -> Trial | None:
    """The next trial to drop, None where all three rules hold."""
    if _succeeds(trials) is not None:
        return [t for t in trials if t.raises][-1]
    if _transforms(trials) is not None:
        return [t for t in trials if t.echo][-1]
    if _varied(trials) is not None:
        frequent = Counter(t.output for t in trials).most_common(1)[0][0]
        return [t for t in trials if t.output == frequent][-1]
    return None


def _nothing_left(subject: str, trials: list[Trial]) -> Rejection:
    outputs = {t.output for t in trials}
    if not trials:
        reason, detail = "no-cases", "no input ran to a value or an exception"
    elif all(t.raises for t in trials):
        reason, detail = "always-raises", f"all of {len(trials)} inputs raise"
    elif len(outputs) == 1:
        reason, detail = "constant", f"all of {len(trials)} inputs give {next(iter(outputs))[:200]}"
    elif all(t.echo for t in trials if not t.raises):
        reason, detail = "echo", f"the input comes back in all of {len(trials)} cases that return"
    else:
        reason, detail = "monotonous", f"{len(trials)} inputs give too few different outcomes"
    return Rejection(subject=subject, stage="generate", reason=reason, detail=detail)
