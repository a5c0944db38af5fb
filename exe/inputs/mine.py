"""What a program's own text says about its inputs: constants, dict keys, patterns, tests on parameters, examples."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from exe.analysis.statements import Statement, read_statements
from exe.inputs.uses import subject, uses

MAX_EACH = 120  # constants of one kind
MAX_TEXT = 80  # characters of a mined string
MAX_EXAMPLES = 30

_RE_FUNCTIONS = frozenset(("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"))
_TEXT_TESTS = frozenset(
    ("startswith", "endswith", "split", "rsplit", "strip", "lstrip", "rstrip", "partition", "rpartition", "find", "index",
     "replace", "count", "removeprefix", "removesuffix", "join")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """A call in a docstring, its arguments as literal values."""

    positional: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Hints:
    """Constants mined from a program, the entry's own first; `by_name` by the variable that they are tested against."""

    strings: tuple[str, ...] = ()
    integers: tuple[int, ...] = ()
    floats: tuple[float, ...] = ()
    keys: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    by_name: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    keys_by_name: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    patterns_by_name: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts_by_name: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kinds_by_name: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    entry: str = ""


def mine(source: str, entry: str) -> Hints:
    """Read the hints in a program's text. Raises SourceFault where it is no Python."""
    statements = [statement for statement, _ in read_statements(source)]
    mined = [_mined(statement) for statement in statements]
    body = [statement.node for statement in statements]
    entry_node = find_entry(body, entry)
    if entry_node is not None:
        mined.insert(0, _Miner(entry_node))
    tables = {name: values for one in mined for name, values in one.tables.items()}
    compiled = {name: pattern for one in mined for name, pattern in one.compiled.items()}
    used = uses(one.calls for one in mined)
    return Hints(
        strings=_distinct(value for one in mined for value in one.strings),
        integers=_distinct(value for one in mined for value in one.integers),
        floats=_distinct(value for one in mined for value in one.floats),
        keys=_distinct(value for one in mined for value in one.keys),
        patterns=_distinct(_resolved([one.patterns for one in mined], compiled))[:20],
        by_name=_joined([one.by_name for one in mined], tables),
        keys_by_name=_joined([one.keys_by_name for one in mined], {}),
        patterns_by_name=_joined([one.patterns_by_name for one in mined], compiled),
        texts_by_name=used.texts,
        kinds_by_name=used.kinds,
        examples=tuple(_examples(mined, body, entry_node, entry)),
        entry=entry.rpartition(".")[2],
    )


@dataclass(frozen=True, slots=True)
class Held:
    """What a global of the program holds; looked up when the statements are put together."""

    name: str


_memory: WeakKeyDictionary[Statement, _Miner] = WeakKeyDictionary()


def _mined(statement: Statement) -> _Miner:
    """What a statement holds; read once for all programs that have it."""
    found = _memory.get(statement)
    if found is None:
        found = _memory[statement] = _Miner(statement.node)
    return found


def _resolved(lists: Iterable[Iterable[Any]], held: Mapping[str, Sequence[Any]]) -> Iterator[Any]:
    for values in lists:
        for value in values:
            if isinstance(value, Held):
                yield from held.get(value.name, ())
            else:
                yield value


def _joined(
    tables: Sequence[Mapping[str, Iterable[Any]]], held: Mapping[str, Sequence[Any]]
) -> dict[str, tuple[Any, ...]]:
    names = dict.fromkeys(name for table in tables for name in table)
    found = {name: _distinct(_resolved([table.get(name, ()) for table in tables], held)) for name in names}
    return {name: values for name, values in found.items() if values}


def find_entry(body: Iterable[ast.stmt], entry: str) -> ast.FunctionDef | None:
    """The definition of `f` or `Class.f` among statements, the last one where there are several."""
    *owners, name = entry.split(".")
    for owner in owners:
        classes = [node for node in _flat(body) if isinstance(node, ast.ClassDef) and node.name == owner]
        if not classes:
            return None
        body = classes[-1].body
    found = [node for node in _flat(body) if isinstance(node, ast.FunctionDef) and node.name == name]
    return found[-1] if found else None


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _flat(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))


def _distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """First occurrences, in order, `1` and `True` and `1.0` apart."""
    return tuple(itertools.islice({(type(value), repr(value)): value for value in values}.values(), MAX_EACH))


def _pattern_of(node: ast.expr) -> str | Held | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="re"), attr="compile"), args=[ast.Constant(value=str() as text), *_]
        ):
            return text
        case ast.Name(id=name):
            return Held(name)
        case _:
            return None


def _constants_in(node: ast.expr) -> list[Any]:
    match node:
        case ast.Dict(keys=keys):
            return [value for key in keys[:MAX_EACH] if key is not None for value in _constant(key)]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [value for item in items[:MAX_EACH] for value in _constant(item)]
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "dict" | "tuple" | "list"), args=[inner]):
            return _constants_in(inner)
        case _:
            return _constant(node)


def _constant(node: ast.expr) -> list[Any]:
    match node:
        case ast.Constant(value=str() | int() | float() as value):
            return [value] if not isinstance(value, str) or len(value) <= MAX_TEXT else []
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return [-value]
        case _:
            return []


