"""What a statement changes beyond the names that it binds: tables filled, classes registered, state of libraries."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from exe.analysis.modules import FunctionNode
from exe.analysis.project import Project
from exe.analysis.scopes import Use
from exe.analysis.targets import Foreign, Slot, Target
from exe.analysis.units import Unit

MUTATORS: Final = frozenset(
    [
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "extendleft",
        "insert",
        "move_to_end",
        "pop",
        "popitem",
        "popleft",
        "register",
        "remove",
        "reverse",
        "rotate",
        "setdefault",
        "sort",
        "subtract",
        "update",
        "__setitem__",
        "__delitem__",
        "__setattr__",
    ]
)
"""Method names by which something is changed even where the result is kept."""

HARMLESS: Final = ("logging", "warnings", "atexit", "typing", "types", "__future__")
"""Standard-library modules whose state is not visible in results."""

CONSTRUCTION: Final = frozenset(
    {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__prepare__", "__call__", "mro"}
)

Resolve = Callable[[str, Use], tuple[Target, int]]
"""Target of a use in a module, and how many of its attributes lead there."""

Touched = Slot | Foreign


@dataclass(frozen=True, slots=True)
class Effect:
    """What calling a function changes: globals, and whether something that it was given."""

    touched: frozenset[Touched] = frozenset()
    arguments: bool = False


NO_EFFECT: Final = Effect()


class Effects:
    """Effects of the units of one timeline, computed once."""

    def __init__(self, project: Project, resolve: Resolve) -> None:
        self.project = project
        self.resolve = resolve
        self._functions: dict[Slot, Effect] = {}
        self._active: set[Slot] = set()

    def of_unit(self, unit: Unit) -> set[Touched]:
        """What executing a unit changes, apart from the module globals that it binds."""
        node = unit.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list:
            return set()
        if isinstance(node, ast.Import | ast.ImportFrom):
            return set()
        if isinstance(node, ast.Assign | ast.AnnAssign) and _plain(node):
            return set()
        found: set[Touched] = set()
        uses = {id(use.node): use for use in unit.names.uses}
        self._stores(unit, found, deferred=False)
        for part in _immediate(node):
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
        changed = _changed_names(unit.node)
        for use in unit.names.uses:
            if use.home is not None or use.deferred is not deferred:
                continue
            how = changed.get(id(use.node))
            if how is None and not (use.attributes and use.context != "load"):
                continue
            target, used = self.resolve(unit.module.name, use)
            self._touch(target, found)
            if isinstance(target, Slot) and used and used == len(use.attributes) and use.context != "load":
                found.add(target)

    def _touch(self, target: Target, found: set[Touched]) -> None:
        if isinstance(target, Slot):
            found.add(target)
        elif isinstance(target, Foreign) and target.module.partition(".")[0] not in HARMLESS:
            found.add(Foreign(target.module, None, target.known))

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
        target, used = self.resolve(unit.module.name, use)
        return target, used, use

    def _call(self, unit: Unit, call: ast.Call, uses: dict[int, Use], found: set[Touched], *, statement: bool) -> None:
        root = self._root(unit, call.func, uses)
        arguments = [self._root(unit, argument, uses) for argument in _arguments(call)]
        ours = {entry[0] for entry in arguments if entry is not None and isinstance(entry[0], Slot)}
        if root is None:
            if statement:
                found.update(slot for slot in ours if isinstance(slot, Slot))
            return
        target, used, use = root
        if isinstance(target, Foreign):
            if target.module.partition(".")[0] in HARMLESS or not statement:
                return
            found.update(slot for slot in ours if isinstance(slot, Slot))
            if not ours:
                self._touch(target, found)
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
        if statement or effect.arguments:
            found.update(slot for slot in ours if isinstance(slot, Slot))

    def _class(self, unit: Unit, node: ast.ClassDef, uses: dict[int, Use], found: set[Touched]) -> None:
        """A class tells its bases that it exists where these have a say in it."""
        for base in [*node.bases, *(keyword.value for keyword in node.keywords if keyword.arg == "metaclass")]:
            root = self._root(unit, base, uses)
            if root is not None and isinstance(root[0], Slot):
                hooks = self.class_hooks(root[0])
                if hooks is not None:
                    found.add(root[0])
                    found.update(hooks.touched)

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
            if len(use.attributes) > used:
                found.add(target)
            found.update(self.of_function(target).touched)

    def class_hooks(self, slot: Slot, seen: frozenset[Slot] = frozenset()) -> Effect | None:
        """What subclassing changes: None where neither the class, its bases nor its metaclass take notice."""
        unit = self._definition(slot)
        if unit is None or slot in seen or not isinstance(unit.node, ast.ClassDef):
            return None
        uses = {id(use.node): use for use in unit.names.uses}
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

    def _with(self, slot: Slot, effect: Effect) -> Effect:
        """Every class on the way to the one that takes notice is changed, as far as can be told."""
        return Effect(effect.touched | {slot}, effect.arguments)

    def _definition(self, slot: Slot) -> Unit | None:
        units = self.project.table(slot.module).binders.get(slot.name)
        return units[-1] if units else None

    def of_function(self, slot: Slot) -> Effect:
        """What calling a global changes, as far as its body and those of the functions it calls tell."""
        known = self._functions.get(slot)
        if known is not None:
            return known
        if slot in self._active:
            return NO_EFFECT
        self._active.add(slot)
        try:
            effect = self._function(slot)
        finally:
            self._active.discard(slot)
        if not self._active:
            self._functions[slot] = effect
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
        else:
            bodies = [unit.node]
        touched: set[Touched] = set()
        arguments = False
        spans = [(body.lineno, body.end_lineno or body.lineno) for body in bodies]
        changed = _changed_names(unit.node)
        parameters = {name for body in bodies for name in _parameters(body)}
        for statement, scope in unit.names.globals:
            if scope.kind != "module":
                touched.update(Slot(unit.module.name, name) for name in statement.names if name in scope.bound)
        for use in unit.names.uses:
            if not use.deferred or not any(start <= use.node.lineno <= end for start, end in spans):
                continue
            changes = id(use.node) in changed or (bool(use.attributes) and use.context != "load")
            if use.home is not None:
                arguments = arguments or (changes and use.name in parameters and use.name not in ("self", "cls"))
                continue
            target, used = self.resolve(unit.module.name, use)
            if changes:
                self._touch(target, touched)
            if use.called and isinstance(target, Slot) and used == len(use.attributes):
                touched.update(self.of_function(target).touched)
        return Effect(frozenset(touched), arguments)


def _plain(node: ast.Assign | ast.AnnAssign) -> bool:
    """Names bound to something that is written down or named: nothing else happens."""
    literal = isinstance(node.value, ast.Constant | ast.Name | ast.Lambda | None)
    return literal and all(isinstance(target, ast.Name) for target in _targets(node))


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    for keyword in call.keywords:
        yield keyword.value


def _parameters(node: FunctionNode) -> set[str]:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return {argument.arg for argument in every}


def _immediate(node: ast.stmt) -> Iterator[ast.AST]:
    """The nodes that run with a statement: not the bodies of functions and lambdas."""
    stack: list[ast.AST] = [node]
    while stack:
        current = stack.pop()
        yield current
        match current:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                stack.extend(current.decorator_list)
                stack.extend(default for default in current.args.defaults)
                stack.extend(default for default in current.args.kw_defaults if default is not None)
            case ast.Lambda():
                pass
            case _:
                stack.extend(ast.iter_child_nodes(current))


def _changed_names(node: ast.AST) -> dict[int, str]:
    """Ids of the Name nodes that item assignment, augmented assignment or a changing method starts from."""
    found: dict[int, str] = {}
    for part in ast.walk(node):
        match part:
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                _mark(value, "item", found)
            case ast.Attribute(ctx=ast.Store() | ast.Del(), value=value):
                _mark(value, "attribute", found)
            case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in MUTATORS:
                _mark(value, "method", found)
            case ast.AugAssign(target=target):
                _mark(target, "augmented", found)
            case _:
                pass
    return found


def _mark(node: ast.expr, how: str, found: dict[int, str]) -> None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        found[id(node)] = how
