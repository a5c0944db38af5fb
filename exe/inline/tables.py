"""Tables that are written and never read: registries of which nothing in a program asks what is in them.

A use that only puts something in needs the table, but not what others put in. So does a test by which `__init_subclass__` refuses
what is there already: loading the module never came to that, and with less in the table it does not either; it is one only in
programs that make no classes in calls, and try none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from exe.analysis.modules import FunctionNode

_PUTS: Final = frozenset({"append", "add", "extend", "update", "insert", "appendleft"})
_HARMLESS: Final = frozenset(
    """super __init_subclass__ lower upper casefold replace strip lstrip rstrip removeprefix removesuffix split join format
    isinstance issubclass len getattr hasattr str""".split()  # noqa: SIM905
)
"""Last names of what a hook that only registers may call: `super()` and methods of text."""


def puts(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Ids of the names of tables that a piece of syntax only puts something in: `X[key] = value`, `X.append(value)`."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets):
                yield from (id(one.value) for one in targets if isinstance(one, ast.Subscript))
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attr, value=ast.Name() as table))) if attr in _PUTS:
                yield id(table)
            case _:
                pass


def guards(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Ids of the names of tables that `__init_subclass__` only looks at to refuse what is there: `if key in X: raise …`."""
    for hook in nodes:
        if isinstance(hook, ast.FunctionDef) and hook.name == "__init_subclass__":
            for node in ast.walk(hook):
                match node:
                    case ast.If(
                        test=ast.Compare(ops=[ast.In()], comparators=[ast.Name() as table]),
                        body=[ast.Raise()],
                        orelse=[],
                    ):
                        yield id(table)
                    case _:
                        pass


def made_empty(node: ast.stmt) -> type | None:
    """dict or list where a statement binds one name to such a container of the language with nothing in it."""
    match node:
        case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=value):
            match value:
                case ast.Dict(keys=[]):
                    return dict
                case ast.List(elts=[]):
                    return list
    return None


def only_registers(hook: FunctionNode) -> bool:
    """Whether `__init_subclass__` does nothing but put things into tables, as far as a module that loads comes to it."""
    return all(map(_registers, hook.body))


def _registers(node: ast.stmt) -> bool:
    match node:
        case ast.Raise() | ast.Pass():
            return True
        case ast.Expr(value=value):
            return isinstance(value, ast.Constant) or _puts_or_plain(node, value)
        case ast.Assign(targets=[ast.Name()], value=value):
            return _plain(value)
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(), slice=key)], value=value):
            return _plain(key) and _plain(value)
        case ast.For(target=ast.Name(), iter=iterable, body=body, orelse=[]):
            return _plain(iterable) and all(map(_registers, body))
        case ast.If(test=test, body=body, orelse=orelse):
            return _plain(test) and all(map(_registers, [*body, *orelse]))
        case _:
            return False


def _puts_or_plain(node: ast.Expr, value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and list(puts([node])):
        return all(map(_plain, [*value.args, *(one.value for one in value.keywords)]))
    return _plain(value)


def _plain(node: ast.expr) -> bool:
    """Whether evaluating an expression calls nothing that may change anything."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _HARMLESS:
                pass
            case ast.Call() | ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return False
            case _:
                pass
    return True
