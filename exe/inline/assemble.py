"""From a candidate to its program: slice, order, merge, check."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from exe.analysis.project import Project
from exe.analysis.targets import Slot
from exe.analysis.units import Unit
from exe.inline.atonce import binding, needed_at_once
from exe.inline.check import check
from exe.inline.merge import Merged, merge
from exe.inline.order import simulate
from exe.inline.result import Inlined, Limits, Refused
from exe.inline.slice import Slice, Slicer
from exe.records import Candidate, Rejection

_ROUNDS: Final = 12
"""How often modules imported by functions may bring in further ones before we give up."""

_RECENT: Final = 8
"""How many slices are kept for the next function."""

DEFAULT_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class _Plan:
    """Modules to import besides the entry's: behind everything, and before certain units."""

    late: tuple[str, ...] = ()
    early: tuple[tuple[str, int, tuple[str, ...]], ...] = field(default=())


def inline(
    project: Project, candidate: Candidate, *, limits: Limits = DEFAULT_LIMITS, whole_class: bool = False
) -> Inlined | Rejection:
    """One self-contained program for a candidate's function, or a Rejection with stage `inline` and a reason of REASONS.

    `whole_class` keeps all methods of its classes; otherwise those go that nothing in the program can come to by name.
    Dependencies are read where the function comes to them; what merely lies beside it leaves them alone.
    Pure: reads the project's files, executes nothing of them. The same project and candidate give the same text.
    """
    subject = f"{candidate.package.name}:{candidate.module}:{candidate.qualname}"
    try:
        if candidate.package.environment:
            try:
                return _inline(project.alone, candidate, limits, whole_class)
            except Refused as refusal:
                if refusal.reason != "dependency-needed":
                    raise
        return _inline(project, candidate, limits, whole_class)
    except Refused as refusal:
        return Rejection(subject=subject, stage="inline", reason=refusal.reason, detail=str(refusal))
    except RecursionError as error:
        return Rejection(subject=subject, stage="inline", reason="too-deep", detail=str(error))


def _inline(project: Project, candidate: Candidate, limits: Limits, whole_class: bool) -> Inlined:
    module = project.find(candidate.module)
    name, _, method = candidate.qualname.partition(".")
    if module is None or module.fault is not None or name not in project.table(candidate.module).binders:
        if module is not None and project.table(candidate.module).raises:
            raise Refused("module-fails", f"{candidate.module} raises when it is imported here")
        raise Refused("unknown-function", f"{candidate.module}:{candidate.qualname}")
    if project.table(candidate.module).raises:
        raise Refused("module-fails", f"{candidate.module} raises when it is imported here")
    if project.hop(candidate.module, name) is not None:
        raise Refused("unknown-function", f"{name} is imported into {candidate.module} on this interpreter")
    entry = Slot(candidate.module, name)
    origins = [_origin(project, origin) for origin in candidate.origins]
    inner = [part for _, path in origins for part in path.split(".")]
    mentions = None if whole_class else (method, *inner)
    merged = _made(project, entry, tuple(dict.fromkeys(slot for slot, _ in origins)), mentions, limits)
    if len(merged.source) > limits.characters:
        raise Refused("too-large", f"{len(merged.source)} characters")
    check(merged.pieces, project.cache.setdefault("facts", {}), {one.name for _, one in merged.hazards})
    for _, one in sorted(merged.hazards, key=lambda found: (found[1].reason, found[1].detail)):
        if (one.module, one.key) == (entry.module, candidate.qualname):
            raise Refused(one.reason, one.detail)
    named = [*zip(candidate.origins, origins, strict=True)]
    return replace(_result(project, merged, entry, method, named), hazards=merged.hazards)


def _made(
    project: Project, entry: Slot, roots: tuple[Slot, ...], mentions: tuple[str, ...] | None, limits: Limits
) -> Merged:
    """The slice as text; methods of a class that is kept whole, asked for one after the other, have them in common."""
    recent: dict[object, Merged] = project.cache.setdefault("recent", {})
    key = (entry, roots, mentions, limits)
    found = recent.pop(key, None)
    if found is None:
        slice_ = _slice(project, entry, roots, mentions, limits)
        if len(slice_.readings) > limits.statements:
            raise Refused("too-large", f"{len(slice_.readings)} statements")
        found = merge(slice_)
        if len(recent) == _RECENT:
            del recent[next(iter(recent))]
    recent[key] = found
    return found


