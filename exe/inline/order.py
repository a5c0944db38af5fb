"""The order in which Python would execute the top-level statements of a project when one module is imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from exe.analysis.project import Project
from exe.analysis.targets import Slot
from exe.analysis.units import Unit


@dataclass(eq=False)
class Timeline:
    """Units in the order of execution. `binders` maps each global to the positions of the units that bind it."""

    project: Project
    entry: str
    units: list[Unit] = field(default_factory=list)
    position: dict[Unit, int] = field(default_factory=dict)
    loaded: dict[str, None] = field(default_factory=dict)
    binders: dict[Slot, list[int]] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)  # module → position of its last unit
    eager: int = 0  # how many modules the import of the entry alone loads
    cache: dict[str, object] = field(default_factory=dict)


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
    for position, unit in enumerate(timeline.units):
        timeline.position[unit] = position
        timeline.last[unit.module.name] = position
        for bound in unit.binds:
            timeline.binders.setdefault(Slot(unit.module.name, bound), []).append(position)
    return timeline


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
            for module, member in unit.loads:
                self.load(module)
                if member is not None and (module, member) not in self.bound:
                    self.load(f"{module}.{member}")
            self.timeline.units.append(unit)
            self.bound.update((name, bound) for bound in unit.binds)
