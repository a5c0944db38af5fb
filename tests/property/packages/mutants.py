"""Deliberate faults in the inliner: each is found by the generated packages, or these are not worth much."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final
from unittest.mock import PropertyMock, patch

from exe.analysis.project import Project
from exe.analysis.targets import Slot
from exe.analysis.units import Unit
from exe.inline import assemble, closure, naming, order, reading, slice, writing
from exe.inline.order import Timeline, simulate
from tests.property.packages.compare import check_seeds


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: what replaces a name of a module or class, and within how many packages it has to be found."""

    name: str
    owner: Any
    attribute: str
    replacement: Any
    packages: int = 60


def _ordered(timeline: Timeline, units: Iterable[Unit]) -> Timeline:
    """The timeline with its units in another order."""
    result = Timeline(timeline.project, timeline.entry, list(units), loaded=timeline.loaded, eager=timeline.eager)
    result.written = timeline.written
    result.number()
    return result


def _by_module_name(project: Project, entry: str, late: Iterable[str] = (), early: Any = None) -> Timeline:
    timeline = simulate(project, entry, late, early)
    return _ordered(timeline, sorted(timeline.units, key=lambda unit: (unit.module.name, unit.index)))


def _importer_first(project: Project, entry: str, late: Iterable[str] = (), early: Any = None) -> Timeline:
    timeline = simulate(project, entry, late, early)
    place = {name: index for index, name in enumerate(timeline.loaded)}
    return _ordered(timeline, sorted(timeline.units, key=lambda unit: (place[unit.module.name], unit.index)))


def _not_late(project: Project, entry: str, late: Iterable[str] = (), early: Any = None) -> Timeline:
    """Modules that functions import come before all else."""
    timeline = simulate(project, entry, late, early)
    eager = [*timeline.loaded][: timeline.eager]
    return _ordered(timeline, sorted(timeline.units, key=lambda unit: unit.module.name in eager))


def _around_skipped(run: Any, name: str) -> None:
    """The package around a module is not loaded with it."""
    project, loaded = run.timeline.project, run.timeline.loaded
    if name in loaded or project.find(name) is None:
        return
    loaded[name] = None
    for unit in project.table(name).units:
        for module, member in unit.loads:
            run.load(module)
            if member is not None and (module, member) not in run.bound:
                run.load(f"{module}.{member}")
        run.timeline.units.append(unit)
        run.bound.update((name, bound) for bound in unit.binds)


def _one_name_for_all(name: str, keys: list[Any], slice_: Any, requests: Any, named: Any) -> None:
    for key in keys:
        named.emitted[key] = name
        named.owners[name] = key


def _no_definitions(writer: Any) -> tuple[str, str]:
    """A definition that is renamed keeps no name of its own, but for the new one."""
    node = writer.unit.node
    new = writer.naming.emitted.get(Slot(writer.unit.module.name, getattr(node, "name", "")))
    if new is not None and new != node.name and isinstance(node, writing.BLOCKS):
        start = writer.source.index(node.name, writer.lines.span(node)[0])
        writer.edits.append((start, start + len(node.name), new))
        return "", ""
    return _definitions(writer)


_definitions = writing.UnitWriter._definitions

MUTANTS: Final = (
    Mutant("orderer: units sorted by the names of modules", assemble, "simulate", _by_module_name),
    Mutant("orderer: an importer comes before what it imports", assemble, "simulate", _importer_first),
    Mutant("orderer: modules that functions import come first", assemble, "simulate", _not_late, 120),
    Mutant("orderer: a lazy import that a call needs early comes late", assemble, "_premature", lambda *_: [], 120),
    Mutant("orderer: packages around a module are not loaded", order._Run, "load", _around_skipped),
    Mutant("renamer: a collision keeps one name", naming, "_share", _one_name_for_all),
    Mutant("renamer: locals are not avoided", naming, "captured", lambda _: set(), 120),
    Mutant("renamer: global statements keep the old name", writing.UnitWriter, "_globals", lambda _: None),
    Mutant("renamer: a definition takes its new name", writing.UnitWriter, "_definitions", _no_definitions),
    Mutant("slicer: what changes a table is dropped", slice, "touched_by", lambda *_: frozenset()),
    Mutant("slicer: changes through an alias are dropped", slice.Slicer, "_aliases", lambda _: [], 120),
    Mutant("slicer: a snapshot of a rebound global is live", reading.Reader, "_rebound", lambda *_: False),
    Mutant("slicer: subclasses that nobody names are dropped", closure.Closure, "_subclasses", lambda _: None, 120),
    Mutant("merger: modules of classes are not told", slice.Slice, "shows_modules", PropertyMock(return_value=False)),
)


def found_after(mutant: Mutant, check: Callable[[Iterable[int]], Any] = check_seeds) -> int | None:
    """How many packages it takes until a difference shows; None where none does within the limit."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(mutant.owner, mutant.attribute, mutant.replacement))
        for seed in range(mutant.packages):
            if check([seed]).differences:
                return seed + 1
    return None
