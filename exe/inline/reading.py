"""One statement with its names resolved: where each leads, which branches never run, what becomes of inner imports."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from exe.analysis import static, stdlib
from exe.analysis.imports import ImportedName, imported_names, star_source
from exe.analysis.project import Project
from exe.analysis.scopes import ImportNode, Reading, Scope, Use
from exe.analysis.targets import Builtin, Foreign, Missing, ModuleRef, Slot, Target
from exe.analysis.units import IMPORT_ERRORS, WIDE_ERRORS, Unit, lookup_in
from exe.inline.dynamic import piece_key
from exe.inline.libstate import shown
from exe.inline.making import Making, making
from exe.inline.modulenames import CLASS_NAMES, has_module, module_tests, reads_module, shows_module
from exe.inline.namespaces import member_names
from exe.inline.order import Timeline
from exe.inline.quoted import quoted_uses
from exe.inline.result import Hazard, Refused
from exe.inline.tables import guards, puts

ANNOTATION_READERS: Final = frozenset(
    {
        "typing.get_type_hints",
        "inspect.signature",
        "inspect.get_annotations",
        "inspect.getfullargspec",
        "inspect.Signature",
    }
)


TEXT_READERS: Final = frozenset({"inspect.signature", "inspect.getfullargspec"})
"""Those of them that leave annotations that are text as they are, unless told otherwise."""

EVALUATORS: Final = frozenset({"eval", "typing.ForwardRef", "typing._eval_type"})
"""What makes of text that somebody has read what it names."""

_BINDS_LAST: Final = (ast.Assign, ast.AnnAssign, ast.Expr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""Statements that bind their names after all else that they do."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where a use leads: the target and how many of its attributes lead there."""

    target: Target
    used: int = 0

    def text(self, use: Use) -> str:
        """The dotted name of a use of something outside the project with all its attributes, "" for other targets."""
        rest = [attribute.attr for attribute in use.attributes[self.used :]]
        return ".".join([self.target.dotted, *rest]) if isinstance(self.target, Foreign) else ""


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

    @property
    def missing(self) -> str:
        """The module that a failing import does not find: the first of a dotted name, since nothing of it is there."""
        name = self.target.module if isinstance(self.target, Foreign) else self.alias.name
        return name.partition(".")[0] if isinstance(self.target, Foreign) and not self.target.known else name


