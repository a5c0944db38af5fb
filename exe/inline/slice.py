"""What a function needs: the backward slice of a timeline, closed over reads, bindings and mutations."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from exe.analysis import static, stdlib
from exe.analysis.imports import Imported, imported_names
from exe.analysis.project import Builtin, Foreign, Missing, ModuleRef, Project, Slot, Target
from exe.analysis.scopes import ImportNode, Reading, Scope, Use
from exe.analysis.units import IMPORT_ERRORS, WIDE_ERRORS, Unit, lookup_in
from exe.inline.effects import Effects
from exe.inline.order import Timeline
from exe.inline.result import Refused

DYNAMIC_BUILTINS: Final = {
    "globals": "dynamic-namespace",
    "exec": "dynamic-namespace",
    "eval": "dynamic-namespace",
    "__import__": "dynamic-import",
}
DYNAMIC_FOREIGN: Final = frozenset(
    {"importlib.import_module", "importlib.__import__", "importlib.reload", "sys.modules"}
)
ANNOTATION_READERS: Final = frozenset(
    {
        "typing.get_type_hints",
        "inspect.signature",
        "inspect.get_annotations",
        "inspect.getfullargspec",
        "inspect.Signature",
    }
)
LITERAL_DUNDERS: Final = ("__name__", "__package__")


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where a use leads: the target and how many of its attributes lead there."""

    target: Target
    used: int = 0


@dataclass(frozen=True, slots=True)
class LocalImport:
    """One name that an import statement below the top level binds, and what becomes of it.

    `how`: "keep" as written, "drop" (its uses name the target), "assign" the target to the name, "fail" as it must here.
    """

    node: ImportNode
    alias: ast.alias
    bound: str
    scope: Scope
    target: Target
    how: str


@dataclass(eq=False)
class UnitReading:
    """A unit with its uses resolved."""

    unit: Unit
    uses: list[tuple[Use, Resolved]] = field(default_factory=list)
    imports: list[LocalImport] = field(default_factory=list)
    dead: list[ast.stmt] = field(default_factory=list)  # first statements of bodies that never run
    dead_bodies: list[list[ast.stmt]] = field(default_factory=list)
    pinned: list[Slot] = field(default_factory=list)
    reads_annotations: bool = False


@dataclass(eq=False)
class Slice:
    """The units that a program is made of, in order, with everything resolved."""

    timeline: Timeline
    entry: Slot
    readings: list[UnitReading]
    foreign: dict[Foreign, None]
    late: list[str]
    reads_annotations: bool
    slicer: Slicer

    def resolve_import(self, imported: Imported) -> Target:
        """What an import gives on this timeline."""
        return self.slicer.import_target(imported.module, imported.attribute)


