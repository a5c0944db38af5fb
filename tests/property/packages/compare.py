"""Witnesses called in their package and in their programs: value with its types, exception, arguments after the call."""

from __future__ import annotations

import compileall
import copyreg
import decimal
import mimetypes
import re
import tempfile
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from exe.analysis import Project, read_project
from exe.inline import Inlined, inline
from tests.inlining import candidate, imported, loaded, sprung, write_package
from tests.property.packages.packages import MAIN, Generated, generate

CALLS: Final[tuple[Callable[[], tuple[Any, ...]], ...]] = (
    lambda: (5,),
    lambda: (0, [1, [2]]),
    lambda: ("word", {"k": (1, 2.0)}),
    lambda: (True, "N"),
    lambda: (5,),
)
"""Arguments of the calls of a witness, made anew for each; the first is repeated, to see what the others left behind."""

HONEST: Final = {
    "string-formatting": "a name that had to be renamed is shown by an f-string",
    "mixed-annotations": "annotations are read or have effects, and only some modules postpone them",
    "name-collision": "two globals of one name are read in bodies of classes that bind it as well",
    "module-escapes": "a module is used as a value, and not everything in it can be had",
    "unbound-name": "the package itself would miss a name",
    "definition-order": "a module is used as a value before it is loaded",
}
"""The closed list of reasons for which a generated function may be refused."""

MISSING: Final = frozenset({"NameError", "ImportError", "ModuleNotFoundError", "AttributeError", "RecursionError"})
MISSING_SHOWN: Final = frozenset(f"str {name!r}" for name in MISSING)
ALONE: Final = 1  # witness that is compared by itself besides
INSTEAD: Final = 8  # where nothing can be compared of all together
HALF: Final = re.compile(r"partially initialized module '[\w.]+'")
"""What is said where a function imports in an order in which the package does not load."""

ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
LARGEST: Final = 20_000  # values that are looked at in one result


@dataclass(frozen=True, slots=True)
class Difference:
    """A witness whose program does something else, or does not load."""

    target: str
    feature: str
    expected: str
    found: str
    source: str


