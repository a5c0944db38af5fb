"""What an import statement binds, with relative names made absolute."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from exe.analysis.modules import Module


@dataclass(frozen=True, slots=True)
class Imported:
    """What a name was imported from: a module (attribute None) or a member of one. `module` is absolute."""

    module: str
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedName:
    """One name bound by an import statement. `loads` are the modules that the statement itself imports for it."""

    bound: str
    target: Imported
    loads: str
    alias: ast.alias


def absolute(module: Module, node: ast.ImportFrom) -> str | None:
    """The absolute module name of a from-import, None where a relative one leaves the top package."""
    if not node.level:
        return node.module or ""
    parts = module.parent.split(".") if module.parent else []
    if node.level - 1 >= len(parts):
        return None
    base = parts[: len(parts) - (node.level - 1)]
    return ".".join([*base, node.module] if node.module else base)


def imported_names(module: Module, node: ast.Import | ast.ImportFrom) -> list[ImportedName]:
    """The names that an import statement binds, in order; stars are left out (see `star_source`)."""
    result: list[ImportedName] = []
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            bound, name = (alias.asname, alias.name) if alias.asname else (top, top)
            result.append(ImportedName(bound, Imported(name), alias.name, alias))
        return result
    source = absolute(module, node)
    for alias in node.names:
        if alias.name != "*":
            target = Imported(source if source is not None else "." * node.level + (node.module or ""), alias.name)
            result.append(ImportedName(alias.asname or alias.name, target, target.module, alias))
    return result


def star_source(module: Module, node: ast.stmt) -> str | None:
    """The absolute module whose names a star import takes over, None for other statements."""
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        return absolute(module, node)
    return None
