"""A merged program is looked at once more: it compiles, and every global that it reads is bound."""

from __future__ import annotations

import symtable
import warnings
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
    read: set[str] = set()
    stack = [top]
    while stack:
        table = stack.pop()
        for symbol in table.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
            # symtable takes any scope called "top" for the module, so `is_global` alone does not tell
            if symbol.is_referenced() and (table is top or (symbol.is_global() and not symbol.is_local())):
                read.add(symbol.get_name())
        stack.extend(table.get_children())
    free = sorted(read - bound - BUILTINS - _MODULE)
    if free:
        raise Refused("unbound-name", ", ".join(free[:5]))
