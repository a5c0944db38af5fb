"""Modules that put another object in their place: `sys.modules[__name__] = lazy`.

Who imports such a module afterwards is given the other object. It has the module's names where it was given them before
(`lazy.__dict__.update(…)`) and its class has nothing of that name; whatever else it has cannot be told.
"""

from __future__ import annotations

import ast
from collections.abc import Set

from exe.analysis.units import UnitTable


def hidden(table: UnitTable) -> Set[str]:
    """The names of a module that others may not get from what stands in its place; none where nothing does."""
    placed = [unit for unit in table.units if isinstance(unit.node, ast.Assign) and _places(unit.node)]
    if not placed:
        return frozenset()
    node = placed[-1].node
    assert isinstance(node, ast.Assign)
    given = [
        unit.index for unit in table.units if isinstance(node.value, ast.Name) and _gives(unit.node, node.value.id)
    ]
    own = _class_names(table, node.value.id) if given and isinstance(node.value, ast.Name) else None
    if own is None:
        return {*table.binders, *table.declared}
    late = {
        target.attr for unit in table.units if isinstance(unit.node, ast.Delete) for target in _attributes(unit.node)
    }
    late |= {name for name, units in table.binders.items() if units[-1].index >= given[0]}
    return {*late, *own, *table.declared}


def _attributes(node: ast.Delete) -> list[ast.Attribute]:
    return [target for target in node.targets if isinstance(target, ast.Attribute)]


def _places(node: ast.Assign) -> bool:
    match node.targets:
        case [
            *_,
            ast.Subscript(value=ast.Attribute(value=ast.Name(id="sys"), attr="modules"), slice=ast.Name(id="__name__")),
        ]:
            return True
        case _:
            return False


def _gives(node: ast.stmt, name: str) -> bool:
    """Whether a statement gives an object all names of the module: `name.__dict__.update(….__dict__)`, `(globals())`."""
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=owner), attr="__dict__"), attr="update"),
                args=[ast.Attribute(attr="__dict__") | ast.Call(func=ast.Name(id="globals" | "vars"), args=[])],
                keywords=[],
            )
        ):
            return owner == name
        case _:
            return False


def _class_names(table: UnitTable, name: str) -> Set[str] | None:
    """What the class of an object has by itself, None where that cannot be told."""
    units = table.binders.get(name, [])
    made = units[0].node if units else None
    match made:
        case ast.Assign(value=ast.Call(func=ast.Attribute(attr="ModuleType"))):
            return frozenset()
        case ast.Assign(value=ast.Call(func=ast.Name(id="ModuleType"))):
            return frozenset()
        case ast.Assign(value=ast.Call(func=ast.Name(id=owner))):
            kind = table.binders[owner][-1] if owner in table.binders else None
        case _:
            return None
    if kind is None or not isinstance(kind.node, ast.ClassDef) or len(kind.node.bases) != 1:
        return None
    base = kind.node.bases[0]
    if (base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")) != "ModuleType":
        return None
    own: set[str] = set()
    for child in kind.node.body:
        match child:
            case ast.FunctionDef(name=bound) | ast.Assign(targets=[ast.Name(id=bound)]):
                own.add(bound)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                return None
    return None if "__getattribute__" in own else own
