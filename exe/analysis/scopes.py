"""Which names a statement uses, in which scope each is bound, and which of them are globals of the module.

One pass over a top-level statement. Expressions are walked with an explicit stack, so that long chains do not recurse.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal

from exe.analysis.modules import FunctionNode

ScopeKind = Literal["module", "function", "class", "comprehension", "types"]
ImportNode = ast.Import | ast.ImportFrom


class Reading(Enum):
    """What becomes of a use of a name in an annotation."""

    NONE = "not an annotation"
    FUNCTION = "evaluated when the function is defined, unless postponed"
    BODY = "evaluated when the class or module body runs, unless postponed"
    NEVER = "a local variable's annotation: never evaluated"


@dataclass(eq=False, slots=True)
class Scope:
    """A scope and what it binds. `imports` holds, by name, the import statements that bind it here."""

    kind: ScopeKind
    node: ast.AST | None
    parent: Scope | None
    bound: dict[str, int] = field(default_factory=dict)  # name → how many places bind it, imports apart
    imports: dict[str, list[tuple[ImportNode, ast.alias]]] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)  # name → "global" or "nonlocal"
    first_bound: dict[str, tuple[int, int]] = field(default_factory=dict)

    def binds(self, name: str) -> bool:
        """Whether a name is local to this scope."""
        return name not in self.outside and (name in self.bound or name in self.imports)


@dataclass(eq=False, slots=True)
class Use:
    """One occurrence of a name, with the attributes taken from it: `a.b.c` is the name a and two attributes.

    `home` is the scope that binds the name, None for a global. `deferred`: not executed with the statement itself.
    """

    name: str
    node: ast.Name
    attributes: tuple[ast.Attribute, ...]
    scope: Scope
    context: Literal["load", "store", "delete"]
    deferred: bool
    reading: Reading
    called: bool
    fstring: ast.JoinedStr | None
    home: Scope | None = None
    ambiguous: bool = False  # read in a class body before the class binds it: a global if there is one
    quoted: bool = False  # in a string annotation: evaluated by nobody but those who read annotations


@dataclass(eq=False, slots=True)
class Names:
    """What one statement does with names."""

    top: Scope
    uses: list[Use] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    imports: list[tuple[ImportNode, Scope]] = field(default_factory=list)
    globals: list[tuple[ast.Global, Scope]] = field(default_factory=list)
    definitions: list[tuple[FunctionNode | ast.ClassDef, Scope]] = field(default_factory=list)
    quoted: list[tuple[ast.Constant, Scope, Reading]] = field(default_factory=list)  # string annotations
    fixed: set[str] = field(default_factory=set)  # module-level names bound where no position is known


@dataclass(frozen=True, slots=True)
class _Flags:
    scope: Scope
    deferred: bool = False
    reading: Reading = Reading.NONE
    fstring: ast.JoinedStr | None = None
    called: bool = False


_CONTEXT: Final[dict[type, Literal["load", "store", "delete"]]] = {
    ast.Load: "load",
    ast.Store: "store",
    ast.Del: "delete",
}


def names_of(node: ast.stmt) -> Names:
    """Scopes and uses of one top-level statement, uses in source order."""
    walker = _Walker()
    walker.run(node)
    for use in walker.names.uses:
        _place(use)
    walker.names.uses.sort(key=lambda use: (use.node.lineno, use.node.col_offset))
    return walker.names


def uses_in(expression: ast.expr, scope: Scope, reading: Reading) -> list[Use]:
    """The uses of names in the expression of a string annotation."""
    walker = _Walker()
    walker.push(expression, _Flags(scope, deferred=True, reading=reading))
    walker.walk()
    for use in walker.names.uses:
        use.quoted = True
        _place(use)
    return walker.names.uses


def _place(use: Use) -> None:
    """Finds the scope that binds a use."""
    scope: Scope | None = use.scope
    own = True
    while scope is not None:
        if scope.outside.get(use.name) == "global" or scope.kind == "module":
            return
        visible = own or scope.kind != "class"
        if visible and scope.binds(use.name):
            if scope.kind == "class" and use.context == "load":
                early = (use.node.lineno, use.node.col_offset) < scope.first_bound.get(use.name, (0, 0)) or (
                    _on_binding_statement(scope, use)
                )
                if early and _runs_once(scope) and not use.deferred and use.reading is Reading.NONE:
                    return  # a global
                use.ambiguous = early
            use.home = scope
            return
        if scope.kind != "types":
            own = False
        if visible and use.name == "__class__" and scope.kind == "function":
            use.home = scope
            return
        scope = scope.parent


def _runs_once(scope: Scope) -> bool:
    """Whether a class stands in a module, and its body goes from top to bottom: what it binds below is not there yet."""
    assert isinstance(scope.node, ast.ClassDef)
    outer = scope.parent is not None and scope.parent.kind == "module"
    return outer and not any(isinstance(inner, ast.For | ast.While) for inner in ast.walk(scope.node))


def _on_binding_statement(scope: Scope, use: Use) -> bool:
    """Whether the use stands right of the first assignment of its name in a class body (`kind = kind`)."""
    assert isinstance(scope.node, ast.ClassDef)
    first = scope.first_bound.get(use.name)
    for statement in scope.node.body:
        if first is not None and isinstance(statement, ast.Assign | ast.AnnAssign) and statement.lineno <= first[0]:
            value = statement.value
            if value is not None and first[0] <= (statement.end_lineno or 0):
                start, end = (value.lineno, value.col_offset), (value.end_lineno or 0, value.end_col_offset or 0)
                if start <= (use.node.lineno, use.node.col_offset) < end:
                    return True
    return False


class _Walker:
    def __init__(self) -> None:
        self.top = Scope("module", None, None)
        self.names = Names(self.top, scopes=[self.top])
        self.stack: list[tuple[ast.AST, _Flags]] = []

    def run(self, node: ast.stmt) -> None:
        self.push(node, _Flags(self.top))
        self.walk()

    def walk(self) -> None:
        while self.stack:
            current, flags = self.stack.pop()
            self.visit(current, flags)

    def push(self, node: ast.AST | None, flags: _Flags) -> None:
        if node is not None:
            self.stack.append((node, flags))

    def push_all(self, nodes: list[ast.stmt] | list[ast.expr], flags: _Flags) -> None:
        for node in reversed(nodes):
            self.stack.append((node, flags))

    def open(self, kind: ScopeKind, node: ast.AST, parent: Scope) -> Scope:
        scope = Scope(kind, node, parent)
        self.names.scopes.append(scope)
        return scope

    def bind(self, name: str, scope: Scope, node: ast.AST) -> None:
        if name.startswith("__") and not name.endswith("__"):
            name = _mangled(name, scope)
        scope.bound[name] = scope.bound.get(name, 0) + 1
        place = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        if name not in scope.first_bound or place < scope.first_bound[name]:
            scope.first_bound[name] = place

    def visit(self, node: ast.AST, flags: _Flags) -> None:
        scope = flags.scope
        match node:
            case ast.Name() | ast.Attribute():
                self.chain(node, flags)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node, flags)
            case ast.ClassDef():
                self.class_(node, flags)
            case ast.Lambda():
                inner = self.open("function", node, scope)
                self.arguments(node.args, flags, inner)
                self.push(node.body, _Flags(inner, True, flags.reading, flags.fstring))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self.comprehension(node, flags)
            case ast.NamedExpr():
                target = scope
                while target.kind == "comprehension" and target.parent is not None:
                    target = target.parent
                self.bind(node.target.id, target, node.target)
                self.push(node.value, _Flags(scope, flags.deferred, flags.reading, flags.fstring))
                self.use(node.target, (), _Flags(target, flags.deferred, fstring=flags.fstring))
            case ast.AnnAssign():
                reading = Reading.NEVER if scope.kind == "function" else Reading.BODY
                self.push(node.target, flags)
                self.annotation(node.annotation, _Flags(scope, flags.deferred, reading))
                self.push(node.value, flags)
            case ast.Import() | ast.ImportFrom():
                self.import_(node, scope)
            case ast.Global():
                self.names.globals.append((node, scope))
                scope.outside.update(dict.fromkeys(node.names, "global"))
            case ast.Nonlocal():
                scope.outside.update(dict.fromkeys(node.names, "nonlocal"))
            case ast.JoinedStr():
                outer = flags.fstring or node
                for value in node.values:
                    self.push(value, _Flags(scope, flags.deferred, flags.reading, outer))
            case ast.Constant():
                if isinstance(node.value, str) and flags.reading is not Reading.NONE:
                    self.names.quoted.append((node, scope, flags.reading))
            case ast.Call():
                for keyword in node.keywords:
                    self.push(keyword.value, _Flags(scope, flags.deferred, flags.reading, flags.fstring))
                self.push_all(node.args, _Flags(scope, flags.deferred, flags.reading, flags.fstring))
                self.push(node.func, _Flags(scope, flags.deferred, flags.reading, flags.fstring, called=True))
            case _:
                self.other(node, flags)

    def other(self, node: ast.AST, flags: _Flags) -> None:
        """Nodes without rules of their own, and those that bind a bare string."""
        scope = flags.scope
        if type(node).__name__ == "TypeAlias":  # PEP 695, from Python 3.12 on
            self.type_alias(node, flags)
            return
        bound: str | None = None
        if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            bound = node.name
        elif isinstance(node, ast.MatchMapping):
            bound = node.rest
        if bound is not None:
            self.bind(bound, scope, node)
            self._fix(bound, scope)
        plain = _Flags(scope, flags.deferred, flags.reading, flags.fstring) if flags.called else flags
        for child in reversed(list(ast.iter_child_nodes(node))):
            self.stack.append((child, plain))

    def _fix(self, name: str, scope: Scope) -> None:
        if scope.kind == "module" or scope.outside.get(name) == "global":
            self.names.fixed.add(name)

    def chain(self, node: ast.Name | ast.Attribute, flags: _Flags) -> None:
        attributes: list[ast.Attribute] = []
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            attributes.append(base)
            base = base.value
        if isinstance(base, ast.Name):
            self.use(base, tuple(reversed(attributes)), flags)
            if isinstance(base.ctx, ast.Store | ast.Del):
                self.bind(base.id, flags.scope, base)
        else:
            self.push(base, _Flags(flags.scope, flags.deferred, flags.reading, flags.fstring))

    def use(self, node: ast.Name, attributes: tuple[ast.Attribute, ...], flags: _Flags) -> None:
        context = _CONTEXT[type(attributes[-1].ctx if attributes else node.ctx)]
        name = node.id
        if name.startswith("__") and not name.endswith("__"):
            name = _mangled(name, flags.scope)
        self.names.uses.append(
            Use(
                name, node, attributes, flags.scope, context, flags.deferred, flags.reading, flags.called, flags.fstring
            )
        )

    def annotation(self, node: ast.expr | None, flags: _Flags) -> None:
        self.push(node, flags)

    def import_(self, node: ImportNode, scope: Scope) -> None:
        self.names.imports.append((node, scope))
        for alias in node.names:
            if alias.name != "*":
                name = alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)
                scope.imports.setdefault(name, []).append((node, alias))
                place = (node.lineno, node.col_offset)
                scope.first_bound[name] = min(place, scope.first_bound.get(name, place))

    def arguments(self, arguments: ast.arguments, flags: _Flags, inner: Scope) -> None:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
        for argument in every:
            self.bind(argument.arg, inner, argument)
            self.annotation(argument.annotation, _Flags(flags.scope, flags.deferred, Reading.FUNCTION))
        plain = _Flags(flags.scope, flags.deferred, fstring=flags.fstring)
        for default in [*arguments.defaults, *arguments.kw_defaults]:
            self.push(default, plain)

    def type_alias(self, node: ast.AST, flags: _Flags) -> None:
        """`type A[T] = …`: the value is evaluated when asked for, in a scope of its own that sees the parameters."""
        self.push(getattr(node, "name", None), flags)
        around = self.type_parameters(node, flags)
        inner = self.open("types", node, around.scope)
        self.push(getattr(node, "value", None), _Flags(inner, True))

    def type_parameters(self, node: ast.AST, flags: _Flags) -> _Flags:
        """The scope of PEP 695 type parameters, where the interpreter has them."""
        parameters: list[ast.AST] = getattr(node, "type_params", [])
        if not parameters:
            return flags
        scope = self.open("types", node, flags.scope)
        for parameter in parameters:
            self.bind(str(getattr(parameter, "name", "")), scope, parameter)
            for child in ast.iter_child_nodes(parameter):
                self.push(child, _Flags(scope, True))
        return _Flags(scope, flags.deferred)

    def function(self, node: FunctionNode, flags: _Flags) -> None:
        self.bind(node.name, flags.scope, node)
        self.names.definitions.append((node, flags.scope))
        flags = _Flags(flags.scope, flags.deferred)
        for decorator in node.decorator_list:
            self.push(decorator, _Flags(flags.scope, flags.deferred, called=True))
        around = self.type_parameters(node, flags)
        inner = self.open("function", node, around.scope)
        self.arguments(node.args, around, inner)
        self.annotation(node.returns, _Flags(around.scope, flags.deferred, Reading.FUNCTION))
        self.push_all(node.body, _Flags(inner, True))

    def class_(self, node: ast.ClassDef, flags: _Flags) -> None:
        self.bind(node.name, flags.scope, node)
        self.names.definitions.append((node, flags.scope))
        flags = _Flags(flags.scope, flags.deferred)
        for decorator in node.decorator_list:
            self.push(decorator, _Flags(flags.scope, flags.deferred, called=True))
        around = self.type_parameters(node, flags)
        self.push_all(node.bases, around)
        for keyword in node.keywords:
            self.push(keyword.value, around)
        inner = self.open("class", node, around.scope)
        inner.bound.update({"__module__": 1, "__qualname__": 1})
        self.push_all(node.body, _Flags(inner, flags.deferred))

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, flags: _Flags) -> None:
        inner = self.open("comprehension", node, flags.scope)
        within = _Flags(inner, flags.deferred, flags.reading, flags.fstring)
        outer = _Flags(flags.scope, flags.deferred, flags.reading, flags.fstring)
        for index, generator in enumerate(node.generators):
            self.push(generator.iter, outer if index == 0 else within)
            self.push(generator.target, within)
            for condition in generator.ifs:
                self.push(condition, within)
        if isinstance(node, ast.DictComp):
            self.push(node.key, within)
            self.push(node.value, within)
        else:
            self.push(node.elt, within)


def _mangled(name: str, scope: Scope) -> str:
    current: Scope | None = scope
    while current is not None:
        if current.kind == "class" and isinstance(current.node, ast.ClassDef):
            owner = current.node.name.lstrip("_")
            return f"_{owner}{name}" if owner else name
        current = current.parent
    return name


def captured(use: Use) -> set[str]:
    """The local names that would capture a global name written in the place of a use."""
    result: set[str] = set()
    scope: Scope | None = use.scope
    own = True
    while scope is not None and scope.kind != "module":
        if own or scope.kind != "class":
            names = (set(scope.bound) | set(scope.imports)) - {n for n, how in scope.outside.items() if how == "global"}
            result |= names
        own = own and scope.kind == "types"
        scope = scope.parent
    return result
