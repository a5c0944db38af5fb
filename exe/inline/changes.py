"""What a piece of syntax changes: names that assignments and methods start from, aliases, what runs at once."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from exe.analysis.modules import FunctionNode

MUTATORS: Final = frozenset(
    [
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "extendleft",
        "insert",
        "move_to_end",
        "pop",
        "popitem",
        "popleft",
        "register",
        "remove",
        "reverse",
        "rotate",
        "setdefault",
        "sort",
        "subtract",
        "update",
        "__setitem__",
        "__delitem__",
        "__setattr__",
    ]
)
"""Method names by which something is changed even where the result is kept."""

CHANGING_CALLS: Final = frozenset(
    [
        "setattr",
        "delattr",
        "heappush",
        "heappop",
        "heapify",
        "insort",
        "insort_left",
        "insort_right",
        "shuffle",
        "setitem",
    ]
)
"""Functions that change their first argument, by their last name."""


def aliases_in(bodies: list[FunctionNode]) -> dict[str, list[ast.Name]]:
    """Local names that stand for (a part of) something else: by assignment, as loop variable, as `with … as`."""
    found: dict[str, list[ast.Name]] = {}
    for body in bodies:
        for part in ast.walk(body):
            pairs: list[tuple[ast.expr | None, ast.expr | None]] = []
            match part:
                case ast.Assign():
                    pairs = [(target, part.value) for target in part.targets]
                case ast.AnnAssign() | ast.NamedExpr():
                    pairs = [(part.target, part.value)]
                case ast.For():
                    pairs = [(part.target, part.iter)]
                case _:
                    continue
            for target, value in pairs:
                root = chain_root(value)
                if root is not None and target is not None:
                    names = [name.id for name in ast.walk(target) if isinstance(name, ast.Name)]
                    for name in names:
                        found.setdefault(name, []).append(root)
    return found


def chain_root(node: ast.expr | None) -> ast.Name | None:
    """The name that an expression is a part of: `x`, `x.y`, `x[0]`, `x.setdefault(k, [])`, `x.values()` are of x."""
    while node is not None and not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case ast.Call(func=ast.Attribute(attr="get" | "setdefault" | "values" | "items", value=inner)):
                node = inner
            case _:
                return None
    return node


def is_plain(node: ast.Assign | ast.AnnAssign) -> bool:
    """Names bound to something that is written down or named: nothing else happens."""
    literal = isinstance(node.value, ast.Constant | ast.Name | ast.Lambda | None)
    return literal and all(isinstance(target, ast.Name) for target in _targets(node))


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def arguments_of(call: ast.Call) -> Iterator[ast.expr]:
    """All arguments of a call, in order."""
    yield from call.args
    for keyword in call.keywords:
        yield keyword.value


def parameters_of(node: FunctionNode) -> set[str]:
    """Names of a function's parameters, `*args` and `**kwargs` apart."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return {argument.arg for argument in every}


def immediate(node: ast.stmt) -> Iterator[ast.AST]:
    """The nodes that run with a statement: not the bodies of functions and lambdas."""
    stack: list[ast.AST] = [node]
    while stack:
        current = stack.pop()
        yield current
        match current:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                stack.extend(current.decorator_list)
                stack.extend(default for default in current.args.defaults)
                stack.extend(default for default in current.args.kw_defaults if default is not None)
            case ast.Lambda():
                pass
            case _:
                stack.extend(ast.iter_child_nodes(current))


def changed_names(nodes: Iterable[ast.AST]) -> dict[int, str]:
    """Ids of the Name nodes that item assignment, augmented assignment or a changing method starts from."""
    found: dict[int, str] = {}
    for part in nodes:
        match part:
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                _mark(value, "item", found)
            case ast.Attribute(ctx=ast.Store() | ast.Del(), value=value):
                _mark(value, "attribute", found)
            case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in MUTATORS:
                _mark(value, "method", found)
            case ast.Call(func=func, args=[first, *_]) if _last_name(func) in CHANGING_CALLS:
                _mark(first, "call", found)
            case ast.Call(func=ast.Attribute(attr="__setattr__"), args=[first, _, _]):
                _mark(first, "call", found)
            case ast.AugAssign(target=target):
                _mark(target, "augmented", found)
            case _:
                pass
    return found


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _mark(node: ast.expr, how: str, found: dict[int, str]) -> None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars" and node.args:
            node = node.args[0]
        else:
            node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        found[id(node)] = how