class Slicer:
    """Closes the needs of functions over one timeline. What it learns of units is kept for the next function."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.project: Project = timeline.project
        self._targets: dict[tuple[str, str], Target] = {}
        self._readings: dict[Unit, UnitReading | Refused] = {}

    @cached_property
    def touchers(self) -> dict[Slot | Foreign, list[int]]:
        """Positions of the units that change a global, or the state of a library."""
        found: dict[Slot | Foreign, list[int]] = {}
        for position, unit in enumerate(self.timeline.units):
            for touched in touched_by(self.project, unit):
                found.setdefault(touched, []).append(position)
        return found

    # ---- resolution -------------------------------------------------------------------------------------------------

    def target(self, module: str, name: str) -> Target:
        """What a global stands for; a name imported from a global that is rebound later keeps a variable of its own."""
        key = (module, name)
        if key not in self._targets:
            self._targets[key] = Missing(name, "unresolved-import")  # what a circle of imports comes to
            self._targets[key] = self._target(module, name)
        return self._targets[key]

    def _target(self, module: str, name: str) -> Target:
        hop = self.project.hop(module, name)
        if hop is None or hop.attribute is None or self.project.find(hop.module) is None:
            return self.project.target(module, name)
        table = self.project.table(hop.module)
        if hop.attribute not in table.binders and hop.attribute not in table.declared:
            return self.project.target(module, name)
        inner = self.target(hop.module, hop.attribute)
        if isinstance(inner, Missing):
            return self.project.target(module, name)
        if isinstance(inner, Slot) and self._rebound(inner, Slot(module, name)):
            return Slot(module, name)
        return inner

    def _rebound(self, slot: Slot, importer: Slot) -> bool:
        if slot.name in self.project.table(slot.module).declared:
            return True
        ours, theirs = self.timeline.binders.get(importer), self.timeline.binders.get(slot)
        return bool(ours and theirs and theirs[-1] > ours[-1] and theirs[0] < ours[-1])

    def resolve(self, module: str, use: Use) -> Resolved:
        """Where a global use leads, through the modules that its attributes name."""
        return self._walk(self.target(module, use.name), use)

    def _walk(self, target: Target, use: Use) -> Resolved:
        used = 0
        while isinstance(target, ModuleRef) and used < len(use.attributes):
            target = self._member(target.name, use.attributes[used].attr)
            used += 1
        return Resolved(target, used)

    def _member(self, module: str, name: str) -> Target:
        table = self.project.table(module)
        if name in table.binders or name in table.declared:
            return self.target(module, name)
        return self.project.member(module, name)

    # ---- reading one unit -------------------------------------------------------------------------------------------

    def reading(self, unit: Unit) -> UnitReading:
        """The unit with its uses resolved. Raises Refused where something in it cannot be inlined."""
        known = self._readings.get(unit)
        if known is None:
            try:
                known = self._read(unit)
            except Refused as refusal:
                known = refusal
            self._readings[unit] = known
        if isinstance(known, Refused):
            raise Refused(known.reason, str(known))
        return known

    def _read(self, unit: Unit) -> UnitReading:
        reading = UnitReading(unit)
        self._dead_branches(reading)
        self._local_imports(reading)
        dropped = {(id(entry.scope), entry.bound): entry.target for entry in reading.imports if entry.how == "drop"}
        module = unit.module.name
        for use in unit.names.uses:
            if any(_inside(use.node, body) for body in reading.dead_bodies):
                continue
            if use.home is None:
                found = self.resolve(module, use)
                if unit.index <= self._first_binding(found.target, unit) and not use.deferred:
                    found = self._before_binding(found, use, unit)
            elif (id(use.home), use.name) in dropped:
                found = self._walk(dropped[id(use.home), use.name], use)
            elif use.ambiguous:
                found = self.resolve(module, use)
                if not isinstance(found.target, Slot | Foreign) or found.used:
                    continue
                if isinstance(found.target, Slot):
                    reading.pinned.append(found.target)
            else:
                continue
            if any(attribute.attr == "__annotations__" for attribute in use.attributes):
                reading.reads_annotations = True
            reading.uses.append((use, found))
        return reading

    def _first_binding(self, target: Target, unit: Unit) -> int:
        if not isinstance(target, Slot) or target.module != unit.module.name or target.name not in stdlib.BUILTINS:
            return -1
        units = self.project.table(target.module).binders.get(target.name)
        return units[0].index if units else -1

    def _before_binding(self, found: Resolved, use: Use, unit: Unit) -> Resolved:
        """A builtin that the module shadows further down: `range = xrange if … else range` reads the builtin."""
        if use.context == "load" and isinstance(unit.node, ast.Assign | ast.AnnAssign | ast.Expr | ast.FunctionDef):
            return Resolved(Builtin(use.name), 0)
        return found

    def _dead_branches(self, reading: UnitReading) -> None:
        unit = reading.unit
        if isinstance(unit.node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Import | ast.ImportFrom):
            return
        source = unit.module.source
        if "TYPE_CHECKING" not in source and "version_info" not in source and "sys.platform" not in source:
            return
        table = self.project.table(unit.module.name)
        stack: list[ast.AST] = [unit.node]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.If):
                value = static.evaluate(node.test, lambda text: lookup_in(self.project, table, text))
                if value is not static.UNKNOWN:
                    self._mark_dead(node.orelse if value else node.body, reading)
            if not isinstance(node, ast.expr):
                stack.extend(ast.iter_child_nodes(node))

    def _mark_dead(self, body: list[ast.stmt], reading: UnitReading) -> None:
        while len(body) == 1 and isinstance(body[0], ast.If) and _is_elif(body[0], reading.unit):
            reading.dead_bodies.append(body[0].body)
            body = body[0].orelse
        if body:
            reading.dead_bodies.append(body)

    # ---- imports below the top level --------------------------------------------------------------------------------

    def _local_imports(self, reading: UnitReading) -> None:
        unit = reading.unit
        if isinstance(unit.node, ast.Import | ast.ImportFrom):
            return
        for node, scope in unit.names.imports:
            if any(_inside(node, body) for body in reading.dead_bodies):
                continue
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                raise Refused("unplaceable-import", f"{unit.module.name}: a star import inside a block")
            for entry in imported_names(unit.module, node):
                target = self.import_target(entry.target.module, entry.target.attribute)
                how = self._fate(unit, node, scope, entry.bound, target)
                reading.imports.append(LocalImport(node, entry.alias, entry.bound, scope, target, how))
        self._settle(reading)

    def import_target(self, module: str, attribute: str | None) -> Target:
        if self.project.find(module) is None or attribute is None:
            return self.project.follow_parts(module, attribute)
        return self._member(module, attribute)

    def _fate(self, unit: Unit, node: ImportNode, scope: Scope, bound: str, target: Target) -> str:
        if isinstance(target, Foreign) and target.known and _there(target):
            return "keep"
        if isinstance(target, Foreign | Missing):
            if _guarded(unit.node, node):
                return "fail"
            name = target.dotted if isinstance(target, Foreign) else target.name
            raise Refused("unresolved-import", name)
        pure = scope.kind in ("function", "class") and bound not in scope.bound and bound not in scope.outside
        return "drop" if pure and scope.kind == "function" else "assign"

    def _settle(self, reading: UnitReading) -> None:
        """A name that several imports of a scope bind to different things has to stay a variable."""
        groups: dict[tuple[int, str], list[LocalImport]] = {}
        for entry in reading.imports:
            groups.setdefault((id(entry.scope), entry.bound), []).append(entry)
        settled: list[LocalImport] = []
        for entry in reading.imports:
            group = groups[id(entry.scope), entry.bound]
            how = entry.how
            if how == "drop" and any(other.how != "drop" or other.target != entry.target for other in group):
                how = "assign"
            if how == "assign" and isinstance(entry.target, ModuleRef):
                raise Refused("module-escapes", f"{entry.target.name} in {reading.unit.module.name}")
            settled.append(LocalImport(entry.node, entry.alias, entry.bound, entry.scope, entry.target, how))
        reading.imports = settled

    # ---- closure ----------------------------------------------------------------------------------------------------

    def close(self, entry: Slot, roots: Iterable[Slot], reads_annotations: bool = False) -> Slice:
        """The slice for an entry and further roots. Raises Refused."""
        closure = _Closure(self, reads_annotations)
        for slot in (entry, *roots):
            closure.need(slot)
        closure.run()
        readings = [self.reading(self.timeline.units[position]) for position in sorted(closure.selected)]
        found = any(reading.reads_annotations for reading in readings) or any(
            self._reads_annotations(reading) for reading in readings
        )
        if found and not reads_annotations:
            return self.close(entry, roots, reads_annotations=True)
        late = sorted(closure.late)
        return Slice(self.timeline, entry, readings, closure.foreign, late, found, self)

    def _reads_annotations(self, reading: UnitReading) -> bool:
        for use, found in reading.uses:
            if isinstance(found.target, Foreign) and use.reading is Reading.NONE:
                rest = [attribute.attr for attribute in use.attributes[found.used :]]
                text = ".".join([found.target.dotted, *rest])
                if text in ANNOTATION_READERS:
                    return True
        return False


class _Closure:
    def __init__(self, slicer: Slicer, reads_annotations: bool) -> None:
        self.slicer = slicer
        self.timeline = slicer.timeline
        self.reads_annotations = reads_annotations
        self.selected: set[int] = set()
        self.foreign: dict[Foreign, None] = {}
        self.late: set[str] = set()
        self._seen: set[Slot | Foreign] = set()
        self._queue: list[Slot | Foreign] = []
        self._work: list[int] = []

    def need(self, wanted: Slot | Foreign) -> None:
        if wanted not in self._seen:
            self._seen.add(wanted)
            self._queue.append(wanted)

    def run(self) -> None:
        while self._queue or self._work:
            if self._work:
                self._select(self._work.pop())
                continue
            wanted = self._queue.pop()
            positions = list(self.slicer.touchers.get(wanted, ()))
            if isinstance(wanted, Slot):
                positions += self._binders(wanted)
            for position in positions:
                if position not in self.selected:
                    self.selected.add(position)
                    self._work.append(position)

    def _binders(self, slot: Slot) -> list[int]:
        if slot.module not in self.timeline.loaded:
            self.late.add(slot.module)
            return []
        positions = self.timeline.binders.get(slot)
        if positions is None:
            if slot.name in self.slicer.project.table(slot.module).declared:
                return []
            raise Refused("unbound-name", f"{slot.module}.{slot.name}")
        if len(positions) > 1:
            real = [one for one in positions if not self._overload(self.timeline.units[one])]
            return real or positions
        return positions

    def _overload(self, unit: Unit) -> bool:
        if not isinstance(unit.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        for decorator in unit.node.decorator_list:
            text = static.dotted(decorator)
            if text is not None:
                found = lookup_in(self.slicer.project, self.slicer.project.table(unit.module.name), text)
                if found in ("typing.overload", "typing_extensions.overload"):
                    return True
        return False

    def _select(self, position: int) -> None:
        unit = self.timeline.units[position]
        if isinstance(unit.node, ast.Import | ast.ImportFrom):
            self._import_unit(unit)
            return
        reading = self.slicer.reading(unit)
        for entry in reading.imports:
            if entry.how in ("assign",) and isinstance(entry.target, Slot):
                self.need(entry.target)
        for use, found in reading.uses:
            if self.needed(unit, use, found):
                self._require(unit, use, found)

    def _import_unit(self, unit: Unit) -> None:
        for name in unit.binds:
            if Slot(unit.module.name, name) in self._seen:
                target = unit.binds[name]
                assert target is not None
                found = self.slicer.import_target(target.module, target.attribute)
                match found:
                    case Slot():
                        self.need(found)
                    case Foreign(known=True):
                        self._foreign(found)
                    case ModuleRef():
                        raise Refused("module-escapes", f"{found.name} in {unit.module.name}")
                    case _:
                        raise Refused("unresolved-import", target.module)

    def needed(self, unit: Unit, use: Use, found: Resolved) -> bool:
        """Whether a use is ever evaluated."""
        if use.reading is Reading.NONE:
            return True
        if use.reading is Reading.NEVER:
            return False
        if self.reads_annotations or not unit.module.postponed:
            return True
        if use.reading is Reading.BODY and isinstance(found.target, Foreign):
            return found.target.known  # dataclasses look for ClassVar by name
        return isinstance(unit.node, ast.FunctionDef) and any(
            isinstance(decorator, ast.Attribute) and decorator.attr == "register"
            for decorator in unit.node.decorator_list
        )

    def _require(self, unit: Unit, use: Use, found: Resolved) -> None:
        target = found.target
        where = f"{unit.module.name}:{use.node.lineno}"
        match target:
            case Slot():
                if found.used and use.context != "load" and found.used == len(use.attributes) and use.deferred:
                    raise Refused("module-attribute-assigned", f"{target.module}.{target.name} at {where}")
                self.need(target)
            case Foreign(known=True) if _there(target):
                self._dynamic(target, use, found, where)
                self._foreign(target)
            case Foreign():
                raise Refused("unresolved-import", f"{target.dotted} at {where}")
            case ModuleRef(name=name):
                raise Refused("module-escapes", f"{name} at {where}")
            case Builtin(name=name):
                if name in DYNAMIC_BUILTINS and use.reading is Reading.NONE and not self._own_namespace(unit, use):
                    raise Refused(DYNAMIC_BUILTINS[name], f"{name} at {where}")
                if name in ("vars", "locals", "dir") and not use.deferred and use.called:
                    raise Refused("dynamic-namespace", f"{name} at {where}")
            case Missing(name=name, reason="module-attribute"):
                if name not in LITERAL_DUNDERS or use.context != "load":
                    raise Refused("module-attribute", f"{name} at {where}")
            case Missing(name=name, reason=reason):
                raise Refused(reason, f"{name} at {where}")

    def _own_namespace(self, unit: Unit, use: Use) -> bool:
        """`exec(code, namespace)`, `eval(text, namespace)`: code that sees the names it is given, not ours."""
        if use.name not in ("exec", "eval"):
            return False
        calls = [node for node in ast.walk(unit.node) if isinstance(node, ast.Call) and node.func is use.node]
        return any(len(call.args) >= 2 and not _is_none(call.args[1]) for call in calls)

    def _foreign(self, target: Foreign) -> None:
        self.foreign[target] = None
        self.need(Foreign(target.module, None, True))

    def _dynamic(self, target: Foreign, use: Use, found: Resolved, where: str) -> None:
        text = ".".join([target.dotted, *(attribute.attr for attribute in use.attributes[found.used :])])
        for name in DYNAMIC_FOREIGN:
            if text == name or text.startswith(f"{name}."):
                raise Refused("dynamic-import", f"{text} at {where}")


def _there(target: Foreign) -> bool:
    """Whether this interpreter has a standard-library module, and the member named of it."""
    if target.attribute is None:
        return stdlib.exists(target.module)
    return stdlib.has_member(target.module, target.attribute.partition(".")[0])


def touched_by(project: Project, unit: Unit) -> frozenset[Slot | Foreign]:
    """What executing a unit changes; computed once per project."""
    cache: dict[Unit, frozenset[Slot | Foreign]] = project.cache.setdefault("touched", {})
    found = cache.get(unit)
    if found is None:
        effects = project.cache.get("effects")
        if effects is None:

            def resolve(module: str, use: Use) -> tuple[Target, int]:
                target = project.target(module, use.name)
                used = 0
                while isinstance(target, ModuleRef) and used < len(use.attributes):
                    target = project.attribute(target, use.attributes[used].attr)
                    used += 1
                return target, used

            effects = project.cache["effects"] = Effects(project, resolve)
        found = cache[unit] = frozenset(effects.of_unit(unit))
    return found


def _inside(node: ast.AST, body: list[ast.stmt]) -> bool:
    line = getattr(node, "lineno", 0)
    column = getattr(node, "col_offset", 0)
    first, last = body[0], body[-1]
    return (first.lineno, first.col_offset) <= (line, column) < (last.end_lineno or 0, last.end_col_offset or 0)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred) or (isinstance(node, ast.Constant) and node.value is None)


def _is_elif(node: ast.If, unit: Unit) -> bool:
    start, _ = unit.module.lines.span(node)
    return unit.module.source.startswith("elif", start)


def _guarded(root: ast.stmt, node: ast.stmt) -> bool:
    """Whether a failing import here is caught: it lies in the body of a try that handles ImportError."""
    for current in ast.walk(root):
        if isinstance(current, ast.Try) and any(_inside(node, [child]) for child in current.body):
            for handler in current.handlers:
                types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                for kind in types:
                    name = "" if kind is None else (static.dotted(kind) or "?").rpartition(".")[2]
                    if name in IMPORT_ERRORS or name in WIDE_ERRORS:
                        return True
    return False
