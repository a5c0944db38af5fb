"""String annotations are code as well: names in them lead somewhere, for those who read annotations."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from exe.analysis.scopes import Reading, Use, uses_in
from exe.analysis.units import Unit


def quoted_uses(unit: Unit) -> Iterator[Use]:
    """Uses of names in a unit's string annotations, placed where they stand in the source.

    Strings that are values in them (`Literal["r"]`, `Field("r")`) have none, nor those that are no expression, nor those
    whose text is not that of the source: escapes, several lines.
    """
    values = _values(unit.node)
    for constant, scope, reading in unit.names.quoted:
        if id(constant) not in values and reading is not Reading.NEVER:
            expression = _expression(constant)
            if expression is not None:
                yield from uses_in(expression, scope, reading)


def _values(root: ast.stmt) -> set[int]:
    """Ids of the nodes that are values where they stand in an annotation."""
    found: set[int] = set()
    for node in ast.walk(root):
        match node:
            case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal"), slice=inner):
                parts = [inner]
            case ast.Subscript(
                value=ast.Name(id="Annotated") | ast.Attribute(attr="Annotated"), slice=ast.Tuple() as all_
            ):
                parts = all_.elts[1:]
            case ast.Call():
                parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            case _:
                continue
        found.update(id(part) for one in parts for part in ast.walk(one) if isinstance(part, ast.Constant))
    return found


def _expression(constant: ast.Constant) -> ast.expr | None:
    text = constant.value
    if not isinstance(text, str) or constant.lineno != constant.end_lineno:
        return None
    if (constant.end_col_offset or 0) - constant.col_offset != len(text.encode("utf-8", "surrogatepass")) + 2:
        return None
    try:
        expression = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for part in ast.walk(expression):
        if isinstance(part, ast.expr):
            part.lineno = part.end_lineno = constant.lineno
            part.col_offset += constant.col_offset + 1
            part.end_col_offset = (part.end_col_offset or 0) + constant.col_offset + 1
    return expression
