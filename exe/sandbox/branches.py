"""Which branches of a program a call takes: probes in its syntax tree, told apart by number. Only fit to guide and to measure.

| kind | outcomes, in order |
|---|---|
| if, while, ifexp, filter | the test of an `if` or `elif`, of a `while`, of `a if test else b`, of an `if` in a comprehension: true, false |
| for | the body is begun, the loop runs out (it is not left by `break`, `return` or an exception) |
| except, case | the handler, the case is entered |
| raise | the statement is come to |

Besides, the values that comparisons, memberships, look-ups and searches of texts meet are noted in pairs: what was there, and what
would have fitted. Whoever makes inputs can put the one in place of the other.

Standard library only: it runs inside the sandbox as well, where `instrument` makes the code and `Seen` notes what happens.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, NamedTuple

TEST, MARK, LEFT, RIGHT = "_branch_test_", "_branch_mark_", "_branch_left_", "_branch_right_"
"""The names under which an instrumented program finds the methods of `Seen`."""

PAIRS, MEMBERS, LENGTH = 64, 24, 80
"""How many pairs are kept of a call, how many members of a container, and of what length texts are."""

_SEARCHES = frozenset(
    ("startswith", "endswith", "find", "index", "partition", "rpartition", "removeprefix", "removesuffix", "split")
)
_LOOK_UPS = frozenset(("get", "pop", "setdefault"))
_CONTAINERS = (dict, list, tuple, set, frozenset)

Pair = tuple[str | int | float, str | int | float]


class Site(NamedTuple):
    """A place that branches: its line, its kind, and the numbers of its outcomes."""

    line: int
    kind: str
    outcomes: range


class Seen:
    """The numbers of the outcomes that happened; `spent` is called at the one behind `steps`, 0 for no bound."""

    def __init__(self, steps: int = 0, spent: Callable[[], object] = object) -> None:
        self._most = steps or sys.maxsize
        self._steps = 0
        self._spent = spent
        self.numbers: set[int] = set()
        self.pairs: dict[Pair, None] = {}
        self._left: dict[int, Any] = {}

    def clear(self) -> None:
        """Forget everything, before the next call."""
        self._steps = 0
        self.numbers.clear()
        self.pairs.clear()
        self._left.clear()

    def left(self, place: int, value: Any) -> Any:
        """Note the first value of a pair."""
        self._left[place] = value
        return value

    def right(self, place: int, value: Any) -> Any:
        """Note the second one; a container stands for its members."""
        if len(self.pairs) < PAIRS:
            left: Any = self._left.get(place)
            other_side = _text(value)
            left = _text(left)
            for one, other in ((left, other_side), (other_side, left)):
                if one is not None and _plain(one):
                    for member in _members(other):
                        if type(member) is type(one) and member != one and len(self.pairs) < PAIRS:
                            self.pairs[one, member] = None
        return value

    def test(self, first: int, value: Any) -> bool:
        """Note on which side a test comes out; its truth is asked once, as without a probe."""
        self._step()
        if value:
            self.numbers.add(first)
            return True
        self.numbers.add(first + 1)
        return False

    def mark(self, number: int) -> None:
        """Note that a place is come to."""
        self._step()
        self.numbers.add(number)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > self._most:
            self._spent()

    def names(self) -> dict[str, Any]:
        """What an instrumented program needs in its namespace."""
        return {TEST: self.test, MARK: self.mark, LEFT: self.left, RIGHT: self.right}


def _plain(value: Any) -> bool:
    return type(value) in (int, float) or (type(value) is str and len(value) <= LENGTH)


def _text(value: Any) -> Any:
    """Bytes as the text that they spell, anything else as it is."""
    return value.decode("latin-1") if type(value) is bytes and len(value) <= LENGTH else value


def _members(value: Any) -> list[Any]:
    """A plain value itself, the first plain members of a container; never anything that runs code of the program."""
    if _plain(value):
        return [value]
    if type(value) not in _CONTAINERS:
        return []
    return [member for member in map(_text, itertools.islice(value, MEMBERS)) if _plain(member)]


def sites(source: str) -> list[Site]:
    """The branching places of a program, by the order of their numbers. Raises SyntaxError."""
    probes = Probes()
    probes.visit(ast.parse(source))
    return probes.sites


def instrument(source: str, name: str) -> CodeType:
    """The program with its probes, compiled as the file `name`. Raises SyntaxError."""
    tree = Probes().visit(ast.parse(source))
    code: CodeType = compile(ast.fix_missing_locations(tree), name, "exec", dont_inherit=True)
    return code


class Probes(ast.NodeTransformer):
    """Puts a probe at each site, outer ones first; values and their order stay the same."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self._next = 0
        self._place = 0

    def _noted(self, left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
        self._place += 1
        place = ast.Constant(self._place)
        return _call(LEFT, place, left), _call(RIGHT, place, right)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """A comparison of two things."""
        self.generic_visit(node)
        if len(node.ops) == 1 and not isinstance(node.ops[0], ast.Is | ast.IsNot):
            node.left, node.comparators[0] = self._noted(node.left, node.comparators[0])
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Something looked up by a name that is not written there."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Name) and isinstance(node.value, ast.Name):
            node.value, node.slice = self._noted(node.value, node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A text searched for another one; something looked up by a method."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[first, *_]) if (
                (attr in _SEARCHES or attr in _LOOK_UPS) and not isinstance(first, ast.Starred) and not _is_super(owner)
            ):
                node.func.value, node.args[0] = self._noted(owner, first)  # type: ignore[attr-defined]
        return node

    def _site(self, node: Any, kind: str, outcomes: int) -> int:
        first = self._next
        self._next += outcomes
        line: int = node.lineno if hasattr(node, "lineno") else node.pattern.lineno
        self.sites.append(Site(line, kind, range(first, first + outcomes)))
        return first

    def _tested(self, node: Any, kind: str) -> ast.AST:
        first = self._site(node, kind, 2)
        self.generic_visit(node)
        node.test = _call(TEST, ast.Constant(first), node.test)
        probed: ast.AST = node
        return probed

    def visit_If(self, node: ast.If) -> ast.AST:
        """`if` and `elif`."""
        return self._tested(node, "if")

    def visit_While(self, node: ast.While) -> ast.AST:
        """Each test of it."""
        return self._tested(node, "while")

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """`a if test else b`."""
        return self._tested(node, "ifexp")

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """The `if`s of a comprehension."""
        firsts = [self._site(test, "filter", 2) for test in node.ifs]
        self.generic_visit(node)
        node.ifs = [_call(TEST, ast.Constant(first), test) for first, test in zip(firsts, node.ifs, strict=True)]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """A loop over something."""
        first = self._site(node, "for", 2)
        self.generic_visit(node)
        node.body.insert(0, _mark(first))
        node.orelse.insert(0, _mark(first + 1))
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """A handler that is entered."""
        first = self._site(node, "except", 1)
        self.generic_visit(node)
        node.body.insert(0, _mark(first))
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """A case that is entered."""
        first = self._site(node, "case", 1)
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        body: list[ast.stmt] = []
        for child in node.body:
            seen = self.visit(child)
            body += seen if isinstance(seen, list) else [seen]
        node.body = [_mark(first), *body]
        return node

    def visit_Raise(self, node: ast.Raise) -> Any:
        """A `raise` that is come to."""
        first = self._site(node, "raise", 1)
        self.generic_visit(node)
        return [_mark(first), node]


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(func=ast.Name(name, ast.Load()), args=list(arguments), keywords=[])


def _mark(number: int) -> ast.stmt:
    return ast.Expr(_call(MARK, ast.Constant(number)))
