"""What the parts of a one-file program refer to: standard-library and built-in names resolved, own names linked.

A piece is a part of the program that runs as a whole: a top-level function, a method, the level of a class, or any other
top-level statement. The call graph between pieces is by name: a reached class may run the special methods that
Python calls by itself, and of its other methods those whose name is asked for as an attribute anywhere in reach.

Statements are read each by itself (`exe.analysis.statements`), once for all programs that have them in common.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from .modules import FunctionNode
from .scopes import Use
from .statements import Part, Statement, chain_of, import_targets, read_statements

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
    program: Program
    parts: list[tuple[Statement, int, Part]] = field(default_factory=list)  # with the line before each statement's text
    _references: list[Reference] | None = None

    @property
    def names(self) -> set[str]:
        """Own globals that it uses, and special ones that every module has."""
        bound = self.program.bound
        return {name for _, _, part in self.parts for name in part.names if name in bound or name.startswith("__")}

    @property
    def attributes(self) -> set[str]:
        """All attribute names in it."""
        return {name for _, _, part in self.parts for name in part.attributes}

    @property
    def rebinds(self) -> set[str]:
        """Globals that a function of it assigns (`global x`)."""
        return {name for _, _, part in self.parts for name in part.rebinds}

    @property
    def references(self) -> list[Reference]:
        """What it uses from outside the program; resolved when first asked for."""
        if self._references is None:
            self._references = [one for part in self.parts for one in self.program.resolve(*part)]
        return self._references


@dataclass(slots=True)
class Program:
    """All pieces by key ("f", "C", "C.m", "line 7"), which of them bind a global name, and the methods of each class."""

    statements: list[tuple[Statement, int]] = field(default_factory=list)  # with the line before the text of each
    pieces: dict[str, Piece] = field(default_factory=dict)
    binders: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    methods: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    functions: set[str] = field(default_factory=set)  # keys of pieces that are functions or methods
    loose: list[str] = field(default_factory=list)  # statements that bind nothing: they may change what they name
    imports: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    bound: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # name → how many places bind it
    values: dict[str, list[tuple[Statement, ast.expr]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, statement: Statement, before: int) -> None:
        """Appends a statement whose text stands behind `before` lines."""
        self.statements.append((statement, before))
        for name, targets in statement.imports.items():
            self.imports[name] |= targets
        for name, count in statement.bound.items():
            self.bound[name] += count
        for name, value in statement.values:
            self.values[name].append((statement, value))
        default = statement.defined or f"line {statement.line + before}"
        for method, part in statement.parts.items():
            key = f"{default}.{method}" if method else default
            piece = self.pieces.get(key)
            if piece is None:
                piece = self.pieces[key] = Piece(key, self)
            piece.parts.append((statement, before, part))
        for name in statement.own:
            if default not in self.binders[name]:
                self.binders[name].append(default)
        if statement.methods or statement.is_class:
            self.methods[default] |= statement.methods
        self.functions.update(f"{default}.{name}" if name else default for name in statement.functions)
        if statement.loose:
            self.loose.append(default)

    def reach(self, *entries: str) -> dict[str, bool]:
        """Keys of the pieces that a call of one of `entries` may run, or did run to make what it uses.

        The value tells whether something in reach asks for the piece by name; False for special methods that come
        with their class.
        """
        reached: dict[str, bool] = {}
        attributes: set[str] = set()
        names: set[str] = set()
        loose = [(key, self.pieces[key].names) for key in self.loose]
        work = [(key, True) for entry in entries for key in (entry, entry.partition(".")[0])]
        while work:
            while work:
                key, asked = work.pop()
                if key in self.pieces and not self._settled(reached, key, asked):
                    seen = key in reached
                    reached[key] = asked
                    if seen:
                        continue
                    piece = self.pieces[key]
                    attributes |= piece.attributes
                    own = piece.names - names
                    names |= own
                    work += [(binder, True) for name in own for binder in self.binders.get(name, ())]
            work = list(self._fresh(reached, attributes))
            work += [(key, True) for key, used in loose if key not in reached and not used.isdisjoint(names)]
        return reached

    @staticmethod
    def _settled(reached: dict[str, bool], key: str, asked: bool) -> bool:
        return key in reached and reached[key] >= asked

    def _fresh(self, reached: dict[str, bool], attributes: set[str]) -> Iterator[tuple[str, bool]]:
        """Methods that have come into reach."""
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

    # ---- references -------------------------------------------------------------------------------------------------

    def resolve(self, statement: Statement, before: int, part: Part) -> Iterator[Reference]:
        """The references of a part: uses of names from outside, and of methods of what evidently is an instance."""
        for sight in part.sights:
            use, path = sight.use, sight.path
            own = use.home is None and use.name in self.bound and use.name not in self.imports
            if own and not (path and use.name in self.values):
                continue  # neither from outside nor evidently an instance of what is
            line = use.node.lineno + before
            for target in self._targets_of(use):
                yield Reference(target + path, line, sight.passive, sight.call)
            if path:
                for target in self._instance_of(statement, use, _CLASS_OF):
                    yield Reference(target + path, line, False, sight.call)
        for node, base, path, call in part.results:
            for target in self._class_of(statement, base, _CLASS_OF):
                yield Reference(target + path, node.lineno + before, False, call)

    def _targets_of(self, use: Use) -> set[str]:
        """Dotted names from outside that a name may stand for."""
        if use.home is not None:
            return import_targets(use.home.imports.get(use.name, []))
        found = self.imports.get(use.name, set())
        if not found and use.name not in self.bound and not use.name.startswith("__"):
            return {f"builtins.{use.name}"}
        if use.name == "__import__" and use.name not in self.bound:
            return {"builtins.__import__"}
        return found

    def _instance_of(self, statement: Statement, use: Use, depth: int) -> set[str]:
        """Classes of which a variable evidently is an instance: bound once, by a call or as an annotated parameter."""
        count = use.home.bound.get(use.name, 0) if use.home is not None else self.bound.get(use.name, 0)
        if count != 1 or depth == 0:
            return set()
        if use.home is None:
            values = self.values.get(use.name, [])
        else:
            values = [(statement, value) for value in statement.locals.get((id(use.home), use.name), ())]
        if len(values) == 1:
            return self._class_of(*values[0], depth - 1)
        if use.home is not None and isinstance(use.home.node, FunctionNode):
            arguments = use.home.node.args
            for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
                if argument.arg == use.name and argument.annotation is not None:
                    return self._dotted(statement, argument.annotation)
        return set()

    def _class_of(self, statement: Statement, value: ast.expr, depth: int) -> set[str]:
        if isinstance(value, ast.Name) and id(value) in statement.uses:
            return self._instance_of(statement, statement.uses[id(value)], depth)
        if not isinstance(value, ast.Call):
            return set()
        return {target for target in self._dotted(statement, value.func) if target.rpartition(".")[2][:1].isupper()}

    def _dotted(self, statement: Statement, node: ast.expr) -> set[str]:
        base, path = chain_of(node)
        if not isinstance(base, ast.Name) or id(base) not in statement.uses:
            return set()
        return {".".join([target, *path]) for target in self._targets_of(statement.uses[id(base)])}


@lru_cache(maxsize=4)
def read_program(source: str) -> Program:
    """Pieces and references of a program; imports are taken to be of the standard library. Raises SourceFault."""
    program = Program()
    for statement, before in read_statements(source):
        program.add(statement, before)
    return program