def _origin(project: Project, origin: str) -> tuple[Slot, str]:
    module, _, qualname = origin.partition(":")
    name, _, inner = qualname.partition(".")
    if project.find(module) is None:
        raise Refused(project.why_missing(module), origin)
    target = project.target(module, name)
    if not isinstance(target, Slot):
        raise Refused("unbound-name", origin)
    return target, inner


def _slice(
    project: Project, entry: Slot, roots: tuple[Slot, ...], mentions: tuple[str, ...] | None, limits: Limits
) -> Slice:
    """The slice on the first timeline that has all modules which functions import, early enough for those that call them.

    Which functions a call comes to is a guess upwards: an import that is moved for one that is never called can put modules before
    what they themselves need. Of the timelines tried, the last one of those counts on which the fewest units come too soon.
    """
    plan = _Plan()
    best: tuple[int, Slice] | None = None
    for _ in range(_ROUNDS):
        slicer = _slicer(project, entry.module, plan)
        slice_ = slicer.close(entry, roots, mentions, limits.characters)
        if slice_.late:
            plan = _Plan((*plan.late, *slice_.late), plan.early)
            continue
        broken = _too_soon(slicer, slice_)
        if best is None or broken <= best[0]:
            best = broken, slice_
        added = tuple(sorted({*plan.early, *_premature(slicer, slice_)}))
        if added == plan.early:
            return best[1]
        plan = _Plan(plan.late, added)
    raise Refused("definition-order", f"the imports inside functions around {entry.module}:{entry.name} do not settle")


def _slicer(project: Project, module: str, plan: _Plan) -> Slicer:
    cache: dict[tuple[str, _Plan], Slicer] = project.cache.setdefault("slicers", {})
    key = (module, plan)
    slicer = cache.get(key)
    if slicer is None:
        early: dict[Unit, tuple[str, ...]] = {}
        for owner, index, wanted in plan.early:
            unit = project.table(owner).units[index]
            early[unit] = (*early.get(unit, ()), *wanted)
        slicer = cache[key] = Slicer(simulate(project, module, plan.late, early))
    return slicer


def _too_soon(slicer: Slicer, slice_: Slice) -> int:
    """How many units read, as they run, a global of the project that is bound after them."""
    timeline = slicer.timeline
    return sum(
        any(timeline.binders.get(slot, [0])[0] > timeline.position[reading.unit] for slot in reading.demands.now)
        for reading in slice_.readings
    )


def _premature(slicer: Slicer, slice_: Slice) -> list[tuple[str, int, tuple[str, ...]]]:
    """Units that, while modules load, need something of a module that a function imports, which is not loaded by then."""
    timeline = slicer.timeline
    late = set([*timeline.loaded][timeline.eager :])
    lazy = {module for reading in slice_.readings for module in reading.imported_later} | late
    if not lazy:
        return []
    units = binding(slice_.readings)
    result: list[tuple[str, int, tuple[str, ...]]] = []
    for reading in slice_.readings:
        here = timeline.position[reading.unit]
        slots, imported = needed_at_once(reading, units)
        wanted = {
            slot.module
            for slot in slots
            if (slot.module in late or slot.module in imported)
            and timeline.first.get(slot.module, 0) > here
            and timeline.binders.get(slot, [0])[0] > here
        }
        if wanted:
            result.append((reading.unit.module.name, reading.unit.index, tuple(sorted(wanted))))
    return result


def _result(
    project: Project, merged: Merged, entry: Slot, method: str, origins: list[tuple[str, tuple[Slot, str]]]
) -> Inlined:
    naming = merged.naming
    names: dict[str, str] = {}
    provenance: dict[str, str] = {}
    for key, emitted in naming.emitted.items():
        if isinstance(key, Slot):
            names[f"{key.module}:{key.name}"] = emitted
            provenance[emitted] = f"{_dependency(project, key.module)}{key.module}:{key.name}"
    for origin, (slot, inner) in origins:
        names[origin] = ".".join(part for part in (naming.emitted[slot], inner) if part)
    emitted = naming.emitted[entry]
    if method:
        names[f"{entry.module}:{entry.name}.{method}"] = f"{emitted}.{method}"
    ordered = dict(sorted(names.items()))
    return Inlined(
        source=merged.source,
        entry=f"{emitted}.{method}" if method else emitted,
        names=ordered,
        provenance=dict(sorted(provenance.items())),
        blocks=merged.blocks,
    )


def _dependency(project: Project, module: str) -> str:
    """What goes before the module of a locked dependency in provenance, "" for the package's own."""
    found = project.find(module)
    return "" if found is None or found.package is project.package else f"{found.package.name}/"
