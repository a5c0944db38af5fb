"""Traps: a copy of a program that reports when a call comes to a place which nobody may rely on.

What names tell of a body that merely is in reach proves nothing: most of it is never run. So the program is judged by a copy that is
armed: before each statement with such a use stands a call that raises the audit event `trap.<reason>`, at which the sandbox ends the
process and calls the outcome impure. The copy is what inputs are made with, and what every chosen input is run in once more by itself;
the program that is published and certified is the one without traps.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from exe.analysis.modules import FunctionNode

from .programs import findings

EVENT: Final = "trap."
_BODIES: Final = ("body", "orelse", "finalbody")


class Untrappable(Exception):
    """A place that no trap can be put before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A use in the body of a function that a call must not come to.

    `first` and `last` are the lines of the block that it is in. `piece` is the function as it was called where it was written
    ("f", "C.m"), `name` an identifier that marks the place in it, "" where none does: then the whole body is the place.
    """

    reason: str
    first: int
    last: int
    piece: str
    name: str = ""


def armed(source: str, entry: str, suspects: Sequence[Suspect] = (), made: Sequence[str] = ()) -> str:
    """The program with a trap before each suspect use, and before each finding of `findings` in another body than the entry's.

    `made` are the classes that calls make objects of.

    Equal to `source` where there is none. Raises Untrappable, and SourceFault where the source does not parse.
    """
    found = [one for one in findings(source, entry, made) if one.deferred and one.piece != entry]
    if not found and not suspects:
        return source
    places = _Places(source)
    traps: dict[tuple[int, int], set[str]] = {}
    for one in found:
        if one.line and not one.name:
            where = [places.before(one.line)]
        else:
            last = len(places.lines)
            where = places.of(Suspect(reason=one.rule, first=1, last=last, piece=one.piece, name=one.name))
        for place in where:
            traps.setdefault(place, set()).add(one.rule)
    for suspect in suspects:
        for place in places.of(suspect):
            traps.setdefault(place, set()).add(suspect.reason)
    return places.written(traps)


class _Places:
    """Where statements of a program begin: (line from 1, column in bytes)."""

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self.lines = source.encode().splitlines(keepends=True)

    def of(self, suspect: Suspect) -> list[tuple[int, int]]:
        """Before each use of the marking name in the piece, else where the piece's body begins."""
        functions = self._functions(suspect.piece, suspect.first, suspect.last)
        lines = {
            node.lineno
            for function in functions
            for statement in function.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and node.id == suspect.name
        }
        if lines:
            return [self.before(line) for line in sorted(lines)]
        return self.openings(suspect.piece, suspect.first, suspect.last)

    def openings(self, piece: str, first: int, last: int) -> list[tuple[int, int]]:
        """Where the bodies of a piece begin, behind their docstrings. Raises Untrappable."""
        found = []
        for function in self._functions(piece, first, last):
            told = 0 if ast.get_docstring(function, clean=False) is None else 1
            if len(function.body) > told:
                found.append(_start(function.body[told]))
        if not found:
            raise Untrappable(f"the body of {piece}")
        return found

    def before(self, line: int) -> tuple[int, int]:
        """Where the statement of a function's body begins that a line is part of. Raises Untrappable."""
        path: list[ast.stmt] = []
        bodies: Iterable[list[ast.stmt]] = [self.tree.body]
        while (inner := self._covering(bodies, line, nested=bool(path))) is not None:
            path.append(inner)
            bodies = _bodies(inner)
        depth = next((at for at, one in enumerate(path) if isinstance(one, FunctionNode)), len(path))
        body = path[depth + 1 :]
        if not body and depth < len(path):
            body = [one for one in getattr(path[depth], "body", ())[:1] if one.lineno <= line]  # all on one line
        while len(body) > 1 and self._is_elif(body[-1]):
            body.pop()
        if not body:
            raise Untrappable(f"line {line}")
        return _start(body[-1])

    def _covering(self, bodies: Iterable[list[ast.stmt]], line: int, *, nested: bool) -> ast.stmt | None:
        """The statement that a line is part of; none of a nested body where the line is its header's as well."""
        found = (one for body in bodies for one in body if _start(one)[0] <= line <= (one.end_lineno or 0))
        statement = next(found, None)
        return statement if statement is not None and (not nested or self._apart(statement, line)) else None

    def written(self, traps: dict[tuple[int, int], set[str]]) -> str:
        """The text with a call that raises the audit event before each place."""
        compound = {_start(node) for node in ast.walk(self.tree) if isinstance(node, ast.stmt) and any(_bodies(node))}
        lines = list(self.lines)
        for line, column in sorted(traps, reverse=True):
            text = lines[line - 1]
            call = "; ".join(f"__import__('sys').audit({EVENT + reason!r})" for reason in sorted(traps[line, column]))
            between = b"\n" + text[:column] if (line, column) in compound else b"; "
            lines[line - 1] = text[:column] + call.encode() + between + text[column:]
        return b"".join(lines).decode()

    def _functions(self, piece: str, first: int, last: int) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions of a piece in some lines; a function or class that got another name there counts by elimination."""
        owner, _, name = piece.rpartition(".")
        top = [one for one in self.tree.body if _start(one)[0] <= last and (one.end_lineno or 0) >= first]
        level = list(_at_level(top))
        if owner:
            classes = [one for one in level if isinstance(one, ast.ClassDef)]
            named = [one for one in classes if one.name == owner] or classes
            level = list(_at_level([child for one in named for child in one.body]))
        functions = [one for one in level if isinstance(one, FunctionNode)]
        return [one for one in functions if one.name == name] or ([] if owner else functions)

    def _apart(self, statement: ast.stmt, line: int) -> bool:
        """Whether what stands on a line belongs to the statement alone, and not to the header before it as well."""
        start, column = _start(statement)
        return line > start or not self.lines[start - 1][:column].strip()

    def _is_elif(self, statement: ast.stmt) -> bool:
        line, column = _start(statement)
        return isinstance(statement, ast.If) and self.lines[line - 1][column:].startswith(b"elif")


def _start(statement: ast.stmt) -> tuple[int, int]:
    """Where a statement begins, its decorators included (the @ stands before the first of them)."""
    decorators = getattr(statement, "decorator_list", ())
    if decorators:
        return min(one.lineno for one in decorators), statement.col_offset
    return statement.lineno, statement.col_offset


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The lists of statements in a compound statement."""
    for name in _BODIES:
        body = getattr(statement, name, None)
        if body:
            yield body
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _at_level(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements and what is in their branches, but not in functions and classes."""
    for statement in statements:
        yield statement
        if not isinstance(statement, FunctionNode | ast.ClassDef):
            for body in _bodies(statement):
                yield from _at_level(body)
