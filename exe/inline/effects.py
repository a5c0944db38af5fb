"""What a statement changes beyond the names that it binds: tables filled, classes registered, state of libraries."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from exe.analysis.imports import imported_names
from exe.analysis.modules import FunctionNode
from exe.analysis.project import Project
from exe.analysis.scopes import Use
from exe.analysis.targets import Builtin, Foreign, ModuleRef, Slot, Target
from exe.analysis.units import Unit
from exe.inline.changes import (
    MUTATORS,
    aliases_in,
    arguments_of,
    changed_names,
    immediate,
    is_plain,
    parameters_of,
)
from exe.inline.codecnames import registered
from exe.inline.libstate import VISIBLE, changed
from exe.inline.tables import only_registers

CONSTRUCTION: Final = frozenset(
    {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__prepare__", "__call__", "mro"}
)

Resolve = Callable[[Unit, Use], tuple[Target, int]]
"""Target of a use in a statement, and how many of its attributes lead there."""

Touched = Slot | Foreign


@dataclass(frozen=True, slots=True)
class Effect:
    """What calling a function changes: globals, and whether something that it was given."""

    touched: frozenset[Touched] = frozenset()
    arguments: bool = False


NO_EFFECT: Final = Effect()
_NOWHERE: Final = sys.maxsize
_Called = Slot | tuple[Slot, str]
"""A function or class, or the method of what a global stands for."""


class Effects:
    """Effects of the units of one timeline, computed once."""

    def __init__(self, project: Project, resolve: Resolve) -> None:
        self.project = project
        self.resolve = resolve
        self._done: dict[_Called, Effect] = {}
        self._changed: dict[Unit, dict[int, str]] = {}
        self._uses: dict[Unit, dict[int, Use]] = {}
        self._active: dict[_Called, int] = {}  # what is being looked at, by depth
        self._lowest = _NOWHERE  # the least depth that the look at hand came back to

    def _changed_in(self, unit: Unit) -> dict[int, str]:
        found = self._changed.get(unit)
        if found is None:
            found = self._changed[unit] = changed_names(unit.nodes)
        return found

    def _uses_in(self, unit: Unit) -> dict[int, Use]:
        found = self._uses.get(unit)
        if found is None:
            found = self._uses[unit] = {id(use.node): use for use in unit.names.uses}
        return found

    def of_unit(self, unit: Unit) -> set[Touched]:
        """What executing a unit changes, apart from the module globals that it binds."""
        node = unit.node
        if isinstance(node, FunctionNode) and not node.decorator_list and not _calls(node):
            return set()
        if isinstance(node, ast.Import | ast.ImportFrom):
            return set()
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_plain(node):
            return set()
        found: set[Touched] = set()
        uses = self._uses_in(unit)
        self._stores(unit, found, deferred=False)
        for part in immediate(node):
            match part:
                case ast.Expr(value=ast.Call() as call):
                    self._call(unit, call, uses, found, statement=True)
                case ast.Call():
                    self._call(unit, part, uses, found, statement=False)
                case ast.ClassDef():
                    self._class(unit, part, uses, found)
                    self._decorators(unit, part, uses, found)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._decorators(unit, part, uses, found)
                case _:
                    pass
        return found

    def _stores(self, unit: Unit, found: set[Touched], deferred: bool) -> None:
        """Item and attribute assignments to globals, and methods that change them, at once or (deferred) when called."""
        changed = self._changed_in(unit)
        for use in unit.names.uses:
            if use.home is not None or use.deferred is not deferred:
                continue
            how = changed.get(id(use.node))
            if how is None and not (use.attributes and use.context != "load"):
                continue
            target, used = self.resolve(unit, use)
            self._touch(target, found, _text(target, used, use))
            if isinstance(target, Slot) and used and used == len(use.attributes) and use.context != "load":
                found.add(target)

    def _touch(self, target: Target, found: set[Touched], text: str) -> None:
        state = target if isinstance(target, Slot) else changed(target, text) if isinstance(target, Foreign) else None
        if state is not None:
            found.add(state)

    def _root(self, unit: Unit, node: ast.expr, uses: dict[int, Use]) -> tuple[Target, int, Use] | None:
        """The global that an expression starts from: `x`, `x.y[0].z()` start from x."""
        while not isinstance(node, ast.Name):
            match node:
                case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Starred(value=inner):
                    node = inner
                case ast.Call(func=inner):
                    node = inner
                case _:
                    return None
        use = uses.get(id(node))
        if use is None or use.home is not None:
            return None
        target, used = self.resolve(unit, use)
        return target, used, use

    def _call(self, unit: Unit, call: ast.Call, uses: dict[int, Use], found: set[Touched], *, statement: bool) -> None:
        root = self._root(unit, call.func, uses)
        arguments = [self._root(unit, argument, uses) for argument in arguments_of(call)]
        ours = {entry[0] for entry in arguments if entry is not None and isinstance(entry[0], Slot)}
        if root is None:
            if statement:
                found.update(slot for slot in ours if isinstance(slot, Slot))
            return
        target, used, use = root
        if isinstance(target, Foreign):
            text = _text(target, used, use)
            if not statement:
                return
            if (named := registered(text, call)) is not None:
                found.add(named)
            if changed(target, text) is None:
                return
            found.update(slot for slot in ours if isinstance(slot, Slot))
            if not ours or text in VISIBLE:
                self._touch(target, found, text)
            return
        if not isinstance(target, Slot):
            if statement:
                found.update(slot for slot in ours if isinstance(slot, Slot))
            return
        rest = len(use.attributes) - used
        effect = self.of_function(target)
        found.update(effect.touched)
        method = isinstance(call.func, ast.Attribute) and rest > 0
        if method and (statement or (isinstance(call.func, ast.Attribute) and call.func.attr in MUTATORS)):
            found.add(target)
        elif method and rest == 1 and isinstance(call.func, ast.Attribute):
            found.update(self.of_method(target, call.func.attr))
        if not rest and (self.of_instance(target) if statement else self._keeps_state(target)):
            found.add(target)
        if statement or effect.arguments:
            found.update(slot for slot in ours if isinstance(slot, Slot))

    def _class(self, unit: Unit, node: ast.ClassDef, uses: dict[int, Use], found: set[Touched]) -> None:
        """A class tells its bases that it exists where these have a say in it."""
        for base in [*node.bases, *(keyword.value for keyword in node.keywords if keyword.arg == "metaclass")]:
            root = self._root(unit, base, uses)
            if root is not None and isinstance(root[0], Slot):
                hooks = self.class_hooks(root[0])
                if hooks is not None:
                    quiet = self._only_registers(root[0])
                    found.update(one for one in {root[0], *hooks.touched} if not (quiet and self._is_class(one)))

    def _decorators(
        self, unit: Unit, node: FunctionNode | ast.ClassDef, uses: dict[int, Use], found: set[Touched]
    ) -> None:
        for decorator in node.decorator_list:
            root = self._root(unit, decorator, uses)
            if root is None:
                continue
            target, used, use = root
            if not isinstance(target, Slot):
                continue
            if len(use.attributes) > used or self.of_instance(target):
                found.add(target)
            found.update(self.of_function(target).touched)

    def class_hooks(self, slot: Slot, seen: frozenset[Slot] = frozenset()) -> Effect | None:
        """What subclassing changes: None where neither the class, its bases nor its metaclass take notice."""
        unit = self._definition(slot)
        if unit is None or slot in seen or not isinstance(unit.node, ast.ClassDef):
            return None
        uses = self._uses_in(unit)
        names = {child.name for child in unit.node.body if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)}
        if "__init_subclass__" in names:
            return self._with(slot, self.of_function(slot))
        metaclass = any(isinstance(base, ast.Name) and base.id == "type" for base in unit.node.bases) and names & {
            "__init__",
            "__new__",
            "__call__",
            "register",
        }
        if metaclass:
            return self._with(slot, self.of_function(slot))
        for base in [*unit.node.bases, *(keyword.value for keyword in unit.node.keywords)]:
            root = self._root(unit, base, uses)
            if root is not None and isinstance(root[0], Slot):
                hooks = self.class_hooks(root[0], seen | {slot})
                if hooks is not None:
                    return self._with(slot, hooks)
        return None

    def _only_registers(self, slot: Slot, seen: frozenset[Slot] = frozenset()) -> bool:
        """Whether classes, where they take notice of a subclass, put it in tables and leave themselves alone."""
        unit = self._definition(slot)
        if unit is None or slot in seen or not isinstance(unit.node, ast.ClassDef) or unit.node.keywords:
            return False
        hooks = [one for one in unit.node.body if isinstance(one, FunctionNode) and one.name == "__init_subclass__"]
        if not all(map(only_registers, hooks)):
            return False
        for base in unit.node.bases:
            root = self._root(unit, base, self._uses_in(unit))
            target = None if root is None else root[0]
            if isinstance(target, Slot):
                if not self._only_registers(target, seen | {slot}):
                    return False
            elif not isinstance(target, Foreign | Builtin) or target == Builtin("type"):
                return False
        return True

    def _is_class(self, touched: Touched) -> bool:
        unit = self._definition(touched) if isinstance(touched, Slot) else None
        return unit is not None and isinstance(unit.node, ast.ClassDef)

    def _with(self, slot: Slot, effect: Effect) -> Effect:
        """Every class on the way to the one that takes notice is changed, as far as can be told."""
        return Effect(effect.touched | {slot}, effect.arguments)

    def _definition(self, slot: Slot) -> Unit | None:
        units = self.project.table(slot.module).binders.get(slot.name)
        return units[-1] if units else None

    def of_instance(self, slot: Slot) -> bool:
        """Whether a global is some object: neither a function nor a class nor an alias of one."""
        unit = self._definition(slot)
        return unit is not None and isinstance(unit.node, ast.Assign | ast.AnnAssign) and unit.binds[slot.name] is None

    def of_method(self, slot: Slot, name: str) -> set[Touched]:
        """What calling a method of a global changes, where that is a class of the project or evidently made by one."""
        owner = self._class_of(slot)
        bodies: list[FunctionNode] = []
        seen: set[Unit] = set()
        while owner is not None and not bodies and owner not in seen:
            seen.add(owner)
            assert isinstance(owner.node, ast.ClassDef)
            bodies = [child for child in owner.node.body if isinstance(child, FunctionNode) and child.name == name]
            if bodies:
                break
            owner = self._base(owner)
        key = (slot, name)
        if owner is None or not bodies:
            return set()
        effect = self._once(key, partial(self._of_bodies, owner, bodies, own=True))
        return {*effect.touched, slot} if effect.arguments else set(effect.touched)

    def _class_of(self, slot: Slot) -> Unit | None:
        unit = self._definition(slot)
        if unit is not None and isinstance(unit.node, ast.Assign) and isinstance(unit.node.value, ast.Call):
            root = self._root(unit, unit.node.value.func, self._uses_in(unit))
            unit = self._definition(root[0]) if root is not None and isinstance(root[0], Slot) else None
        return unit if unit is not None and isinstance(unit.node, ast.ClassDef) else None

    def _base(self, unit: Unit) -> Unit | None:
        assert isinstance(unit.node, ast.ClassDef)
        uses = self._uses_in(unit)
        for base in unit.node.bases:
            root = self._root(unit, base, uses)
            if root is not None and isinstance(root[0], Slot):
                return self._class_of(root[0])
        return None

    def of_function(self, slot: Slot) -> Effect:
        """What calling a global changes, as far as its body and those of the functions it calls tell."""
        return self._once(slot, partial(self._function, slot))

    def _once(self, key: _Called, look: Callable[[], Effect]) -> Effect:
        """The effect of something called, nothing where it is being looked at already: it calls itself.

        What was found below something that came back to a look above it is of that look alone and is not kept.
        """
        known = self._done.get(key)
        if known is not None:
            return known
        if key in self._active:
            self._lowest = min(self._lowest, self._active[key])
            return NO_EFFECT
        depth = self._active[key] = len(self._active)
        outer, self._lowest = self._lowest, _NOWHERE
        try:
            effect = look()
        finally:
            del self._active[key]
            lowest, self._lowest = self._lowest, outer
        if lowest < depth:
            self._lowest = min(outer, lowest)
        else:
            self._done[key] = effect
        return effect

    def _function(self, slot: Slot) -> Effect:
        unit = self._definition(slot)
        if unit is None or not isinstance(unit.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return NO_EFFECT
        if isinstance(unit.node, ast.ClassDef):
            bodies: list[FunctionNode] = [
                child
                for child in unit.node.body
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and child.name in CONSTRUCTION
            ]
            return self._of_bodies(unit, bodies)
        effect = self._of_bodies(unit, [unit.node])
        return Effect(effect.touched | self._of_decorators(unit, unit.node), effect.arguments)

    def _of_decorators(self, unit: Unit, node: FunctionNode) -> set[Touched]:
        """What calling a function changes by what its decorators put around it."""
        uses = self._uses_in(unit)
        found: set[Touched] = set()
        for decorator in node.decorator_list:
            root = self._root(unit, decorator, uses)
            if root is not None and isinstance(root[0], Slot):
                found |= self.of_function(root[0]).touched
        return found

    def _keeps_state(self, slot: Slot) -> bool:
        """Whether a global is made by a call, and changes itself when it is called: an object, a closure."""
        unit = self._definition(slot)
        if unit is None or not isinstance(unit.node, ast.Assign) or not isinstance(unit.node.value, ast.Call):
            return False
        root = self._root(unit, unit.node.value.func, self._uses_in(unit))
        maker = self._definition(root[0]) if root is not None and isinstance(root[0], Slot) else None
        if maker is None or not isinstance(maker.node, ast.FunctionDef):
            return slot in self.of_method(slot, "__call__")
        changed = self._changed_in(maker)
        return any(
            use.home is not None
            and use.home.node is maker.node
            and use.scope is not use.home
            and (use.context != "load" or id(use.node) in changed)
            for use in maker.names.uses
        )

    def _of_bodies(self, unit: Unit, bodies: list[FunctionNode], *, own: bool = False) -> Effect:
        """The effect of functions that lie in a unit; `own`: what they do to `self` counts as done to an argument."""
        touched: set[Touched] = set()
        arguments = False
        spans = [(body.lineno, body.end_lineno or body.lineno) for body in bodies]
        changed = self._changed_in(unit)
        aliases = aliases_in(bodies)
        uses = self._uses_in(unit)
        parameters = {name for body in bodies for name in parameters_of(body)} - (set() if own else {"self", "cls"})
        for statement, scope in unit.names.globals:
            if scope.kind != "module":
                touched.update(Slot(unit.module.name, name) for name in statement.names if name in scope.bound)
        for use in unit.names.uses:
            if not use.deferred or not any(start <= use.node.lineno <= end for start, end in spans):
                continue
            changes = id(use.node) in changed or (bool(use.attributes) and use.context != "load")
            imported = self._imported_here(unit, use)
            if use.home is not None and imported is None:
                arguments = arguments or (changes and use.name in parameters)
                if changes:
                    for root in aliases.get(use.name, ()):
                        arguments = arguments or root.id in parameters
                        self._touch_root(unit, root, uses, touched)
                continue
            target, used = imported or self.resolve(unit, use)
            if changes:
                self._touch(target, touched, _text(target, used, use))
            if use.called and isinstance(target, Slot):
                if used == len(use.attributes):
                    touched.update(self.of_function(target).touched)
                    if self._keeps_state(target):
                        touched.add(target)
                elif used == len(use.attributes) - 1:
                    touched.update(self.of_method(target, use.attributes[-1].attr))
        arguments = self._inner_calls(unit, bodies, parameters, touched) or arguments
        return Effect(frozenset(touched), arguments)

    def _imported_here(self, unit: Unit, use: Use) -> tuple[Target, int] | None:
        """What a local name stands for that a function imports, and how many attributes lead there."""
        if use.home is None or use.name not in use.home.imports or use.name in use.home.bound:
            return None
        node, alias = use.home.imports[use.name][0]
        imported = next(one.target for one in imported_names(unit.module, node) if one.alias is alias)
        target, used = self.project.follow_parts(imported.module, imported.attribute), 0
        while isinstance(target, ModuleRef) and used < len(use.attributes):
            target = self.project.attribute(target, use.attributes[used].attr)
            used += 1
        return target, used

    def _touch_root(self, unit: Unit, root: ast.Name, uses: dict[int, Use], touched: set[Touched]) -> None:
        use = uses.get(id(root))
        if use is not None and use.home is None:
            target, used = self.resolve(unit, use)
            self._touch(target, touched, _text(target, used, use))

    def _inner_calls(self, unit: Unit, bodies: list[FunctionNode], parameters: set[str], touched: set[Touched]) -> bool:
        """Calls in bodies: state of libraries set, globals handed to functions that change them; whether parameters are."""
        uses = self._uses_in(unit)
        arguments = False
        for body in bodies:
            for part in ast.walk(body):
                match part:
                    case ast.Expr(value=ast.Call(func=func) as call):
                        root = self._root(unit, func, uses)
                        if root is not None and isinstance(root[0], Foreign):
                            text = _text(*root)
                            self._touch(root[0], touched, text)
                            if (named := registered(text, call)) is not None:
                                touched.add(named)
                    case ast.Call(func=ast.Name() as func) if part.args or part.keywords:
                        root = self._root(unit, func, uses)
                        if root is None or not isinstance(root[0], Slot) or not self.of_function(root[0]).arguments:
                            continue
                        for argument in arguments_of(part):
                            if isinstance(argument, ast.Name):
                                arguments = arguments or argument.id in parameters
                                self._touch_root(unit, argument, uses, touched)
                    case _:
                        pass
        return arguments


def _text(target: Target, used: int, use: Use) -> str:
    """The dotted name of a use of something of a library with all its attributes, "" for other targets."""
    rest = [attribute.attr for attribute in use.attributes[used:]]
    return ".".join([target.dotted, *rest]) if isinstance(target, Foreign) else ""


def _calls(node: ast.stmt) -> bool:
    return any(isinstance(part, ast.Call) for part in immediate(node))


def effects_in(project: Project) -> Effects:
    """What the units and functions of a project change; one a project."""
    known = project.cache.get("effects")
    if not isinstance(known, Effects):

        def resolve(unit: Unit, use: Use) -> tuple[Target, int]:
            then = None if use.deferred else project.module_then(unit, use.name)
            target: Target = then or project.target(unit.module.name, use.name)
            used = 0
            while isinstance(target, ModuleRef) and used < len(use.attributes):
                target = project.attribute(target, use.attributes[used].attr)
                used += 1
            return target, used

        known = project.cache["effects"] = Effects(project, resolve)
    return known


def touched_by(project: Project, unit: Unit) -> frozenset[Slot | Foreign]:
    """What executing a unit changes; computed once per project."""
    cache: dict[Unit, frozenset[Slot | Foreign]] = project.cache.setdefault("touched", {})
    found = cache.get(unit)
    if found is None:
        found = cache[unit] = frozenset(effects_in(project).of_unit(unit))
    return found
