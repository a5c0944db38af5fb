"""A module used as a value (`getattr(mod, name)`, `self.utils = mod`) becomes an object with the module's names.

It is made right behind the last statement of the module, when its names have the values that others see. It is a
`types.ModuleType`, since what that says of a name that it does not have shows in messages. A package has its loaded
submodules as attributes as well: those whose name the program asks for as an attribute of anything. Not every module can
be one: functions that rebind the module's globals would change the object too, and what is bound only under a condition
may not be there.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from exe.analysis.project import Project
from exe.analysis.units import Unit
from exe.inline.result import Refused

_WIDTH: Final = 100  # characters of a line before each name gets one of its own

_SURE: Final = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Import,
    ast.ImportFrom,
)


def member_names(project: Project, module: str) -> list[str]:
    """The names that the object for a module has, in the order of their binding. Raises Refused (module-escapes)."""
    table = project.table(module)
    if table.declared:
        raise Refused("module-escapes", f"functions of {module} rebind {', '.join(sorted(table.declared)[:3])}")
    if table.missing_stars or "__getattr__" in table.binders:
        raise Refused("module-escapes", f"the names of {module} are not known")
    names: list[str] = []
    for name, units in table.binders.items():
        if not isinstance(units[-1].node, _SURE):
            if isinstance(units[-1].node, ast.Delete) or _only_loops(units):
                continue
            raise Refused("module-escapes", f"{module}.{name} may not be bound")
        names.append(name)
    return names


def _only_loops(units: list[Unit]) -> bool:
    """Whether a name is but the variable of a loop: nobody asks a module for that."""
    return all(isinstance(unit.node, ast.For | ast.While | ast.With) for unit in units)


def namespace_text(name: str, module: str, members: Mapping[str, str], maker: str) -> str:
    """The statements that make the object. `members` maps attributes to the program's names for them."""
    parts = [f"{attribute}={text}" for attribute, text in members.items()]
    first = f"{name} = {maker}({module!r})"
    line = f"{name}.__dict__.update({', '.join(parts)})"
    if len(line) <= _WIDTH:
        return f"{first}\n{line}"
    return "\n".join([first, f"{name}.__dict__.update(", *(f"    {part}," for part in parts), ")"])
