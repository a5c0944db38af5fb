"""The order in which Python would execute the top-level statements of a project when one module is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from exe.analysis import static
from exe.analysis.imports import imported_names
from exe.analysis.project import Project
from exe.analysis.targets import Slot, Target
from exe.analysis.units import Unit
from exe.inline.changes import immediate


@dataclass(eq=False)
class Timeline:
    """Units in the order of execution. `binders` maps each global to the positions of the units that bind it."""

    project: Project
    entry: str
    units: list[Unit] = field(default_factory=list)
    position: dict[Unit, int] = field(default_factory=dict)
    loaded: dict[str, None] = field(default_factory=dict)
    binders: dict[Slot, list[int]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)  # module → position of its first unit
    last: dict[str, int] = field(default_factory=dict)  # module → position of its last unit
    written: set[Slot] = field(default_factory=set)  # globals that another module assigns: `mod.name = …` at its top
    eager: int = 0  # how many modules the import of the entry alone loads
    cache: dict[str, object] = field(default_factory=dict)

    def number(self) -> None:
        """Notes where each unit stands, once all are there."""
        for position, unit in enumerate(self.units):
            self.position[unit] = position
            self.first.setdefault(unit.module.name, position)
            self.last[unit.module.name] = position
            for bound in unit.binds:
                self.binders.setdefault(Slot(unit.module.name, bound), []).append(position)


def simulate(
    project: Project, entry: str, late: Iterable[str] = (), early: Mapping[Unit, tuple[str, ...]] | None = None
) -> Timeline:
    """The timeline of `import entry`, then of the modules in `late`, which functions import when they run.

    `early` names modules to import just before a unit: one that calls, while modules load, a function that imports them.
    """
    timeline = Timeline(project, entry)
    run = _Run(timeline, early or {})
    run.load(entry)
    timeline.eager = len(timeline.loaded)
    for name in late:
        run.load(name)
    timeline.number()
    for unit in timeline.units:
        timeline.written.update(written_by(project, unit))
    return timeline


def written_by(project: Project, unit: Unit) -> tuple[Slot, ...]:
    """Globals of other modules that a unit assigns as attributes; computed once a project."""
    cache: dict[Unit, tuple[Slot, ...]] = project.cache.setdefault("written", {})
    found = cache.get(unit)
    if found is None:
        slots: list[Slot] = []
        for text in _assigned_attributes(unit):
            target = _dotted_then(project, unit, text)
            if isinstance(target, Slot) and target.module != unit.module.name:
                slots.append(target)
        found = cache[unit] = tuple(slots)
    return found


def _assigned_attributes(unit: Unit) -> Iterator[str]:
    """Dotted texts of the attributes that a statement assigns when it runs."""
    if isinstance(
        unit.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Expr
    ):
        return
    for node in immediate(unit.node):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            text = static.dotted(node)
            if text is not None:
                yield text


def _imported_by_call(project: Project, unit: Unit) -> tuple[tuple[str, str | None], ...]:
    """What is imported by the function that a statement certainly calls, with the member asked for; once a project."""
    node = unit.node
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) or not isinstance(node.value, ast.Call):
        return ()
    cache: dict[Unit, tuple[tuple[str, str | None], ...]] = project.cache.setdefault("imported", {})
    found = cache.get(unit)
    if found is None:
        text = static.dotted(node.value.func)
        target = _dotted_then(project, unit, text) if text is not None else None
        called = project.table(target.module).binders.get(target.name, []) if isinstance(target, Slot) else []
        found = cache[unit] = tuple(_imported_first(called[0])) if len(called) == 1 else ()
    return found


def _imported_first(unit: Unit) -> Iterator[tuple[str, str | None]]:
    """The imports that run whenever a function is called: those at its top, before it branches."""
    node = unit.node
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return
    if any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in unit.nodes):
        return
    for statement in node.body:
        match statement:
            case ast.Import() | ast.ImportFrom():
                for one in imported_names(unit.module, statement):
                    yield one.loads, one.target.attribute
            case ast.Expr() | ast.Assign() | ast.AnnAssign() | ast.Global():
                pass
            case _:
                return


def _dotted_then(project: Project, unit: Unit, text: str) -> Target:
    """What a dotted name stands for when a statement runs."""
    return project.dotted(unit.module.name, text, first=project.module_then(unit, text.partition(".")[0]))


class _Run:
    def __init__(self, timeline: Timeline, early: Mapping[Unit, tuple[str, ...]]) -> None:
        self.timeline = timeline
        self.early = early
        self.bound: set[tuple[str, str]] = set()

    def load(self, name: str) -> None:
        """Imports a project module: the packages around it first, then its units; nothing the second time."""
        project, loaded = self.timeline.project, self.timeline.loaded
        if name in loaded or project.find(name) is None:
            return
        parent = name.rpartition(".")[0]
        if parent:
            self.load(parent)
            if name in loaded:
                return
        loaded[name] = None
        for unit in project.table(name).units:
            for wanted in self.early.get(unit, ()):
                self.load(wanted)
            for module, member in (*unit.loads, *_imported_by_call(project, unit)):
                self.load(module)
                if member is not None and (module, member) not in self.bound:
                    self.load(f"{module}.{member}")
            self.timeline.units.append(unit)
            self.bound.update((name, bound) for bound in unit.binds)
