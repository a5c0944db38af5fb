"""Which branches of a program a call takes: probes in its syntax tree, told apart by number. Only fit to guide and to measure.

| kind | outcomes, in order |
|---|---|
| if, while, ifexp, filter | the test of an `if` or `elif`, of a `while`, of `a if test else b`, of an `if` in a comprehension: true, false |
| for | the body is begun, the loop runs out (it is not left by `break`, `return` or an exception) |
| except, case | the handler, the case is entered |
| raise | the statement is come to |

Standard library only: it runs inside the sandbox as well, where `instrument` makes the code and `Seen` notes what happens.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any, NamedTuple

TEST, MARK = "_branch_test_", "_branch_mark_"
"""The names under which an instrumented program finds the two methods of `Seen`."""


class Site(NamedTuple):
    """A place that branches: its line, its kind, and the numbers of its outcomes."""

    line: int
    kind: str
    outcomes: range


class Seen:
    """The numbers of the outcomes that happened."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()

    def test(self, first: int, value: Any) -> bool:
        """Note on which side a test comes out; its truth is asked once, as without a probe."""
        if value:
            self.numbers.add(first)
            return True
        self.numbers.add(first + 1)
        return False

    def mark(self, number: int) -> None:
        """Note that a place is come to."""
        self.numbers.add(number)

    def names(self) -> dict[str, Any]:
        """What an instrumented program needs in its namespace."""
        return {TEST: self.test, MARK: self.mark}


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


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(func=ast.Name(name, ast.Load()), args=list(arguments), keywords=[])


def _mark(number: int) -> ast.stmt:
    return ast.Expr(_call(MARK, ast.Constant(number)))
