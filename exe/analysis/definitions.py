"""The statement that defines a dotted name of a module: a class, a function, or what else binds it."""

from __future__ import annotations

import ast

from exe.analysis.targets import Defined, Unresolved
from exe.analysis.units import UnitTable


def defined(table: UnitTable, name: str, rest: list[str]) -> Defined | Unresolved:
    """The definition of a module's global, or of what class bodies nested in it bind to `rest`."""
    module = table.module.name
    qualname = ".".join([name, *rest])
    units = table.binders.get(name)
    if not units:
        return Unresolved(f"{module}:{qualname}", "bound by a function only")
    node = _binding(units[-1].node, name)
    for part in rest:
        if not isinstance(node, ast.ClassDef):
            return Unresolved(f"{module}:{qualname}", "an attribute of something that is no class")
        inner = [child for child in node.body if part in _bound_names(child)]
        if not inner:
            return Unresolved(f"{module}:{qualname}", "not defined in the class body")
        node = inner[-1]
    return Defined(module, qualname, node)


def _bound_names(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            return set()


def _binding(node: ast.stmt, name: str) -> ast.stmt:
    """The statement inside a block that binds a name last, the block itself where there is none."""
    best = node
    stack: list[ast.AST] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, ast.stmt) and name in _bound_names(current):
            if best is node or current.lineno > best.lineno:
                best = current
        elif not isinstance(current, ast.expr | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(current))
    return best
