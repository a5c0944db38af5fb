"""The top-level statements of one-file programs, each read by itself: what it binds, and where in it which names stand.

Programs that were inlined from one package have most of their text in common. It is cut at blank lines, and what was read
of a piece of text is kept for the next program that has the same one.
"""

from __future__ import annotations

import ast
import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from .modules import FunctionNode
from .scopes import ImportNode, Names, Reading, Scope, Use, names_of
from .text import SourceFault, nodes_of, parse

KEPT_CHARACTERS: Final = 3_000_000
"""How much text is remembered, least recently used first out: some hundred bytes of memory a character."""

_APART: Final = re.compile(r"\n\n\n(?=\S)")
_LINES: Final = re.compile(r"\n(?=[A-Za-z_])")


@dataclass(frozen=True, slots=True)
class Sight:
    """A use that may be of something from outside. `path` are its attributes (".a.b"), `call` the call of the whole."""

    use: Use
    path: str
    passive: bool
    call: ast.Call | None


@dataclass(slots=True)
class Part:
    """What one statement adds to a piece; names are not resolved yet. `results`: attributes of what a call gives."""

    sights: list[Sight] = field(default_factory=list)
    results: list[tuple[ast.Attribute, ast.Call, str, ast.Call | None]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)  # globals, own or not
    attributes: set[str] = field(default_factory=set)
    rebinds: set[str] = field(default_factory=set)