@dataclass(eq=False)
class Tally:
    """What came of packages: features compared, refusals by reason and feature, originals that do not work, outcomes."""

    packages: int = 0
    functions: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[int, Difference]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Takes in what came of other packages."""
        self.packages += other.packages
        self.functions += other.functions
        self.compared += other.compared
        self.refused += other.refused
        self.broken += other.broken
        self.outcomes += other.outcomes
        self.differences += other.differences


def check_seeds(seeds: Iterable[int]) -> Tally:
    """Generates the packages of some seeds and compares them."""
    tally = Tally()
    for seed in seeds:
        random = Random(seed)
        check(generate(random), tally, random, seed)
    return tally


def check(generated: Generated, tally: Tally, random: Random, seed: int = 0) -> None:
    """Compares one package with its programs: the function that calls all witnesses, and one of them by itself.

    By itself a witness runs after the import of its own module alone. More are where the first is of no use.
    """
    tally.packages += 1
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        package = write_package(root, generated.files)
        compileall.compile_dir(root, quiet=2)
        one = _Comparison(root, read_project(package), tally, seed)
        witnesses = dict(generated.witnesses)
        shown = one.compare(f"{MAIN}:run", tuple(witnesses.values()))
        alone = ALONE if shown is not None else INSTEAD
        chosen = random.sample(sorted(witnesses), min(alone, len(witnesses)))
        for target in chosen:
            shown = {*(shown or ()), *(one.compare(target, (witnesses[target],)) or ())}
        tally.compared.update(shown or ())


@dataclass(frozen=True, slots=True)
class _Comparison:
    root: Path
    project: Project
    tally: Tally
    seed: int

    def compare(self, target: str, features: tuple[str, ...]) -> set[str] | None:
        """The features that a function and its program show alike; None where there is nothing to compare."""
        module, _, name = target.partition(":")
        told = "all together" if module == MAIN else features[0]
        expected = _run(lambda: imported(self.root, module), name)
        half = None if isinstance(expected, str) else HALF.search(str(expected))
        if half is not None:
            self.tally.broken[f"{told}: does not load in this order: {half[0]}"] += 1
            return None
        if isinstance(expected, str):
            self.tally.broken[f"{told}: {expected.replace(str(self.root), '')}"] += 1
            return None
        try:
            result = inline(self.project, candidate(self.project.package, target))
        except Exception:  # noqa: BLE001 -- a fault of the inliner is a difference as well
            self._differs(target, told, "a program", traceback.format_exc(limit=-2))
            return None
        if not isinstance(result, Inlined):
            self.tally.refused[f"{result.reason}: {told}"] += 1
            if result.reason not in HONEST:
                self._differs(target, told, "a program", f"{result.reason}: {result.detail}")
            return None
        if (reason := _come_to(result)) is not None:
            self.tally.refused[f"{reason}: {told}"] += 1
            if reason not in HONEST:
                self._differs(target, told, "a program", f"a call comes to {reason}", result.source)
            return None
        found = _run(lambda: loaded(result.source), result.entry)
        if found != expected:
            self._differs(target, told, str(expected), str(found), result.source)
            return None
        self.tally.functions += 1
        self.tally.outcomes.update(one[0] if one[0] == "value" else f"error {one[1]}" for one in expected)
        return {*_shown_by(features, expected, together=module == MAIN), *_seen(target, result)}

    def _differs(self, target: str, feature: str, expected: str, found: str, source: str = "") -> None:
        self.tally.differences.append((self.seed, Difference(target, feature, expected, found, source)))


def _come_to(result: Inlined) -> str | None:
    """The reason of the first hazard that loading the program or one of the calls comes to."""
    if not result.hazards:
        return None

    def use(namespace: dict[str, Any]) -> None:
        for arguments in CALLS:
            _outcome(namespace[result.entry], arguments())

    with _library_state():
        try:
            found = sprung(result, use)
        except Exception:  # noqa: BLE001 -- loading fails without a trap: the comparison will say so
            return None
    return found[0] if found else None


def _shown_by(features: tuple[str, ...], outcomes: list[tuple[Any, ...]], *, together: bool) -> Iterator[str]:
    """The features whose witness did more than miss a name, in one of the calls."""
    for index, feature in enumerate(features):
        if any(not _missed(value[1][index] if together else (how, value)) for how, value, *_ in outcomes):
            yield feature


def _missed(outcome: Any) -> bool:
    """Whether a witness raised for want of a name: by itself ("error", class), in the list of all ("list", [class, text])."""
    match outcome:
        case ("error", name) | ("list", [name, _], _):
            return name in MISSING or name in MISSING_SHOWN
        case _:
            return False


def _seen(target: str, result: Inlined) -> Iterator[str]:
    """What only the program tells: names given, several modules and packages."""
    module = target.partition(":")[0]
    modules = {origin.partition(":")[0] for origin in result.provenance.values()}
    if any(name != origin.partition(":")[2] for name, origin in result.provenance.items()):
        yield "(renamed)"
    if len(modules) > 1:
        yield "(several modules)"
    if any(one != module and one not in module for one in modules):
        yield "(of another module)"


def _run(opened: Callable[[], Any], name: str) -> list[tuple[Any, ...]] | str:
    """Outcomes of all calls with the arguments after each; the exception as text where loading fails."""
    with _library_state():
        try:
            with opened() as namespace:
                return [_outcome(namespace[name], arguments()) for arguments in CALLS]
        except Exception as error:  # noqa: BLE001 -- generated code may fail in any way; that is the finding
            return f"does not load: {type(error).__name__}: {error}"


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        value = function(*arguments)
    except Exception as error:  # noqa: BLE001 -- whatever the code under test raises is its outcome
        return ("error", type(error).__qualname__, ADDRESS.sub(" at 0x…", str(error)), shown(arguments))
    return ("value", shown(value), shown(arguments))


@contextmanager
def _library_state() -> Iterator[None]:
    """The state of the standard library that generated packages set, as a fresh interpreter has it, and put back."""
    tables = dict(copyreg.dispatch_table)
    files, mimetypes.knownfiles = mimetypes.knownfiles, []
    mimetypes._db, mimetypes.inited = None, False  # type: ignore[attr-defined]
    try:
        with decimal.localcontext(decimal.DefaultContext):
            yield
    finally:
        copyreg.dispatch_table.clear()
        copyreg.dispatch_table.update(tables)
        mimetypes.knownfiles = files
        mimetypes._db, mimetypes.inited = None, False  # type: ignore[attr-defined]


def shown(value: Any) -> Any:
    """A value as something that two runs can be compared by: types named, fields of objects, names of functions."""
    return _Shown().of(value, 0)


class _Shown:
    def __init__(self) -> None:
        self.left = LARGEST

    def of(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if depth > 12 or self.left < 0:
            return "…"
        match value:
            case None | bool() | int() | float() | str() | bytes() if type(value).__module__ == "builtins":
                return ADDRESS.sub(" at 0x…", f"{type(value).__name__} {value!r}")
            case type():
                return ("class", value.__name__, value.__qualname__, [base.__name__ for base in value.__mro__])
            case types.FunctionType():
                return ("function", value.__name__, value.__qualname__, value.__doc__)
            case types.ModuleType():
                return ("module",)
        kind = type(value).__qualname__
        parts: list[Any] = []
        match value:
            case dict():
                parts = [[self.of(key, depth + 1), self.of(item, depth + 1)] for key, item in value.items()]
            case list() | tuple():
                parts = [self.of(item, depth + 1) for item in value]
            case set() | frozenset():
                parts = sorted(repr(self.of(item, depth + 1)) for item in value)
            case int() | float() | str():
                parts = [type(value).__mro__[1].__name__, ADDRESS.sub(" at 0x…", f"{value:}")]
        return (kind, parts, self.of(vars(value), depth + 1) if hasattr(value, "__dict__") else None)
