"""Which names a program must bind so that calls can be written, and under which expression it binds them.

The rule: a call names a package's class by the name that the inlined program gave it, and a standard-library class by
`module.Class` (`datetime.date(2024, 2, 29)`), or by what the program itself imported it as (`date(2024, 2, 29)`). What
the program does not bind is imported by one more line: `import datetime`, or `import datetime as datetime_` where the
program uses that name for something else. Built-ins that the program redefines are named through `builtins`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from exe.analysis.kinds import STANDARD
from exe.analysis.statements import read_statements
from exe.inputs.standard import REQUIRES
from exe.records import Candidate, Type


def candidate_types(candidate: Candidate) -> tuple[Type, ...]:
    """The types that a call of the candidate writes values of."""
    own = (candidate.self_type,) if candidate.self_type is not None else ()
    return (*own, *(parameter.type for parameter in candidate.parameters))


def nested(types: Iterable[Type]) -> Iterator[Type]:
    """The types and all that they are made of."""
    for found in types:
        yield found
        yield from nested(found.args)
        yield from nested(field.type for field in found.fields)


def required_names(types: Iterable[Type]) -> tuple[str, ...]:
    """ "module:name" of everything outside the package that calls may name, sorted."""
    needed: set[str] = set()
    for found in nested(types):
        if found.kind in ("builtin", "exception"):
            needed.update(f"builtins:{value.partition('.')[0]}" for value in found.values)
        elif found.kind in REQUIRES:
            needed.update(REQUIRES[found.kind])
        elif found.kind in STANDARD or found.kind.startswith("collections."):
            needed.add(":".join(found.kind.rsplit(".", 1)))
        if found.kind in ("any", "hashable"):
            needed.add("builtins:float")
    return tuple(sorted(needed))


def required_imports(types: Iterable[Type]) -> tuple[str, ...]:
    """The modules that calls may name, sorted, built-ins apart."""
    return tuple(sorted({name.partition(":")[0] for name in required_names(types)} - {"builtins"}))


def bind_names(source: str, types: Iterable[Type], names: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The program with the imports that calls need, and `names` with how each needed name is written in it.

    `names` maps "module:qualname" of package classes to their emitted names. Raises SourceFault where `source` is no
    Python.
    """
    known = dict(names)
    needed = required_names(types)
    if not needed:
        return source, known
    bound = _bound(source)
    lines: list[str] = []
    for key in needed:
        module, _, name = key.partition(":")
        if module == "builtins":
            if name in bound:
                known[key] = f"{_module(module, bound, lines)}.{name}"
            continue
        imported = [local for local, what in bound.items() if what == key]
        known[key] = (
            min(imported, key=lambda local: (local != name, local))
            if imported
            else f"{_module(module, bound, lines)}.{name}"
        )
    return _with_imports(source, lines), known


def _module(module: str, bound: dict[str, str], lines: list[str]) -> str:
    """The expression for a module; adds an import where the program has none, and remembers it in `bound`."""
    for local, what in sorted(bound.items()):
        if what == f"{module}:":
            return local
    local = module
    while local in bound:
        local += "_"
    lines.append(f"import {module}" if local == module else f"import {module} as {local}")
    bound[local] = f"{module}:"
    return local


def _bound(source: str) -> dict[str, str]:
    """Names that the program's top level binds → "module:name", "module:" for a module, "" for anything else.

    What is bound to two things, or inside a block, is anything else.
    """
    found: dict[str, str] = {}

    def bind(name: str, what: str) -> None:
        found[name] = what if found.get(name, what) == what else ""

    for statement, _ in read_statements(source):
        match statement.node:
            case ast.Import(names=aliases) if statement.top:
                for alias in aliases:
                    root = alias.name.partition(".")[0]
                    bind(alias.asname or root, f"{alias.name if alias.asname else root}:")
            case ast.ImportFrom(module=str() as module, names=aliases, level=0) if statement.top:
                for alias in aliases:
                    bind(alias.asname or alias.name, f"{module}:{alias.name}")
            case _:
                for name in (*statement.bound, *(name for part in statement.parts.values() for name in part.rebinds)):
                    bind(name, "")
    return found


def _with_imports(source: str, lines: list[str]) -> str:
    """Put import lines after the docstring and the `__future__` imports."""
    if not lines:
        return source
    after = 0
    for index, statement in enumerate(ast.parse(source).body):
        docstring = index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not docstring and not future:
            break
        after = statement.end_lineno or after
    text = source.splitlines(keepends=True)
    head = "".join(text[:after])
    if head and not head.endswith("\n"):
        head += "\n"
    return head + "".join(f"{line}\n" for line in sorted(lines)) + "".join(text[after:])
