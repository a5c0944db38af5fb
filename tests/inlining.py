"""Helpers for inlining tests: packages from texts, and one outcome for a function as it is and as it was inlined."""

from __future__ import annotations

import importlib
import itertools
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from exe.analysis import Project, read_project
from exe.chain import suspects
from exe.inline import REASONS, Inlined, inline
from exe.records import Candidate, Package, Rejection, Type
from exe.screen import armed
from exe.screen.traps import EVENT

_numbers = itertools.count()


def write_package(root: Path, files: Mapping[str, str], name: str = "sample") -> Package:
    """Writes files below a folder and returns them as a package."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return Package(name=name, version="1", spec=f"path:{name}", root=str(root), files=tuple(sorted(files)))


def candidate(package: Package, target: str, *, origins: tuple[str, ...] = ()) -> Candidate:
    """A candidate for "module:qualname"; what inlining does not look at is left plain."""
    module, _, qualname = target.partition(":")
    return Candidate(
        package=package,
        module=module,
        qualname=qualname,
        path="",
        line=1,
        how="method" if "." in qualname else "function",
        parameters=(),
        returns=Type(kind="any", text=""),
        origins=origins,
    )


def inlined(project: Project, target: str, *, origins: tuple[str, ...] = ()) -> Inlined:
    """The program for a function that has to be inlinable."""
    result = inline(project, candidate(project.package, target, origins=origins))
    assert isinstance(result, Inlined), result
    return result


def refused(project: Project, target: str) -> Rejection:
    """The rejection of a function that must not be inlined."""
    result = inline(project, candidate(project.package, target))
    assert isinstance(result, Rejection), result.source
    return result


def shown(value: Any, depth: int = 0) -> Any:
    """A value as something that two runs can be compared by: names for functions and classes, fields for objects."""
    if depth > 8:
        return "…"
    match value:
        case None | bool() | int() | float() | str() | bytes():
            return value
        case list() | tuple():
            return [type(value).__name__, *(shown(item, depth + 1) for item in value)]
        case dict():
            return {str(shown(key, depth + 1)): shown(item, depth + 1) for key, item in value.items()}
        case set() | frozenset():
            return sorted(repr(shown(item, depth + 1)) for item in value)
        case type():
            return ("class", value.__name__, value.__qualname__, [base.__name__ for base in value.__mro__])
        case types.FunctionType():
            return ("function", value.__name__, value.__qualname__)
        case _:
            return (type(value).__qualname__, shown(getattr(value, "__dict__", {}), depth + 1))


def outcome(call: str, namespace: dict[str, Any]) -> Any:
    """Value or exception of an expression."""
    try:
        return ("value", shown(eval(call, namespace)))
    except Exception as error:  # noqa: BLE001 -- whatever the code under test raises is its outcome
        return ("error", type(error).__qualname__, str(error))


@contextmanager
def imported(root: Path, module: str) -> Iterator[dict[str, Any]]:
    """The namespace of a module freshly imported from a folder, forgotten afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(root))
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    importlib.invalidate_caches()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield vars(importlib.import_module(module))
    finally:
        sys.path.remove(str(root))
        sys.dont_write_bytecode = writes
        for name in set(sys.modules) - before:
            if (getattr(sys.modules[name], "__file__", None) or str(root)).startswith(str(root)):
                del sys.modules[name]


@contextmanager
def loaded(source: str) -> Iterator[dict[str, Any]]:
    """The namespace of a program, executed as a module of a neutral name."""
    name = f"program_{next(_numbers)}"
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, "program", "exec", dont_inherit=True), module.__dict__)
            yield module.__dict__
    finally:
        for other in [key for key, value in sys.modules.items() if value is module]:
            del sys.modules[other]  # a program may register itself under the names of its modules as well


class Sprung(BaseException):
    """A trap was come to; no `except Exception` of a program stops it."""


_sprung: list[str] = []


def _listen(event: str, _arguments: tuple[Any, ...]) -> None:
    if event.startswith(EVENT) and event.removeprefix(EVENT) in REASONS:  # what may be impure is of no concern here
        _sprung.append(event.removeprefix(EVENT))
        raise Sprung(event)


@cache
def _listening() -> None:
    sys.addaudithook(_listen)  # stays for the life of the process, and hears nothing else


def sprung(result: Inlined, use: Callable[[dict[str, Any]], object]) -> list[str]:
    """The hazards' reasons, of the traps that loading the armed program, or then using its namespace, comes to."""
    text = armed(result.source, result.entry, suspects(result, result.source))
    _sprung.clear()
    if text == result.source:
        return []
    _listening()
    try:
        with loaded(text) as namespace:
            use(namespace)
    except Sprung:
        pass  # it has been noted
    return list(_sprung)


def compare(root: Path, package: Package, target: str, arguments: str) -> Inlined:
    """Asserts that a function and its program agree on a call; returns the program."""
    result = inlined(read_project(package), target)
    module, _, qualname = target.partition(":")
    with imported(root, module) as namespace:
        expected = outcome(f"{qualname}{arguments}", namespace)
    with loaded(result.source) as namespace:
        found = outcome(f"{result.entry}{arguments}", namespace)
    assert found == expected, result.source
    return result