@dataclass(eq=False, slots=True, weakref_slot=True)
class Statement:
    """One statement, positions counted from the start of its text.

    `parts` are by the name of a method, "" for the statement itself; `functions` names those of them that are functions.
    """

    node: ast.stmt
    names: Names
    line: int
    top: bool = True  # stands in no block
    defined: str | None = None
    own: list[str] = field(default_factory=list)  # names that it binds when it runs
    parts: dict[str, Part] = field(default_factory=lambda: defaultdict(Part))
    methods: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    imports: dict[str, set[str]] = field(default_factory=dict)
    bound: dict[str, int] = field(default_factory=dict)  # name → in how many places; 0: only functions bind it
    values: list[tuple[str, ast.expr]] = field(default_factory=list)  # what globals are assigned
    locals: dict[tuple[int, str], list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[int, Use] = field(default_factory=dict)

    @property
    def is_class(self) -> bool:
        """Whether it defines a class."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def loose(self) -> bool:
        """Whether it binds nothing."""
        return not self.own and not isinstance(self.node, ast.Import | ast.ImportFrom)


def read_statements(source: str) -> Iterator[tuple[Statement, int]]:
    """The statements of a program, each with the number of lines before its text. Raises SourceFault.

    A text that is cut where the parts parse by themselves has the statements of its parts: nothing that is open at the end of
    a part (a bracket, a string, a block) would parse.
    """
    cut: list[tuple[Statement, int]] = []
    try:
        for text, before in _cut(source, _APART):
            cut += [(statement, before + within) for statement, within in _memory.read(text)]
    except SourceFault:
        cut = [(statement, 0) for statement in _read(source)]
    yield from cut


def _cut(text: str, at: re.Pattern[str]) -> Iterator[tuple[str, int]]:
    """The text between the places of a pattern, each part with the number of lines before it."""
    start = before = 0
    for found in at.finditer(text):
        yield text[start : found.start()], before
        before += text.count("\n", start, found.end())
        start = found.end()
    yield text[start:], before


class _Memory:
    """What was read of texts, as long as they are not too many."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, list[tuple[Statement, int]]] = OrderedDict()
        self._characters = 0

    def read(self, text: str) -> list[tuple[Statement, int]]:
        """The statements of a text, with the lines before each. Raises SourceFault."""
        found = self._known.get(text)
        if found is not None:
            self._known.move_to_end(text)
            return found
        found = self._known[text] = self._lines(text)
        self._characters += len(text)
        while self._characters > KEPT_CHARACTERS and len(self._known) > 1:
            self._characters -= len(self._known.popitem(last=False)[0])
        return found

    def _lines(self, text: str) -> list[tuple[Statement, int]]:
        """Line by line where each line parses, so that tables among other assignments are read once."""
        parts = [*_cut(text, _LINES)]
        if len(parts) > 1 and not text.startswith("@"):
            try:
                return [(statement, before + within) for part, before in parts for statement, within in self.read(part)]
            except SourceFault:
                pass  # what follows was not a statement of its own
        return [(statement, 0) for statement in _read(text)]


_memory: Final = _Memory()


def _read(text: str) -> list[Statement]:
    body = parse(text).body
    top = set(map(id, body))
    return [_Reader(node, id(node) in top).read() for node in _flat(body)]


class _Reader:
    def __init__(self, node: ast.stmt, top: bool) -> None:
        self.node = node
        self.names = names_of(node)
        self.statement = Statement(node, self.names, node.lineno, top)
        self.uses = self.statement.uses
        self.passive: set[int] = set()
        self.calls: dict[int, ast.Call] = {}  # by id of the called expression
        self.attributes: list[ast.Attribute] = []

    def read(self) -> Statement:
        statement, names, node = self.statement, self.names, self.node
        self.uses.update((id(use.node), use) for use in names.uses)
        statement.imports = {name: import_targets(found) for name, found in names.top.imports.items()}
        statement.bound = dict(names.top.bound)
        for use in names.uses:
            if use.context != "load" and use.home is None and not use.attributes:
                statement.bound.setdefault(use.name, 0)  # bound from inside a function at least
        self._notice()
        own: set[str] = set()
        if isinstance(node, FunctionNode | ast.ClassDef):
            statement.defined = node.name
            own.add(node.name)
        for use in names.uses:
            part = self._part(use.scope)
            if use.context != "load" and not use.attributes:
                if use.home is None and not use.deferred:
                    own.add(use.name)
            elif use.reading is Reading.NONE:
                self._use(part, use)
        for attribute in self.attributes:
            self._attribute(attribute)
        for inner, scope in names.globals:
            self._part(scope).rebinds.update(inner.names)
        self._part(None)
        statement.own = sorted(own)
        self._functions()
        return statement

    def _functions(self) -> None:
        statement = self.statement
        if isinstance(self.node, FunctionNode):
            statement.functions.add("")
        elif isinstance(self.node, ast.ClassDef):
            for method, scope in self.names.definitions:
                if isinstance(method, FunctionNode) and scope.kind == "class":
                    statement.parts[method.name]  # there even where nothing is used in it
                    statement.methods.add(method.name)
                    statement.functions.add(method.name)

    def _notice(self) -> None:
        """Calls, comparisons and assignments that the uses alone do not show."""
        for node in nodes_of(self.node):
            match node:
                case ast.Attribute():
                    self.attributes.append(node)
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
        if use is None:
            return
        if use.home is None:
            self.statement.values.append((use.name, value))
        else:
            self.statement.locals[id(use.home), use.name].append(value)

    def _part(self, scope: Scope | None) -> Part:
        """The part in which a scope lies: the method of a class, otherwise the statement itself."""
        method = ""
        while scope is not None and scope.parent is not None:
            outer = scope.parent
            if (
                scope.kind == "function"
                and isinstance(scope.node, FunctionNode)
                and outer.kind == "class"
                and isinstance(outer.node, ast.ClassDef)
            ):
                method = scope.node.name
                self.statement.methods.add(method)
            scope = outer
        return self.statement.parts[method]

    def _attribute(self, node: ast.Attribute) -> None:
        base, path = chain_of(node)
        use = self.uses.get(id(base))
        if not isinstance(base, ast.Name):
            first = next((inner for inner in ast.walk(base) if id(inner) in self.uses), None)
            use = self.uses[id(first)] if first is not None else None
        part = self._part(use.scope if use is not None else None)
        part.attributes.add(node.attr)
        if isinstance(base, ast.Call):
            part.results.append((node, base, "".join(f".{name}" for name in path), self.calls.get(id(node))))

    def _use(self, part: Part, use: Use) -> None:
        if use.home is None:
            part.names.add(use.name)
        elif use.name not in use.home.imports and not (use.attributes and use.home.bound.get(use.name) == 1):
            return  # a variable of which nothing can be told
        top = use.attributes[-1] if use.attributes else use.node
        path = "".join(f".{attribute.attr}" for attribute in use.attributes)
        part.sights.append(Sight(use, path, id(use.node) in self.passive, self.calls.get(id(top))))


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


def chain_of(node: ast.expr) -> tuple[ast.expr, list[str]]:
    """The expression that a chain of attributes starts from, and their names."""
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    return node, path[::-1]


def import_targets(found: list[tuple[ImportNode, ast.alias]]) -> set[str]:
    """What import statements bind a name to, dotted."""
    result: set[str] = set()
    for node, alias in found:
        if isinstance(node, ast.ImportFrom):
            result.add(f"{node.module or ''}.{alias.name}")
        else:
            result.add(alias.name if alias.asname else alias.name.partition(".")[0])
    return result
