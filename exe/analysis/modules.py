"""Modules of a package, read and parsed only when asked for."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath

from exe.analysis.text import Lines, SourceFault, decode, parse
from exe.records import Package, Rejection

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Module:
    """One file of a package, or a folder without `__init__.py` (a namespace package: `path` is "" and the tree empty).

    `fault` is the Rejection of a file that cannot be read as Python; its tree is then empty.
    """

    name: str
    path: str  # posix, relative to package.root
    package: Package
    is_package: bool

    @cached_property
    def _read(self) -> tuple[str, ast.Module, Rejection | None]:
        if not self.path:
            return "", ast.Module(body=[], type_ignores=[]), None
        try:
            try:
                data = (Path(self.package.root) / self.path).read_bytes()
            except OSError as error:
                raise SourceFault("unreadable", str(error.strerror)) from error
            text = decode(data)
            return text, parse(text), None
        except SourceFault as fault:
            subject = f"{self.package.name}:{self.name}"
            rejection = Rejection(subject=subject, stage="scrape", reason=fault.reason, detail=f"{self.path}: {fault}")
            return "", ast.Module(body=[], type_ignores=[]), rejection

    @property
    def source(self) -> str:
        """The decoded text, newlines as `\\n`."""
        return self._read[0]

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of `source`."""
        return self._read[1]

    @property
    def fault(self) -> Rejection | None:
        """Why the file cannot be read, if it cannot."""
        return self._read[2]

    @cached_property
    def lines(self) -> Lines:
        """Position arithmetic over `source`."""
        return Lines(self.source)

    @property
    def parent(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def postponed(self) -> bool:
        """Whether `from __future__ import annotations` is in force."""
        return any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in self.tree.body
        )


@lru_cache(maxsize=256)
def shared_module(name: str, path: str, package: Package, is_package: bool) -> Module:
    """A module of a locked dependency: read once for all packages that require the same files of it."""
    return Module(name, path, package, is_package)


@dataclass(frozen=True, slots=True)
class Function:
    """A module-level function, or a method of a module-level class."""

    module: Module
    qualname: str
    node: FunctionNode
    class_node: ast.ClassDef | None = None


def module_name(path: str) -> tuple[str, bool] | None:
    """Dotted name and whether it is a package, for a posix path below a package root; None where no import reaches it."""
    parts = PurePosixPath(path).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    if is_package:
        parts = parts[:-1]
    if not parts or not all(part.isidentifier() for part in parts):
        return None
    return ".".join(parts), is_package


def module_functions(module: Module) -> list[Function]:
    """The functions of one module in file order, conditional blocks at module and class level included.

    Of several definitions of one name the last is kept, where it lies: it is the one that an importer finds.
    """
    found: dict[str, Function] = {}
    for node in _definitions(module.tree.body):
        if isinstance(node, ast.ClassDef):
            for inner in _definitions(node.body):
                if not isinstance(inner, ast.ClassDef):
                    qualname = f"{node.name}.{inner.name}"
                    found.pop(qualname, None)
                    found[qualname] = Function(module, qualname, inner, node)
        else:
            found.pop(node.name, None)
            found[node.name] = Function(module, node.name, node)
    return list(found.values())


def _definitions(body: list[ast.stmt]) -> list[FunctionNode | ast.ClassDef]:
    result: list[FunctionNode | ast.ClassDef] = []
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                result.append(node)
            case ast.If():
                stack.extend(reversed([*node.body, *node.orelse]))
            case ast.Try():
                handlers = [inner for handler in node.handlers for inner in handler.body]
                stack.extend(reversed([*node.body, *handlers, *node.orelse, *node.finalbody]))
            case ast.With():
                stack.extend(reversed(node.body))
            case _:
                pass
    return result
