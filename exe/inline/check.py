"""A merged program is looked at once more: it compiles, and every global that it reads is bound.

A program is a sequence of top-level statements in one namespace, so each is looked at by itself and what it binds and
reads is joined: what many programs have in common is looked at once a project.
"""

from __future__ import annotations

import symtable
import warnings
from collections.abc import Iterable, MutableMapping, Set
from dataclasses import dataclass
from typing import Final

from exe.analysis.stdlib import BUILTINS
from exe.inline.result import Refused

_POSTPONED: Final = "from __future__ import annotations\n"
MODULE_NAMES: Final = frozenset(
    {"__name__", "__doc__", "__package__", "__file__", "__spec__", "__loader__", "__builtins__"}
)
"""What every module has without binding it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a piece of a program binds at the top, lets its functions bind (`global`), and reads."""

    bound: frozenset[str]
    assigned: frozenset[str]
    read: frozenset[str]


def check(pieces: Iterable[str], known: MutableMapping[str, Facts], missing: Set[str] = frozenset()) -> None:
    """Raises Refused: invalid-program where a piece does not parse, unbound-name where a global is never bound.

    `missing` are names that only code out of reach reads. `known` holds the facts of pieces seen before, and takes those of new ones.
    """
    bound: set[str] = set()
    read: set[str] = set()
    for piece in pieces:
        facts = known.get(piece)
        if facts is None:
            facts = known[piece] = facts_of(piece)
        bound |= facts.bound
        bound |= facts.assigned
        read |= facts.read
    unbound = sorted(read - bound - BUILTINS - MODULE_NAMES - missing)
    if unbound:
        raise Refused("unbound-name", ", ".join(unbound[:5]))


def facts_of(piece: str) -> Facts:
    """The facts of one piece. Raises Refused (invalid-program, too-deep)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # what annotations name is not a read of the running program: postponed, they are left out of the tables
            top = symtable.symtable(_POSTPONED + piece, "program", "exec")
    except (SyntaxError, ValueError) as error:
        raise Refused("invalid-program", str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise Refused("too-deep", str(error)) from error
    symbols = top.get_symbols()
    bound = {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}
    read = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    assigned: set[str] = set()
    stack = top.get_children()
    while stack:
        table = stack.pop()
        stack.extend(table.get_children())
        for name in _globals(table):
            symbol = table.lookup(name)
            if symbol.is_referenced():
                read.add(name)
            if symbol.is_declared_global() and symbol.is_assigned():
                assigned.add(name)
    return Facts(frozenset(bound), frozenset(assigned), frozenset(read))


def _globals(table: symtable.SymbolTable) -> Iterable[str]:
    """Names that a scope takes from the module. A class asks one by one; a scope called "top" passes for the module."""
    if isinstance(table, symtable.Function):
        return table.get_globals()
    symbols = table.get_symbols()
    return [symbol.get_name() for symbol in symbols if symbol.is_global() and not symbol.is_local()]
