"""State of the standard library: what of it a statement changes, and by what uses it shows.

A library's state counts as one, but for the tables by which `sys` finds modules: a program imports nothing by them but the standard
library, so that they show to those alone that name them, hand `sys` on, or look modules up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from exe.analysis.targets import Foreign

HARMLESS: Final = ("logging", "warnings", "atexit", "typing", "types", "__future__")
"""Standard-library modules whose state is not visible in results, but for what the next names."""

VISIBLE: Final = frozenset({"logging.setLoggerClass", "logging.setLogRecordFactory", "logging.addLevelName"})

RELATED: Final = {"copy": ("copyreg",), "pickle": ("copyreg",)}
"""Standard-library modules whose state shows through another one."""

_FINDERS: Final = tuple(
    Foreign("sys", name, True) for name in ("path", "meta_path", "path_hooks", "path_importer_cache")
)
TABLES: Final = (Foreign("sys", "modules", True), *_FINDERS)
"""The tables of `sys` by which modules are found."""

_LOOKING_UP: Final = {
    "sys": TABLES,  # as an object; of what is in it, what has been told apart
    **dict.fromkeys(("importlib", "imp", "pkgutil", "runpy"), TABLES),
    "importlib.metadata": _FINDERS,
    **dict.fromkeys(("sys.", "importlib.machinery"), ()),
}
"""The tables that show in a use, by the longest beginning of its dotted name.

What looks up the module of an object that it has (pickling, `inspect`) finds the program under that name, whoever else has taken it;
and of `sys.modules` itself nothing is read but what `exe.inline.dynamic` calls harmless.
"""


def changed(target: Foreign, text: str) -> Foreign | None:
    """What is changed by an assignment to, or a call of, something of a library with this dotted name; None where it does not show."""
    if target.module.partition(".")[0] in HARMLESS and text not in VISIBLE:
        return None
    return _table(text) or Foreign(target.module, None, target.known)


def shown(one: Foreign, text: str) -> Iterator[Foreign]:
    """The state that shows in a use of something of a library with this dotted name."""
    for module in (one.module, *RELATED.get(one.module, ())):
        yield Foreign(module, None, True)
    table = _table(text)
    if table is None:
        yield from _looking_up(text)
    elif table.attribute != "modules":
        yield table


def all_shown(things: Iterable[Foreign]) -> Iterator[Foreign]:
    """The state that shows where these things are used as they are."""
    for one in things:
        yield from shown(one, one.dotted)


def _table(text: str) -> Foreign | None:
    return next((one for one in TABLES if text == one.dotted or text.startswith(f"{one.dotted}.")), None)


@cache
def _looking_up(text: str) -> tuple[Foreign, ...]:
    leading = [one for one in _LOOKING_UP if text == one or text.startswith(one if one.endswith(".") else f"{one}.")]
    return _LOOKING_UP[max(leading, key=len)] if leading else ()
