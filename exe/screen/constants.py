"""Constants that are made of something impure, where making them does nothing else: who uses them is impure.

`randbits = random.getrandbits` and `STDOFFSET = timedelta(seconds=-time.timezone)` make no call impure that leaves the constant alone.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from exe.analysis.modules import FunctionNode
from exe.analysis.references import Piece, Program
from exe.analysis.statements import Statement

from .finding import Finding

_MAY_BE_CALLED: Final = frozenset({"environment", "time", "randomness", "identity"})
"""Rules whose functions only look: to call them while loading changes nothing. Of others, names may be handed on."""


def passed_on(program: Program, reached: Collection[str], found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, those in the making of constants replaced by findings in what uses these."""
    made = {key: names for key in reached if (names := _makes(program, key))}
    tainted: dict[str, Finding] = {}
    for one in found:
        names = () if one.called and one.rule not in _MAY_BE_CALLED else made.get(one.piece, ())
        tainted.update((name, one) for name in names if name not in tainted)
        if not names:
            yield one
    if not tainted:
        return
    waiting = list(tainted)
    users: dict[str, list[str]] = {}
    for key in sorted(reached):
        for name in program.pieces[key].names:
            users.setdefault(name, []).append(key)
    while waiting:
        name = waiting.pop()
        for key in users.get(name, ()):
            for further in made.get(key, ()):
                if further not in tainted:
                    tainted[further] = tainted[name]
                    waiting.append(further)
    for name, one in sorted(tainted.items()):
        for key in users.get(name, ()):
            if key not in made:
                piece = program.pieces[key]
                deferred = key in program.functions and name not in _headers(piece)
                yield replace(
                    one, detail=f"{one.detail}, as {name},", piece=key, line=_line(piece), deferred=deferred, name=name
                )


def _makes(program: Program, key: str) -> Collection[str]:
    """The names that a piece binds, where that is all that it does; none for others."""
    if key in program.functions:
        return ()
    names: set[str] = set()
    for statement, _, _ in program.pieces[key].parts:
        if not _only_makes(program, statement):
            return ()
        names.update(statement.own)
    return names


def _only_makes(program: Program, statement: Statement) -> bool:
    """Whether a statement assigns names, and calls nothing of the program that could change another global."""
    match statement.node:
        case ast.Assign(targets=targets, value=value) if all(isinstance(target, ast.Name) for target in targets):
            pass
        case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
            pass
        case _:
            return False
    for node in ast.walk(value):
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(node, ast.Call):
            use = statement.uses.get(id(node.func))
            called = use.name if use is not None and use.home is None else ""
            if called in program.binders and not _changes_nothing(program, called):
                return False
    return True


def _changes_nothing(program: Program, name: str) -> bool:
    """Whether a call of a global comes to nothing but functions of the program, which could keep nothing anywhere."""
    reached = program.reach(*program.binders[name])
    return all(key in program.functions and not program.pieces[key].rebinds for key in reached)


def _headers(piece: Piece) -> set[str]:
    """The names in the decorators and defaults of a function: these run while the program loads."""
    found: set[str] = set()
    for statement, _, _ in piece.parts:
        for node in [statement.node, *(getattr(statement.node, "body", ()))]:
            if isinstance(node, FunctionNode):
                given = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
                found.update(one.id for part in given for one in ast.walk(part) if isinstance(one, ast.Name))
    return found


def _line(piece: Piece) -> int:
    return min((statement.line + before for statement, before, _ in piece.parts), default=0)
