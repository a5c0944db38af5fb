"""A module used as a value (`getattr(mod, name)`, `self.utils = mod`) becomes an object with the module's names,
but for those that nothing in the program mentions, as with methods (`exe.inline.members`).

It is made right behind the last statement of the module, when its names have the values that others see. It is a
`types.ModuleType`, since what that says of a name that it does not have shows in messages. A package has its loaded
submodules as attributes as well: those whose name the program asks for as an attribute of anything. Not every module can
be one: functions that rebind the module's globals would change the object too, and what is bound only under a condition
may not be there.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from exe.analysis.imports import star_source
from exe.analysis.project import Project
from exe.analysis.units import Unit, unbound_again
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
        if unbound_again(name, units) or (not isinstance(units[-1].node, _SURE) and _only_loops(units)):
            continue
        if not _sure(project, units[-1], name):
            raise Refused("module-escapes", f"{module}.{name} may not be bound")
        names.append(name)
    return names


def _sure(project: Project, unit: Unit, name: str) -> bool:
    """Whether a statement binds a name for certain; a star import does where the other module has it for certain."""
    imported = unit.binds[name]
    if imported is None or imported.attribute is None or star_source(unit.module, unit.node) is None:
        return isinstance(unit.node, _SURE)
    table = project.table(imported.module) if project.find(imported.module) is not None else None
    units = table.binders.get(imported.attribute) if table is not None else None
    return not units or units[-1] is unit or _sure(project, units[-1], imported.attribute)


def _only_loops(units: list[Unit]) -> bool:
    """Whether a name is but the variable of a loop: nobody asks a module for that."""
    return all(isinstance(unit.node, ast.For | ast.While) for unit in units)


def made_early(order: Sequence[str], members: Mapping[str, Collection[str]]) -> list[str]:
    """The modules that another one, or they themselves, have as an attribute before their own end.

    `order` is that of their ends, `members` the modules among the attributes of each.
    """
    place = {module: index for index, module in enumerate(order)}
    return sorted({other for module in order for other in members[module] if place[other] >= place[module]})


def made(name: str, module: str, maker: str) -> str:
    """The statement that makes the object for a module."""
    return f"{name} = {maker}({module!r})"


def filled(name: str, members: Mapping[str, str]) -> str:
    """The statement that gives it its attributes. `members` maps them to the program's names for them."""
    parts = [f"{attribute}={text}" for attribute, text in members.items()]
    line = f"{name}.__dict__.update({', '.join(parts)})"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{name}.__dict__.update(", *(f"    {part}," for part in parts), ")"])
