"""A merged program is looked at once more: it compiles, and every global that it reads is bound."""

from __future__ import annotations

import symtable
import warnings
from collections.abc import Iterable
from typing import Final

from exe.analysis.stdlib import BUILTINS
from exe.inline.result import Refused

_POSTPONED: Final = "from __future__ import annotations\n"
_MODULE: Final = frozenset({"__name__", "__doc__", "__package__", "__file__", "__spec__", "__loader__", "__builtins__"})


def check(source: str) -> None:
    """Raises Refused: invalid-program where the text does not parse, unbound-name where a global is never bound."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # what annotations name is not a read of the running program: postponed, they are left out of the tables
            top = symtable.symtable(_POSTPONED + source, "program", "exec")
    except (SyntaxError, ValueError) as error:
        raise Refused("invalid-program", str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise Refused("too-deep", str(error)) from error
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    known = bound | BUILTINS | _MODULE
    free = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()} - known
    assigned: set[str] = set()  # by functions that declare them global
    stack = top.get_children()
    while stack:
        table = stack.pop()
        stack.extend(table.get_children())
        for name in _globals(table):
            if name not in known:
                symbol = table.lookup(name)
                if symbol.is_referenced():
                    free.add(name)
                if symbol.is_declared_global() and symbol.is_assigned():
                    assigned.add(name)
    unbound = sorted(free - assigned)
    if unbound:
        raise Refused("unbound-name", ", ".join(unbound[:5]))


def _globals(table: symtable.SymbolTable) -> Iterable[str]:
    """Names that a scope takes from the module. A class asks one by one; a scope called "top" passes for the module."""
    if isinstance(table, symtable.Function):
        return table.get_globals()
    symbols = table.get_symbols()
    return [symbol.get_name() for symbol in symbols if symbol.is_global() and not symbol.is_local()]