class _Miner(ast.NodeVisitor):
    """The hints in one statement. Lists by name may hold `Held`: a table or a pattern that another statement binds."""

    def __init__(self, statement: ast.stmt) -> None:
        self.strings: list[str] = []
        self.integers: list[int] = []
        self.floats: list[float] = []
        self.keys: list[str] = []
        self.patterns: list[str | Held] = []
        self.by_name: dict[str, list[Any]] = {}
        self.keys_by_name: dict[str, list[str]] = {}
        self.patterns_by_name: dict[str, list[str | Held]] = {}
        self.compiled: dict[str, list[str]] = {}  # names bound anywhere to `re.compile("…")`
        self.calls: dict[str, list[ast.Call]] = {}  # by the name that is called
        self.tables: dict[
            str, list[Any]
        ] = {}  # a global bound to a display or a set call of constants → those (a dict's keys)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.tables[name] = _constants_in(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.tables[name] = _constants_in(value)
        self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        pattern = (
            _pattern_of(node.value) if isinstance(node.value, ast.Call | ast.Constant) else None
        )  # if matched by name
        if isinstance(pattern, str):
            self.compiled.update((target.id, [pattern]) for target in node.targets if isinstance(target, ast.Name))
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring is no input
            self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        """Annotations hold no inputs."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, str) and 0 < len(value) <= MAX_TEXT:
            self.strings.append(value)
        elif isinstance(value, bytes) and 0 < len(value) <= MAX_TEXT and value.isascii():
            self.strings.append(value.decode("ascii"))
        elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 64:
            self.integers.append(value)
        elif isinstance(value, float):
            self.floats.append(value)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for (left, right), operator in zip(itertools.pairwise(sides), node.ops, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                self._membership(left, right)
            else:
                self._test(left, right)
                self._test(right, left)
        self.generic_visit(node)

    def _membership(self, item: ast.expr, container: ast.expr) -> None:
        name = subject(item)
        if name is not None:
            self._about(name, self._options(container))
        owner = subject(container)
        if owner is not None and isinstance(item, ast.Constant) and isinstance(item.value, str):
            self._key(owner, item.value)
            self._about(owner, _constant(item))

    def _test(self, one: ast.expr, other: ast.expr) -> None:
        name = subject(one)
        if name is not None:
            self._about(name, _constant(other))

    def _options(self, container: ast.expr) -> list[Any]:
        if isinstance(container, ast.Name):
            return [Held(container.id)]
        return _constants_in(container)

    def _about(self, name: str, values: list[Any]) -> None:
        self.by_name.setdefault(name, []).extend(values)

    def _key(self, owner: str, key: str) -> None:
        self.keys.append(key)
        self.keys_by_name.setdefault(owner, []).append(key)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        owner = subject(node.value)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            self._key(owner or "", node.slice.value)
        index = subject(node.slice)
        if index is not None and isinstance(node.value, ast.Name):
            self._about(index, [Held(node.value.id)])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="get" | "pop" | "setdefault"), args=[first, *_]):
                self._looked_up(owner, first)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=[first, *more]) if (
                attr in _RE_FUNCTIONS
            ):
                self._matched(_pattern_of(first), more[1 if "sub" in attr else 0 :])
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[first, *more]):
                if attr in _RE_FUNCTIONS and isinstance(owner, ast.Name):
                    self._matched(Held(owner.id), [first, *more][1 if "sub" in attr else 0 :])
                name = subject(owner)
                if attr in _TEXT_TESTS and name is not None:
                    self._about(name, [v for v in _constants_in(first) if isinstance(v, str)])
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if called is not None:
            self.calls.setdefault(called, []).append(node)
        self.generic_visit(node)

    def _matched(self, pattern: str | Held | None, subjects: list[ast.expr]) -> None:
        if pattern is None:
            return
        self.patterns.append(pattern)
        name = subject(subjects[0]) if subjects else None
        if name is not None:
            self.patterns_by_name.setdefault(name, []).append(pattern)

    def _looked_up(self, owner: ast.expr, first: ast.expr) -> None:
        name = subject(owner)
        if name is not None and isinstance(first, ast.Constant) and isinstance(first.value, str):
            self._key(name, first.value)
        sought = subject(first)
        if sought is not None and isinstance(owner, ast.Name):
            self._about(sought, [Held(owner.id)])

    def visit_Match(self, node: ast.Match) -> None:
        name = subject(node.subject)
        for case in node.cases:
            for inner in ast.walk(case.pattern):
                if isinstance(inner, ast.MatchValue) and name is not None:
                    self._about(name, _constant(inner.value))
        self.generic_visit(node)


def _examples(
    mined: Sequence[_Miner], body: Sequence[ast.stmt], entry_node: ast.FunctionDef | None, entry: str
) -> Iterator[Example]:
    """Calls of the entry in docstrings, its own first, and wherever the program itself calls it with literals."""
    name = entry.rpartition(".")[2]
    texts = [ast.get_docstring(entry_node) or ""] if entry_node is not None else []
    match body[:1]:
        case [ast.Expr(value=ast.Constant(value=str() as text))]:
            texts.append(text)
    calls: list[ast.Call] = []
    for text in texts:
        for line in re.findall(r"^\s*>>> ?(.*)$", text, re.MULTILINE)[: MAX_EXAMPLES * 2]:
            try:
                parsed = ast.parse(line[:2_000])
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                continue
            calls += [node for statement in parsed.body for node in _Miner(statement).calls.get(name, ())]
    calls += [node for one in mined for node in one.calls.get(name, ())]
    found = [example for example in map(_example, dict.fromkeys(calls)) if example is not None]
    yield from found[:MAX_EXAMPLES]


def _example(call: ast.Call) -> Example | None:
    try:
        return Example(
            tuple(ast.literal_eval(argument) for argument in call.args),
            tuple(
                (keyword.arg, ast.literal_eval(keyword.value)) for keyword in call.keywords if keyword.arg is not None
            ),
        )
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
