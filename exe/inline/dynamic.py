"""Dynamic code: uses that hide what a program reads, which of them do no harm, and which are ever reached.

What runs while the program loads is always reached. The body of a function or method is reached when the entry, or what
runs at loading, may come to it by name: `exe.analysis.references` tells, with three cautions on top. A decorated
function may have been handed to anyone; a class that derives from a class of the standard library is called back by
it; and where names are asked for that only the run knows (`getattr(x, name)`), every method is reached.

Harmless are: `importlib.import_module("x")` and `__import__("x")` with a name whose first part is literal and no package
of the project (they do here what they did there); `exec` and `eval` with a namespace of their own; looking in `sys.modules` for a literal
name that neither the project nor the standard library has; `sys.modules[c.__module__]`, which is the module that `c`
stands in, here as there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from exe.analysis import stdlib
from exe.analysis.modules import FunctionNode
from exe.analysis.project import Project
from exe.analysis.references import Program, read_program
from exe.analysis.scopes import Scope, Use
from exe.analysis.targets import Builtin, Foreign, Target
from exe.analysis.units import Unit
from exe.inline.result import Refused

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

_BY_NAME: Final = frozenset(
    {"builtins.getattr", "builtins.vars", "builtins.dir", "operator.attrgetter", "operator.methodcaller"}
)
_PLAIN_BASES: Final = ("typing.", "abc.", "enum.", "collections.abc.", "builtins.")
_PLAIN_DECORATORS: Final = frozenset(
    {
        "property",
        "staticmethod",
        "classmethod",
        "abstractmethod",
        "cached_property",
        "lru_cache",
        "cache",
        "contextmanager",
        "wraps",
        "override",
        "final",
        "overload",
        "setter",
        "getter",
        "deleter",
        "total_ordering",
    }
)


@dataclass(frozen=True, slots=True)
class Hazard:
    """A use that refuses the program if it is ever reached.

    `key` names its piece as `references` does; `name` is the global that stays as written there, bound or not.
    """

    reason: str
    detail: str
    key: str
    name: str = ""


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
    return Hazard(reason, detail, key)


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
            return not _brings(project, top) and not stdlib.is_stdlib(top) and top != "__main__"
        case ast.Attribute(attr="__module__"):
            return True
        case _:
            return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# ---- reach ----------------------------------------------------------------------------------------------------------


def refuse_reached(source: str, entry: str, hazards: Iterable[Hazard]) -> None:
    """Raises Refused for the first hazard that the entry, or the loading of the program, may come to."""
    listed = sorted(hazards, key=lambda one: (one.reason, one.detail))
    if not listed:
        return
    program = read_program(source)
    reached = program.reach(entry, *_roots(program))
    asked: tuple[set[str], bool] | None = None
    for one in listed:
        owner, _, method = one.key.rpartition(".")
        named = False
        if one.key in program.pieces and one.key not in reached and owner in reached:
            names, anything = asked = asked or _asked_by_name(program, reached)
            named = anything or method in names
        if one.key in reached or one.key not in program.pieces or named:
            raise Refused(one.reason, one.detail)


def _roots(program: Program) -> Iterator[str]:
    """Pieces that run at loading, and functions that others may hold: decorated, or overriding the library's."""
    yield from (key for key in program.pieces if key not in program.functions)
    for statement, before in program.statements:
        for node, _ in statement.names.definitions:
            if isinstance(node, ast.ClassDef):
                called_back = _called_back(node, program, before)
                for child in node.body:
                    if isinstance(child, FunctionNode) and (called_back or not _plain_decorators(child)):
                        yield f"{node.name}.{child.name}"
            elif not _plain_decorators(node):
                yield node.name


def _plain_decorators(node: FunctionNode) -> bool:
    names = [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in node.decorator_list]
    return all(
        (isinstance(name, ast.Attribute) and name.attr in _PLAIN_DECORATORS)
        or (isinstance(name, ast.Name) and name.id in _PLAIN_DECORATORS)
        for name in names
    )


def _called_back(node: ast.ClassDef, program: Program, before: int) -> bool:
    """Whether a base of the standard library may call what the class overrides; `before` its text stand so many lines."""
    own = program.pieces.get(node.name)
    lines = {base.lineno + before for base in node.bases}
    targets = [one.target for one in own.references if one.line in lines] if own is not None else []
    return any(not target.startswith(_PLAIN_BASES) for target in targets)


def _asked_by_name(program: Program, reached: Iterable[str]) -> tuple[set[str], bool]:
    """Literal names that code in reach asks for, and whether it asks for names that only the run knows."""
    names: set[str] = set()
    anything = False
    for key in reached:
        for reference in program.pieces[key].references:
            if reference.target in _BY_NAME:
                match reference.call:
                    case ast.Call(args=[_, ast.Constant(value=str() as name), *_]):
                        names.add(name)
                    case ast.Call(args=[ast.Constant(value=str() as name)]):
                        names.add(name.rpartition(".")[2])
                    case _:
                        anything = True
    return names, anything
