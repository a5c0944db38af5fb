"""What the parts of a one-file program refer to: standard-library and built-in names resolved, own names linked.

A piece is a part of the program that runs as a whole: a top-level function, a method, the level of a class, or any other
top-level statement. The call graph between pieces is by name: a reached class may run the special methods that
Python calls by itself, and of its other methods those whose name is asked for as an attribute anywhere in reach.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .modules import FunctionNode
from .scopes import ImportNode, Names, Reading, Scope, Use, names_of

# Special methods that only an explicit statement, call or module (copy, pickle) leads to.
_ASKED_FOR = frozenset(
    """__enter__ __exit__ __aenter__ __aexit__ __await__ __aiter__ __anext__ __reduce__ __reduce_ex__ __getstate__
    __setstate__ __getnewargs__ __getnewargs_ex__ __copy__ __deepcopy__ __fspath__ __sizeof__ __dir__ __del__""".split()  # noqa: SIM905
)
_CLASS_OF = 3  # how many assignments are followed to learn the class of a variable


@dataclass(frozen=True, slots=True)
class Reference:
    """One use of a name from outside the program.

    `target` is dotted: "os.path.join", "builtins.open", "pathlib.Path.exists" for a method of an instance whose class is
    evident. `passive`: only compared with (isinstance, except), never called. `call` is the call of it, if it is one.
    """

    target: str
    line: int
    passive: bool
    call: ast.Call | None


@dataclass(slots=True)
class Piece:
    """A part that runs as a whole. `names` are own globals that it uses, `attributes` all attribute names in it."""

    key: str
    references: list[Reference] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    rebinds: set[str] = field(default_factory=set)  # globals that a function of it assigns (`global x`)


@dataclass(slots=True)
class Program:
    """All pieces by key ("f", "C", "C.m", "line 7"), which of them bind a global name, and the methods of each class."""

    pieces: dict[str, Piece] = field(default_factory=dict)
    binders: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    methods: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    functions: set[str] = field(default_factory=set)  # keys of pieces that are functions or methods
    loose: list[str] = field(default_factory=list)  # statements that bind nothing: they may change what they name

    def reach(self, *entries: str) -> dict[str, bool]:
        """Keys of the pieces that a call of one of `entries` may run, or did run to make what it uses.

        The value tells whether something in reach asks for the piece by name; False for special methods that come
        with their class.
        """
        reached: dict[str, bool] = {}
        attributes: set[str] = set()
        names: set[str] = set()
        work = [(key, True) for entry in entries for key in (entry, entry.partition(".")[0])]
        while work:
            while work:
                key, asked = work.pop()
                if key in self.pieces and not self._settled(reached, key, asked):
                    reached[key] = asked
                    piece = self.pieces[key]
                    attributes |= piece.attributes
                    names |= piece.names
                    work += [(binder, True) for name in piece.names for binder in self.binders.get(name, ())]
            work = list(self._fresh(reached, attributes, names))
        return reached

    @staticmethod
    def _settled(reached: dict[str, bool], key: str, asked: bool) -> bool:
        return key in reached and reached[key] >= asked

    def _fresh(self, reached: dict[str, bool], attributes: set[str], names: set[str]) -> Iterator[tuple[str, bool]]:
        """Methods and loose statements that have come into reach."""
        for owner in [key for key in reached if key in self.methods]:
            for method in self.methods[owner]:
                key = f"{owner}.{method}"
                if method in attributes:
                    asked = True
                elif method.startswith("__") and method.endswith("__") and method not in _ASKED_FOR:
                    asked = False
                else:
                    continue
                if not self._settled(reached, key, asked):
                    yield key, asked
        for key in self.loose:
            if key not in reached and self.pieces[key].names & names:
                yield key, True


def read_program(tree: ast.Module) -> Program:
    """Pieces and references of a program; imports are taken to be of the standard library."""
    return _Reader(tree).read()


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self.program = Program()
        self.statements = [(node, names_of(node)) for node in _flat(tree.body)]
        self.imports: dict[str, set[str]] = defaultdict(set)
        self.uses: dict[int, Use] = {}
        self.values: dict[tuple[int, str], list[ast.expr]] = defaultdict(list)  # (scope or 0, name) → assigned values
        self.bound: dict[str, int] = defaultdict(int)
        self.passive: set[int] = set()
        self.calls: dict[int, ast.Call] = {}  # by id of the called expression
        self.attributes: dict[int, list[ast.Attribute]] = defaultdict(list)  # by id of the top-level statement

    def read(self) -> Program:
        for node, names in self.statements:
            for name, found in names.top.imports.items():
                self.imports[name] |= _targets(found)
            for name, count in names.top.bound.items():
                self.bound[name] += count
            self.uses.update({id(use.node): use for use in names.uses})
            for use in names.uses:
                if use.context != "load" and use.home is None and not use.attributes:
                    self.bound.setdefault(use.name, 0)  # bound from inside a function at least
            self._notice(node)
        for node, names in self.statements:
            self._statement(node, names)
        return self.program

    def _notice(self, top: ast.stmt) -> None:
        """Calls, comparisons and assignments that the uses alone do not show."""
        for node in ast.walk(top):
            match node:
                case ast.Attribute():
                    self.attributes[id(top)].append(node)
                case ast.Call(func=func):
                    self.calls[id(func)] = node
                    if isinstance(func, ast.Name) and func.id in {"isinstance", "issubclass"}:
                        self._mark_passive(node.args[1:])
                case ast.ExceptHandler(type=ast.expr() as caught):
                    self._mark_passive([caught])
                case ast.Assign(targets=[ast.Name() as name], value=value):
                    self._assigned(name, value)
                case ast.AnnAssign(target=ast.Name() as name, value=ast.expr() as value):
                    self._assigned(name, value)
                case ast.NamedExpr(target=name, value=value):
                    self._assigned(name, value)

    def _mark_passive(self, nodes: Iterable[ast.expr]) -> None:
        for node in nodes:
            self.passive.update(id(inner) for inner in ast.walk(node) if isinstance(inner, ast.Name))

    def _assigned(self, name: ast.Name, value: ast.expr) -> None:
        use = self.uses.get(id(name))
        if use is not None:
            self.values[id(use.home) if use.home else 0, use.name].append(value)

    def _statement(self, node: ast.stmt, names: Names) -> None:
        defined = node.name if isinstance(node, FunctionNode | ast.ClassDef) else None
        default = defined or f"line {node.lineno}"
        own: set[str] = {defined} if defined else set()
        for use in names.uses:
            piece = self._piece(default, use.scope)
            if use.context != "load" and not use.attributes:
                if use.home is None and not use.deferred:
                    own.add(use.name)
                continue
            if use.reading is Reading.NONE:
                self._use(piece, use)
        for attribute in self.attributes[id(node)]:
            self._attribute(default, attribute)
        for statement, scope in names.globals:
            self._piece(default, scope).rebinds.update(statement.names)
        self._piece(default, None)
        for name in sorted(own):
            if default not in self.program.binders[name]:
                self.program.binders[name].append(default)
        if isinstance(node, ast.ClassDef):
            self.program.methods.setdefault(node.name, set())
            for method, scope in names.definitions:
                if isinstance(method, FunctionNode) and scope.kind == "class":
                    key = f"{default}.{method.name}"
                    self.program.pieces.setdefault(key, Piece(key))
                    self.program.methods[default].add(method.name)
                    self.program.functions.add(key)
        elif defined:
            self.program.functions.add(default)
        if not own and not isinstance(node, ast.Import | ast.ImportFrom):
            self.program.loose.append(default)

    def _piece(self, default: str, scope: Scope | None) -> Piece:
        """The piece in which a scope lies: the method of a top-level class, otherwise the statement itself."""
        key = default
        while scope is not None and scope.parent is not None:
            outer = scope.parent
            if (
                scope.kind == "function"
                and isinstance(scope.node, FunctionNode)
                and outer.kind == "class"
                and isinstance(outer.node, ast.ClassDef)
            ):
                self.program.methods[default].add(scope.node.name)
                key = f"{default}.{scope.node.name}"
            scope = outer
        return self.program.pieces.setdefault(key, Piece(key))

    def _attribute(self, default: str, node: ast.Attribute) -> None:
        base, path = _chain(node)
        scope: Scope | None = None
        if isinstance(base, ast.Name):
            use = self.uses.get(id(base))
            scope = use.scope if use else None
        else:
            first = next((inner for inner in ast.walk(base) if id(inner) in self.uses), None)
            scope = self.uses[id(first)].scope if first is not None else None
        piece = self._piece(default, scope)
        piece.attributes.add(node.attr)
        if isinstance(base, ast.Call):
            for target in self._class_of(base, _CLASS_OF):
                dotted = ".".join([target, *path])
                piece.references.append(Reference(dotted, node.lineno, False, self.calls.get(id(node))))

    def _use(self, piece: Piece, use: Use) -> None:
        top = use.attributes[-1] if use.attributes else use.node
        path = [attribute.attr for attribute in use.attributes]
        call = self.calls.get(id(top))
        for target in self._targets_of(use):
            dotted = ".".join([target, *path])
            piece.references.append(Reference(dotted, use.node.lineno, id(use.node) in self.passive, call))
        if use.home is None and (use.name in self.bound or use.name.startswith("__")):
            piece.names.add(use.name)
        if path:
            for target in self._instance_of(use, _CLASS_OF):
                piece.references.append(Reference(".".join([target, *path]), use.node.lineno, False, call))

    def _targets_of(self, use: Use) -> set[str]:
        """Dotted names from outside that a name may stand for."""
        if use.home is not None:
            return _targets(use.home.imports.get(use.name, []))
        found = self.imports.get(use.name, set())
        if not found and use.name not in self.bound and not use.name.startswith("__"):
            return {f"builtins.{use.name}"}
        if use.name == "__import__" and use.name not in self.bound:
            return {"builtins.__import__"}
        return found

    def _instance_of(self, use: Use, depth: int) -> set[str]:
        """Classes of which a variable evidently is an instance: bound once, by a call or as an annotated parameter."""
        count = use.home.bound.get(use.name, 0) if use.home is not None else self.bound.get(use.name, 0)
        if count != 1 or depth == 0:
            return set()
        values = self.values.get((id(use.home) if use.home else 0, use.name), [])
        if len(values) == 1:
            return self._class_of(values[0], depth - 1)
        if use.home is not None and isinstance(use.home.node, FunctionNode):
            arguments = use.home.node.args
            for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
                if argument.arg == use.name and argument.annotation is not None:
                    return self._dotted(argument.annotation)
        return set()

    def _class_of(self, value: ast.expr, depth: int) -> set[str]:
        if isinstance(value, ast.Name) and id(value) in self.uses:
            return self._instance_of(self.uses[id(value)], depth)
        if not isinstance(value, ast.Call):
            return set()
        return {target for target in self._dotted(value.func) if target.rpartition(".")[2][:1].isupper()}

    def _dotted(self, node: ast.expr) -> set[str]:
        base, path = _chain(node)
        if not isinstance(base, ast.Name) or id(base) not in self.uses:
            return set()
        return {".".join([target, *path]) for target in self._targets_of(self.uses[id(base)])}


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Top-level statements; blocks are taken apart into their head and the statements in them."""
    work = list(reversed(body))
    while work:
        node = work.pop()
        inner: list[ast.stmt] = []
        match node:
            case ast.If() | ast.While():
                yield ast.copy_location(ast.Expr(node.test), node)
                inner = [*node.body, *node.orelse]
            case ast.Try() | ast.TryStar():
                handled = [statement for handler in node.handlers for statement in handler.body]
                inner = [*node.body, *handled, *node.orelse, *node.finalbody]
            case ast.With():
                yield ast.copy_location(ast.With(items=node.items, body=[ast.copy_location(ast.Pass(), node)]), node)
                inner = node.body
            case ast.For():
                empty = ast.copy_location(ast.Pass(), node)
                yield ast.copy_location(ast.For(target=node.target, iter=node.iter, body=[empty], orelse=[]), node)
                inner = [*node.body, *node.orelse]
            case _:
                yield node
        work += reversed(inner)


def _chain(node: ast.expr) -> tuple[ast.expr, list[str]]:
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    return node, path[::-1]


def _targets(found: list[tuple[ImportNode, ast.alias]]) -> set[str]:
    """What import statements bind a name to, dotted."""
    result: set[str] = set()
    for node, alias in found:
        if isinstance(node, ast.ImportFrom):
            result.add(f"{node.module or ''}.{alias.name}")
        else:
            result.add(alias.name if alias.asname else alias.name.partition(".")[0])
    return result