@dataclass(frozen=True, slots=True)
class Demands:
    """Globals that a unit reads when it runs, and later, when its functions do; those that are called, in order."""

    now: frozenset[Slot]
    called_now: tuple[Slot, ...]
    later: frozenset[Slot]
    called_later: tuple[Slot, ...]


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
    evaluates_annotations: bool = False  # asks for more than the text of those that are text
    hazards: dict[Hazard, None] = field(default_factory=dict)  # of imports alone
    text_makers: set[int] = field(default_factory=set)  # ids of what names functions that return text
    submodules: frozenset[tuple[str, str]] | None = None  # of the standard library, as merging asks once of a unit
    works_by_annotation: bool | None = None  # as merging asks once of a unit
    summary: object = None  # what naming asks once of a unit
    texts: dict[tuple[str | None, ...], str] = field(default_factory=dict)  # by the names that occur in it

    @cached_property
    def has_module(self) -> bool:
        """Whether the unit may make something that keeps the name of its module."""
        return has_module(self.unit.node) or self.making.calls or self.making.now

    @cached_property
    def demands(self) -> Demands:
        """What the unit reads, by when."""
        now: dict[Slot, bool] = {}
        later: dict[Slot, bool] = {}
        for use, found in self.uses:
            if isinstance(found.target, Slot) and (use.deferred or use.reading is not Reading.NEVER):
                reads = later if use.deferred else now
                reads[found.target] = reads.get(found.target, False) or use.called
        return Demands(
            frozenset(now),
            tuple(slot for slot, called in now.items() if called),
            frozenset(later),
            tuple(slot for slot, called in later.items() if called),
        )

    @cached_property
    def length(self) -> int:
        """The characters of the statement as it was written; imports, which mostly go, have none."""
        if isinstance(self.unit.node, ast.Import | ast.ImportFrom):
            return 0
        spans = [self.unit.module.lines.span(node) for node in (self.unit.node, *self.unit.omitted)]
        whole, *omitted = (last - first for first, last in spans)
        return whole - sum(omitted)

    @cached_property
    def named(self) -> frozenset[Slot | Foreign]:
        """The globals that it names, and the state of libraries that shows in it."""
        found: set[Slot | Foreign] = set()
        for use, resolved in self.uses:
            if isinstance(resolved.target, Slot):
                found.add(resolved.target)
            elif isinstance(resolved.target, Foreign):
                found.update(shown(resolved.target, resolved.text(use)))
        found.update(entry.target for entry in self.imports if isinstance(entry.target, Slot))
        return frozenset(found)

    @cached_property
    def imported_later(self) -> frozenset[str]:
        """The modules of the project that its functions import."""
        found: set[str] = set()
        for entry in self.imports:
            if entry.scope.kind == "function" and isinstance(entry.target, Slot | ModuleRef):
                found.add(entry.target.module if isinstance(entry.target, Slot) else entry.target.name)
                if isinstance(entry.node, ast.Import):
                    found.add(entry.alias.name)
        return frozenset(found)

    @cached_property
    def annotated(self) -> bool:
        """Whether it has annotations that are evaluated where they are not postponed."""
        names, kinds = self.unit.names, (Reading.FUNCTION, Reading.BODY)
        return any(use.reading in kinds for use in names.uses) or any(how in kinds for _, _, how in names.quoted)

    @cached_property
    def modules_at_once(self) -> frozenset[str]:
        """The modules that are used as values when the unit runs."""
        uses = {
            found.target.name for use, found in self.uses if isinstance(found.target, ModuleRef) and not use.deferred
        }
        return frozenset(uses)

    @cached_property
    def attribute_names(self) -> frozenset[str]:
        """Every attribute name in the unit's text."""
        return frozenset(node.attr for node in self.unit.nodes if isinstance(node, ast.Attribute))

    @cached_property
    def shows_module(self) -> bool:
        """Whether a class, with its module, can become text here."""
        classes = {
            use.name for use, found in self.uses if isinstance(found.target, Slot) and use.name[:1].isupper()
        } - {use.name for use, _ in self.uses if use.name.isupper()}
        return shows_module(self.unit.nodes, self.text, classes, self.text_makers)

    @cached_property
    def module_tests(self) -> frozenset[str | None]:
        """What it asks `__module__` of things to begin with, None among it where it does anything else with that."""
        return frozenset(module_tests(self.unit.nodes, self.text))

    @cached_property
    def text(self) -> str:
        """The statement as it was written."""
        start, end = self.unit.module.lines.span(self.unit.node)
        return self.unit.module.source[start:end]

    @cached_property
    def reads_module(self) -> bool:
        """Whether it may ask a function for the name of its module."""
        return reads_module(self.unit.nodes, self.text)

    @cached_property
    def making(self) -> Making:
        """What it does to make classes."""
        names: dict[int, str] = {}
        for use, found in self.uses:
            text = found.target.name if isinstance(found.target, Builtin) else found.text(use)
            if text:
                names[id(use.attributes[-1] if use.attributes else use.node)] = text
        return making(self.unit.node, names)

    @cached_property
    def puts(self) -> frozenset[int]:
        """Ids of the names of tables that it only puts something in."""
        return frozenset(puts(self.unit.nodes))

    @cached_property
    def guards(self) -> frozenset[int]:
        """Ids of the names of tables that it only looks at to refuse what is there."""
        return frozenset(guards(self.unit.nodes))

    @cached_property
    def library(self) -> frozenset[str]:
        """The dotted names of what it uses of libraries but in annotations, and of what its functions import."""
        texts = {found.text(use) for use, found in self.uses if use.reading is Reading.NONE}
        texts.update(entry.target.dotted for entry in self.imports if isinstance(entry.target, Foreign))
        return frozenset(texts - {""})

    @cached_property
    def asks_subclasses(self) -> bool:
        """Whether its text asks a class for its subclasses."""
        source = self.unit.module.source
        if "__subclasses__" not in source:
            return False
        start, end = self.unit.module.lines.span(self.unit.node)
        return "__subclasses__" in source[start:end]


