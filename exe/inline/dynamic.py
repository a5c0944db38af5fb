"""Dynamic code: uses that hide what a program reads, and which of them do no harm.

What runs while the program loads refuses it. What lies in a body that only a call runs is a Hazard: the program is made, and a call
that comes to it is found out when it runs (`exe.screen.traps`).

Harmless are: `importlib.import_module("x")` and `__import__("x")` with a name whose first part is literal and no package
of the project (they do here what they did there); `exec` and `eval` with a namespace of their own; looking in `sys.modules` for a literal
name that neither the project nor the standard library has; `sys.modules[c.__module__]`, which is the module that `c`
stands in, here as there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from exe.analysis import stdlib
from exe.analysis.modules import FunctionNode
from exe.analysis.project import Project
from exe.analysis.scopes import Scope, Use
from exe.analysis.targets import Builtin, Foreign, Target
from exe.analysis.units import Unit
from exe.inline.result import Hazard, Refused

DYNAMIC_BUILTINS: Final = {
    "globals": "dynamic-namespace",
    "exec": "dynamic-namespace",
    "eval": "dynamic-namespace",
    "__import__": "dynamic-import",
}
NAMESPACES: Final = ("vars", "locals", "dir")
"""Built-ins that show the module's namespace where they are called at the top of it."""

IMPORTERS: Final = frozenset({"importlib.import_module", "importlib.__import__", "builtins.__import__"})
DYNAMIC_FOREIGN: Final = frozenset({*IMPORTERS, "importlib.reload", "sys.modules"})


_ENTERING: Final = re.compile(r"""\bmodules(?:\[|\.setdefault\(|\.__setitem__\()\s*["']([\w.]+)["']""")


def hazard(project: Project, unit: Unit, use: Use, target: Target, used: int) -> Hazard | None:
    """The hazard in a use, None where there is none or it lies in a body that loading does not run.

    Raises Refused where it runs with the unit.
    """
    text = _dynamic_name(use, target, used)
    if text is None or _harmless(project, unit, use, text):
        return None
    reason = "dynamic-import" if text in DYNAMIC_FOREIGN else "dynamic-namespace"
    detail = f"{text.removeprefix('builtins.')} at {unit.module.name}:{use.node.lineno}"
    key = piece_key(use.scope)
    if key is None:
        raise Refused(reason, detail)
    return Hazard(reason, detail, unit.module.name, key, at=use.name)


def _dynamic_name(use: Use, target: Target, used: int) -> str | None:
    """The name of the dynamic thing that is used: "builtins.exec", "sys.modules"."""
    match target:
        case Builtin(name=name) if name in DYNAMIC_BUILTINS:
            return f"builtins.{name}"
        case Builtin(name=name) if name in NAMESPACES and not use.deferred and use.called:
            return f"builtins.{name}"
        case Foreign(known=True):
            text = ".".join([target.dotted, *(attribute.attr for attribute in use.attributes[used:])])
            return next((name for name in DYNAMIC_FOREIGN if text == name or text.startswith(f"{name}.")), None)
        case _:
            return None


def piece_key(scope: Scope) -> str | None:
    """The function or method that a scope lies in, None where it runs with its statement."""
    chain: list[Scope] = []
    current: Scope | None = scope
    while current is not None and current.kind != "module":
        if current.kind in ("function", "class"):
            chain.append(current)
        current = current.parent
    chain.reverse()
    outer = chain[0].node if chain else None
    if isinstance(outer, FunctionNode):
        return outer.name
    inner = chain[1].node if len(chain) > 1 else None
    if isinstance(outer, ast.ClassDef) and isinstance(inner, FunctionNode):
        return f"{outer.name}.{inner.name}"
    return None


# ---- harmless uses --------------------------------------------------------------------------------------------------


def _harmless(project: Project, unit: Unit, use: Use, text: str) -> bool:
    around = _around(unit.node, use)
    match text, around:
        case "builtins.exec" | "builtins.eval", [ast.Call(args=[_, namespace, *_]), *_]:
            return not isinstance(namespace, ast.Starred) and not _is_none(namespace)
        case _, [ast.Call(args=[name], keywords=[]), *_] if text in IMPORTERS:
            package = _imported_package(name)
            return bool(package) and not _brings(project, package)
        case "sys.modules", [*_]:
            return any(_fixed_key(project, key) for key in _keys(around))
        case _:
            return False


def _imported_package(name: ast.expr) -> str:
    """The top-level package that an import by name leads to, where the name or its beginning is literal; else ""."""
    match name:
        case ast.Constant(value=str() as text):
            return text.partition(".")[0]
        case (
            ast.JoinedStr(values=[ast.Constant(value=str() as text), *_])
            | ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Add())
        ):
            package, dot, _ = text.partition(".")
            return package if dot else ""
        case _:
            return ""


def _brings(project: Project, top: str) -> bool:
    """Whether the package or its environment has a top-level module, read or not."""
    return project.find(top) is not None or project.opaque(top) is not None


def _around(root: ast.AST, use: Use) -> list[ast.AST]:
    """The expressions around a use, from within: those that take it as function, container or operand."""
    inner: ast.AST = use.attributes[-1] if use.attributes else use.node
    result: list[ast.AST] = []
    parents = {id(child): parent for parent in ast.walk(root) for child in ast.iter_child_nodes(parent)}
    while len(result) < 2 and id(inner) in parents:
        inner = parents[id(inner)]
        result.append(inner)
    return result


def _keys(around: list[ast.AST]) -> Iterator[ast.expr]:
    """The key with which a table is looked into: `key in table`, `table[key]`, `table.get(key)`."""
    match around:
        case [ast.Compare(left=key, ops=[ast.In() | ast.NotIn()]), *_]:
            yield key
        case [ast.Subscript(slice=key, ctx=ast.Load()), *_]:
            yield key
        case [ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]), *_]:
            yield key


def _fixed_key(project: Project, key: ast.expr) -> bool:
    match key:
        case ast.Constant(value=str() as name):
            top = name.partition(".")[0]
            found = _brings(project, top) or stdlib.is_stdlib(top) or top == "__main__"
            return not found and name not in _entered(project)
        case ast.Attribute(attr="__module__"):
            return True
        case _:
            return False


def _entered(project: Project) -> frozenset[str]:
    """The literal names under which modules of the project enter something into `sys.modules`; found once a project."""
    known: frozenset[str] | None = project.cache.get("entered")
    if known is None:
        names: set[str] = set()
        for module in project.modules.values():
            if "sys.modules" in module.source:
                names.update(_ENTERING.findall(module.source))
        known = project.cache["entered"] = frozenset(names)
    return known


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
