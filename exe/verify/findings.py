"""What the oracle found, case by case, and the figures that follow from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["same", "different", "not-comparable"]

DIFFERENCES = (
    "program-fails",  # the program no longer loads
    "record",  # the program does what the original does, but the case states something else
    "outcome",  # one returns and the other raises, or the original has no result that could be written down
    "value",  # both return, not the same
    "exception-class",
    "exception-message",
    "arguments",  # the same outcome, but the arguments are left behind otherwise
)
"""Reasons of the verdict `different`."""

OBSTACLES = (
    "no-origin",  # the manifest names no source for the program's package
    "source-changed",  # the source gives other bytes than those of the set
    "not-installable",  # pip has no wheel that fits, or a requirement cannot be met
    "optional-dependency",  # importing the original needs a package that its distribution does not bring
    "import-fails",  # importing the original raises, or ends the process
    "impure-original",  # the original does what no program may: the audit event is named
    "timeout", "memory", "crashed", "forged",  # the original met a limit of the sandbox
    "program-timeout", "program-memory", "program-crashed", "program-forged", "program-impure", "program-overflow",
    "program-unrepresentable",  # the program did, when it was run again
)  # fmt: skip
"""Reasons of the verdict `not-comparable`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCheck:
    """One case. `original` and `program` show both outcomes; `arguments` says whether those could be compared too."""

    case: str
    call: str
    verdict: Verdict
    reason: str = ""  # one of DIFFERENCES or OBSTACLES, "" for the same
    original: str = ""
    program: str = ""
    arguments: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCheck:
    """All cases of one program. `varied`: they have at least two different outcomes, so that agreeing says something."""

    program: str
    package: str
    version: str
    module: str
    qualname: str
    varied: bool
    constructs: tuple[str, ...]
    cases: tuple[CaseCheck, ...]

    @property
    def name(self) -> str:
        """package:module:qualname."""
        return f"{self.package}:{self.module}:{self.qualname}"

    @property
    def comparable(self) -> bool:
        """Whether any case could be compared."""
        return any(check.verdict != "not-comparable" for check in self.cases)

    @property
    def faithful(self) -> bool:
        """Whether no case differs and at least one was compared."""
        return self.comparable and all(check.verdict != "different" for check in self.cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts over functions whose cases have at least two different outcomes; the others stand in `constant` alone."""

    functions: int
    comparable_functions: int
    faithful_functions: int
    cases: int
    comparable_cases: int
    same_cases: int
    arguments_compared: int
    constant: int

    @property
    def case_fidelity(self) -> float | None:
        """Share of comparable cases that are the same; None where there is none."""
        return self.same_cases / self.comparable_cases if self.comparable_cases else None

    @property
    def function_fidelity(self) -> float | None:
        """Share of comparable functions all of whose cases are the same; None where there is none."""
        return self.faithful_functions / self.comparable_functions if self.comparable_functions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole set. `dropped_before` counts functions that an earlier `--drop` took out: no figure here includes them."""

    name: str
    functions: tuple[FunctionCheck, ...]
    dropped_before: int = 0

    @property
    def figures(self) -> Figures:
        """Over all packages."""
        return figures(self.functions)

    def mismatches(self) -> list[tuple[FunctionCheck, CaseCheck]]:
        """Every case that differs, those of constant functions too."""
        return [(one, check) for one in self.functions for check in one.cases if check.verdict == "different"]

    def obstacles(self) -> Counter[str]:
        """Cases that could not be compared, by reason."""
        return Counter(
            check.reason for one in self.functions for check in one.cases if check.verdict == "not-comparable"
        )

    def by_package(self) -> dict[str, Figures]:
        """Figures by "package version", sorted."""
        return self._by(lambda one: (f"{one.package} {one.version}",))

    def by_construct(self) -> dict[str, Figures]:
        """Figures by construct, sorted; a function counts under each of its constructs."""
        return self._by(lambda one: one.constructs)

    def _by(self, keys: Callable[[FunctionCheck], tuple[str, ...]]) -> dict[str, Figures]:
        groups: dict[str, list[FunctionCheck]] = {}
        for one in self.functions:
            for key in keys(one):
                groups.setdefault(key, []).append(one)
        return {key: figures(groups[key]) for key in sorted(groups)}


def figures(functions: Iterable[FunctionCheck]) -> Figures:
    """Counts a group of functions."""
    listed = list(functions)
    varied = [one for one in listed if one.varied]
    cases = [check for one in varied for check in one.cases]
    return Figures(
        functions=len(varied),
        comparable_functions=sum(one.comparable for one in varied),
        faithful_functions=sum(one.faithful for one in varied),
        cases=len(cases),
        comparable_cases=sum(check.verdict != "not-comparable" for check in cases),
        same_cases=sum(check.verdict == "same" for check in cases),
        arguments_compared=sum(check.verdict != "not-comparable" and check.arguments for check in cases),
        constant=len(listed) - len(varied),
    )