class Reader:
    """Resolves the units of one timeline. What does not depend on the timeline is shared by all of a project."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.project: Project = timeline.project
        self._targets: dict[tuple[str, str], Target] = {}
        self._ordered: set[tuple[str, str]] = set()  # names whose target depends on the order of this timeline
        self._depends = False
        self._readings: dict[Unit, UnitReading | Refused] = {}
        self._shared: dict[Unit, UnitReading | Refused] = self.project.cache.setdefault("readings", {})

    # ---- resolution -------------------------------------------------------------------------------------------------

    def target(self, module: str, name: str) -> Target:
        """What a global stands for; a name imported from a global that is rebound later keeps a variable of its own."""
        key = (module, name)
        if key not in self._targets:
            outer, self._depends = self._depends, False
            self._targets[key] = Missing(name, "unresolved-import")  # what a circle of imports comes to
            self._targets[key] = self._target(module, name)
            if self._depends:
                self._ordered.add(key)
            self._depends = self._depends or outer
        elif key in self._ordered:
            self._depends = True
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
        if self.project.hides(hop.module, hop.attribute):
            return Missing(f"{hop.module}.{hop.attribute}", "module-getattr")
        if isinstance(inner, Slot) and self._too_early(inner, Slot(module, name)):
            return Missing(f"{module}.{name}", "unbound-name")
        if isinstance(inner, Slot) and self._rebound(inner, Slot(module, name)):
            return Slot(module, name)
        return inner

    def _too_early(self, slot: Slot, importer: Slot) -> bool:
        """Whether a star import, in a circle, is all that gives a name, and runs before there is such a name."""
        units = self.project.table(importer.module).binders[importer.name]
        here, there = self.timeline.position.get(units[0]), self.timeline.binders.get(slot)
        if len(units) > 1 or star_source(units[0].module, units[0].node) is None or here is None or there is None:
            return False
        self._depends = True
        return there[0] > here

    def _rebound(self, slot: Slot, importer: Slot) -> bool:
        table = self.project.table(slot.module)
        if slot.name in table.declared:
            return True
        if slot in self.timeline.written:
            self._depends = True
            return True
        if len(table.binders[slot.name]) == 1:
            return False
        self._depends = True
        ours, theirs = self.timeline.binders.get(importer), self.timeline.binders.get(slot)
        return bool(ours and theirs and theirs[-1] > ours[-1] and theirs[0] < ours[-1])

    def resolve(self, unit: Unit, use: Use) -> Resolved:
        """Where a global use leads, through the modules that its attributes name."""
        then = None if use.deferred else self.project.module_then(unit, use.name)
        return self._walk(then or self.target(unit.module.name, use.name), use)

    def _walk(self, target: Target, use: Use) -> Resolved:
        used = 0
        while isinstance(target, ModuleRef) and used < len(use.attributes):
            target = self._member(target.name, use.attributes[used].attr)
            used += 1
        return Resolved(target, used)

    def _member(self, module: str, name: str) -> Target:
        table = self.project.table(module)
        if self.project.hides(module, name):
            return Missing(f"{module}.{name}", "module-getattr")
        if name in table.binders or name in table.declared:
            return self.target(module, name)
        return self.project.member(module, name)

    # ---- reading one unit -------------------------------------------------------------------------------------------

    def reading(self, unit: Unit) -> UnitReading:
        """The unit with its uses resolved. Raises Refused where something in it cannot be inlined."""
        known = self._readings.get(unit) or self._shared.get(unit)
        if known is None:
            self._depends = False
            try:
                known = self._read(unit)
            except Refused as refusal:
                known = refusal
            (self._readings if self._depends else self._shared)[unit] = known
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
                found = self.resolve(unit, use)
                if not use.deferred and use.context == "load" and self._before_binding(found.target, unit):
                    found = Resolved(Builtin(use.name), 0)
            elif (id(use.home), use.name) in dropped:
                found = self._walk(dropped[id(use.home), use.name], use)
            elif use.ambiguous:
                found = self.resolve(unit, use)
                if found.used or isinstance(found.target, ModuleRef):
                    detail = f"{use.name} is a module of {module} and bound by a class that reads it before"
                    raise Refused("name-collision", detail)
                if not isinstance(found.target, Slot | Foreign):
                    continue
                if isinstance(found.target, Slot):
                    if found.target.name != use.name:
                        raise Refused("name-collision", f"{use.name} of {module} has another name where it is defined")
                    reading.pinned.append(found.target)
            else:
                continue
            if reads_annotations(use, found):
                reading.reads_annotations = True
                if found.text(use) not in TEXT_READERS or "eval_str" in reading.text:
                    reading.evaluates_annotations = True
            evaluator = found.target.name if isinstance(found.target, Builtin) else found.text(use)
            if use.reading is Reading.NONE and evaluator in EVALUATORS:
                reading.evaluates_annotations = True
            reading.uses.append((use, found))
        if any(use.name in CLASS_NAMES and use.context == "store" for use in unit.names.uses):
            reading.text_makers = {
                id(use.attributes[-1] if use.attributes else use.node)
                for use, found in reading.uses
                if use.called and isinstance(found.target, Slot) and self._returns_text(found.target)
            }
        if unit.names.quoted:
            reading.uses += [(use, self.resolve(unit, use)) for use in quoted_uses(unit) if use.home is None]
        return reading

    def _returns_text(self, slot: Slot) -> bool:
        """Whether a global is a function that says that it returns text."""
        units = self.project.table(slot.module).binders.get(slot.name, ())
        nodes = [unit.node for unit in units]
        return bool(nodes) and all(
            isinstance(node, ast.FunctionDef)
            and not node.decorator_list
            and isinstance(node.returns, ast.Name)
            and node.returns.id == "str"
            for node in nodes
        )

    def _before_binding(self, target: Target, unit: Unit) -> bool:
        """Whether a builtin is read that the module shadows further down, or here: `range = xrange if … else range`."""
        if not isinstance(target, Slot) or target.module != unit.module.name or target.name not in stdlib.BUILTINS:
            return False
        units = self.project.table(target.module).binders.get(target.name)
        first = units[0].index if units else -1
        return unit.index < first or (unit.index == first and isinstance(unit.node, _BINDS_LAST))

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
                how = self._fate(reading, node, scope, entry, target)
                reading.imports.append(LocalImport(node, entry.alias, entry.bound, scope, target, how))
        self._settle(reading)

    def import_target(self, module: str, attribute: str | None) -> Target:
        if self.project.find(module) is None or attribute is None:
            return self.project.follow_parts(module, attribute)
        return self._member(module, attribute)

    def _fate(self, reading: UnitReading, node: ImportNode, scope: Scope, entry: ImportedName, target: Target) -> str:
        """What becomes of one name of an import, see `LocalImport`; what is known to fail fails as it did."""
        unit, owner = reading.unit, None
        fails_alike = scope.kind == "function" and isinstance(target, Foreign) and stdlib.exists(target.module)
        if isinstance(target, Foreign) and target.known and (there(target) or fails_alike):
            return "keep"
        if self.project.find(entry.loads) is not None and not self.project.loads(entry.loads):
            reason, detail = "module-fails", f"{entry.loads} is imported by a function"
        elif isinstance(target, Foreign | Missing):
            detail = target.dotted if isinstance(target, Foreign) else target.name
            owner, reason = self.project.opaque(detail), self.project.why_missing(detail)
        else:
            pure = scope.kind in ("function", "class") and entry.bound not in scope.bound
            pure = pure and entry.bound not in scope.outside
            return "drop" if pure and scope.kind == "function" else "assign"
        if _guarded(unit.node, node) and (owner is None or owner == unit.module.package):
            return "fail"
        key = piece_key(scope)
        if key is None:
            raise Refused(reason, detail)
        if not (isinstance(target, Foreign) and self.project.absent(target.module)):
            where = f"{detail} at {unit.module.name}:{node.lineno}"
            reading.hazards[Hazard(reason, where, unit.module.name, key, at="ModuleNotFoundError")] = (
                None  # what is raised in its place
            )
        return "fail"

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
                member_names(self.project, entry.target.name)
            settled.append(LocalImport(entry.node, entry.alias, entry.bound, entry.scope, entry.target, how))
        reading.imports = settled


def _inside(node: ast.AST, body: list[ast.stmt]) -> bool:
    line = getattr(node, "lineno", 0)
    column = getattr(node, "col_offset", 0)
    first, last = body[0], body[-1]
    return (first.lineno, first.col_offset) <= (line, column) < (last.end_lineno or 0, last.end_col_offset or 0)


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


def reads_annotations(use: Use, found: Resolved) -> bool:
    """Whether a use asks for annotations."""
    rest = [attribute.attr for attribute in use.attributes[found.used :]]
    if "__annotations__" in rest:
        return True
    if not isinstance(found.target, Foreign) or use.reading is not Reading.NONE:
        return False
    return ".".join([found.target.dotted, *rest]) in ANNOTATION_READERS


def there(target: Foreign) -> bool:
    """Whether this interpreter has a standard-library module, and the member named of it."""
    if target.attribute is None:
        return stdlib.exists(target.module)
    return stdlib.has_member(target.module, target.attribute.partition(".")[0])
