"""Whether the order of a hash table may show in what a program gives: `shows(source)`. Read from its text alone.

A dict keeps the order of insertion; sets do not, and neither does what is told from `hash` and `id`. Sets that are only
asked for members, counted or sorted are no reason: most programs have those.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

_MAKERS: Final = frozenset({"set", "frozenset", "WeakSet", "hash", "id"})
_METHODS: Final = frozenset({"union", "intersection", "difference", "symmetric_difference", "__hash__", "WeakSet"})
_VIEWS: Final = frozenset({"keys", "items"})
_HARMLESS: Final = frozenset({"sorted", "len", "min", "max", "sum", "any", "all", "bool"})
_CLASSES_WANTED: Final = frozenset({"isinstance", "issubclass", "cast", "TypeVar", "NewType"})


def shows(source: str) -> bool:
    """Whether a set is made, or a hash or an address asked for, where its order can reach a result; also for no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(_tells(node) for node in _walk(tree))


def _tells(node: ast.AST) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Name(id=name, ctx=ast.Load()):
            return name in _MAKERS
        case ast.Attribute(attr=name, ctx=ast.Load()):
            return name in _METHODS
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.Sub() | ast.BitXor(), right=right):
            return _view(left) or _view(right)
        case _:
            return False


def _view(node: ast.expr) -> bool:
    """`x.keys()` or `x.items()`, which an operator makes a set of."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes whose value may be looked at in order: no annotations, no classes that are merely asked about."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(_parts(node))


def _parts(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            looked = zip(ops, comparators, strict=True)
            return [
                left,
                *(part for op, right in looked for part in _unordered(right, isinstance(op, ast.In | ast.NotIn))),
            ]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _HARMLESS and not keywords:
            return [part for argument in args for part in _unordered(argument, True)]
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _CLASSES_WANTED:
            return [first]
        case ast.AnnAssign(target=target, value=value):
            return [target] if value is None else [target, value]
        case ast.arg():
            return []
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [node.args, *node.body, *node.decorator_list]
        case ast.Subscript(value=ast.Name(id="set" | "frozenset"), slice=index):
            return [index]
        case _:
            return list(ast.iter_child_nodes(node))


def _unordered(node: ast.expr, asked: bool) -> list[ast.AST]:
    """A part whose order does not show where it stands: a set there is replaced by what it is made of."""
    if not asked:
        return [node]
    match node:
        case ast.Set() | ast.SetComp():
            return list(ast.iter_child_nodes(node))
        case ast.Call(func=ast.Name(id="set" | "frozenset"), args=args):
            return list(args)
        case _:
            return [node]
