"""The value of a module's `__all__`, as far as it can be read off."""

from __future__ import annotations

import ast
from typing import Protocol

from exe.analysis import static
from exe.analysis.imports import Imported
from exe.analysis.modules import Module
from exe.analysis.targets import ModuleRef, Target
from exe.analysis.units import UnitTable


class Names(Protocol):
    """What is asked of a project here."""

    def find(self, name: str) -> Module | None:
        """The module of that name."""

    def table(self, name: str) -> UnitTable:
        """The units of a module."""

    def hop(self, module: str, name: str) -> Imported | None:
        """What a global is imported from."""

    def dotted(self, module: str, text: str) -> Target:
        """What a dotted name stands for."""


def declared_names(project: Names, module: str) -> tuple[str, ...] | None:
    """The value of `__all__` as far as literals, sums and other modules' `__all__` make it; None without one."""
    names: list[str] | None = None
    for unit in project.table(module).units:
        match unit.node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            ):
                names = _listed(project, module, value)
            case (
                ast.AugAssign(target=ast.Name(id="__all__"), value=value)
                | ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend"), args=[value])
                )
            ):
                more = _listed(project, module, value)
                names = None if names is None or more is None else [*names, *more]
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id="__all__"), attr="append"), args=[value])
            ):
                if names is not None and isinstance(value, ast.Constant):
                    names.append(str(value.value))
            case _:
                pass
    return None if names is None else tuple(dict.fromkeys(names))


def _listed(project: Names, module: str, value: ast.expr) -> list[str] | None:
    match value:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            names: list[str] = []
            for element in elements:
                if isinstance(element, ast.Constant):
                    names.append(str(element.value))
                elif isinstance(element, ast.Starred):
                    inner = _listed(project, module, element.value)
                    if inner is None:
                        return None
                    names += inner
                else:
                    return None
            return names
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            first, second = _listed(project, module, left), _listed(project, module, right)
            return None if first is None or second is None else [*first, *second]
        case ast.Attribute(attr="__all__", value=owner):
            text = static.dotted(owner)
            target = project.dotted(module, text) if text else None
            if isinstance(target, ModuleRef):
                return list(declared_names(project, target.name) or ())
            return None
        case ast.Name(id=name):
            hop = project.hop(module, name)
            if hop is not None and hop.attribute == "__all__" and project.find(hop.module) is not None:
                return list(declared_names(project, hop.module) or ())
            return None
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted"), args=[inner_value]):
            return _listed(project, module, inner_value)
        case _:
            return None
