"""How the sandbox calls an original: a few import lines stand where the program's source stands.

They bind, from the origin package, the names that the calls use, under the names that the program gave them. What a call
names of the standard library is imported as the program imports it. The calls themselves stay as they are.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from exe.records import Program

OBSERVER = "_call_and_show_arguments"
_OBSERVER_SOURCE = f"""
def {OBSERVER}(function, /, *positional, **keywords):
    import builtins
    try:
        result = function(*positional, **keywords)
    except builtins.BaseException:
        result = None
    owner = builtins.getattr(function, "__self__", None)
    if builtins.isinstance(owner, (builtins.type, builtins.type(builtins))):
        owner = None
    return [result, owner, positional, keywords]
"""


def observed(source: str) -> str:
    """`source` with a function at its end that shows the arguments as a call left them (see `observing`)."""
    return source + ("" if source.endswith("\n") else "\n") + _OBSERVER_SOURCE


def observing(call: str) -> str | None:
    """The call so that its value is [result, instance, positional, keywords] afterwards; None for another expression.

    The result, None where the call raises, stands first: encoding it drains a generator before its arguments are looked
    at, and shows where it is itself one of them.
    """
    body = ast.parse(call, mode="eval").body
    if not isinstance(body, ast.Call):
        return None
    wrapped = ast.Call(func=ast.Name(OBSERVER, ast.Load()), args=[body.func, *body.args], keywords=body.keywords)
    return ast.unparse(ast.fix_missing_locations(wrapped))


def stand_in(program: Program, calls: Iterable[str]) -> str:
    """Source that binds what `calls` name to the originals. A name that nothing provides is left unbound.

    Of a nested class the outermost is bound.
    """
    standard = _imports(ast.parse(program.source))
    lines = []
    for name in _names(calls):
        origin = program.provenance.get(name)
        if origin is not None:
            module, qualname = located(origin)
            lines.append(f"from {module} import {qualname.partition('.')[0]} as {name}")
        elif name in standard:
            lines.append(standard[name])
        elif not hasattr(builtins, name):
            lines.append(f"from {program.origin.module} import {name}")
    return "".join(f"{line}\n" for line in lines)


def located(origin: str) -> tuple[str, str]:
    """Module and qualname of a provenance: "module:qualname", with "dependency/" before it in a locked dependency."""
    module, _, qualname = origin.rpartition("/")[2].partition(":")
    return module, qualname


def _names(calls: Iterable[str]) -> list[str]:
    """Names that the calls read, sorted; those that a comprehension or lambda binds itself apart."""
    read: set[str] = set()
    for call in calls:
        nodes = [node for node in ast.walk(ast.parse(call, mode="eval")) if isinstance(node, ast.Name)]
        read |= {node.id for node in nodes} - {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    return sorted(read)


def _imports(tree: ast.Module) -> dict[str, str]:
    """Names bound by import statements of a program's top level, blocks included → one statement that binds each."""
    found: dict[str, str] = {}
    for statement in _statements(tree.body):
        match statement:
            case ast.Import(names=aliases):
                for alias in aliases:
                    text = f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
                    bound = alias.asname or alias.name.partition(".")[0]
                    found[bound] = f"{found[bound]}; {text}" if bound in found else text
            case ast.ImportFrom(module=str() as module, names=aliases, level=0) if module != "__future__":
                for alias in aliases:
                    found[alias.asname or alias.name] = f"from {module} import {alias.name}" + (
                        f" as {alias.asname}" if alias.asname else ""
                    )
            case _:
                continue
    return found


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that a module executes itself, compound ones and what is in them; not those of functions."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for inner in ast.iter_child_nodes(statement):
                if isinstance(inner, ast.stmt):
                    yield from _statements([inner])
                elif isinstance(inner, ast.ExceptHandler):
                    yield from _statements(inner.body)
