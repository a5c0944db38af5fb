"""Names as a type checker sees them: what only `if TYPE_CHECKING:` binds is there too. Annotations may use such names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from exe.analysis.imports import Imported, imported_names, star_source
from exe.analysis.modules import Module
from exe.analysis.project import Defined, External, Project, Unresolved

_HOPS = 30  # imports followed from one name


class CheckerView:
    """`Project.resolve` for annotations: the running program's view first, then the type checker's."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._tables: dict[str, dict[str, Imported | ast.stmt]] = {}
        self._known: dict[tuple[str, str], Defined | External | Unresolved] = {}

    def resolve(self, module: str, dotted: str) -> Defined | External | Unresolved:
        """What a dotted name in an annotation of a module stands for."""
        found = self._known.get((module, dotted))
        if found is None:
            found = self._known[module, dotted] = self._resolve(module, dotted, _HOPS)
        return found

    def _resolve(self, module: str, dotted: str, hops: int) -> Defined | External | Unresolved:
        found = self._project.resolve(module, dotted)
        if not isinstance(found, Unresolved) or hops == 0:
            return found
        first, _, rest = dotted.partition(".")
        match self._table(module).get(first):
            case None:
                return found
            case Imported(module=source, attribute=attribute):
                return self._imported(source, [part for part in (attribute, *rest.split(".")) if part], hops - 1)
            case node if not rest:
                return Defined(module, first, node)
            case _:
                return found

    def _imported(self, source: str, names: list[str], hops: int) -> Defined | External | Unresolved:
        """A member of a module, or of the deepest submodule that the names lead to."""
        if self._project.find(source) is None:
            return External(".".join([source, *names]))
        while len(names) > 1 and self._project.find(f"{source}.{names[0]}") is not None:
            source, names = f"{source}.{names[0]}", names[1:]
        if not names:
            return Unresolved(source, "a module, not a definition")
        return self._resolve(source, ".".join(names), hops)

    def _table(self, module: str) -> dict[str, Imported | ast.stmt]:
        if module not in self._tables:
            found = self._project.find(module)
            self._tables[module] = dict(self._bound(found)) if found is not None else {}
        return self._tables[module]

    def _bound(self, module: Module) -> Iterator[tuple[str, Imported | ast.stmt]]:
        for statement in _guarded(module.tree.body, checking=False):
            match statement:
                case ast.Import() | ast.ImportFrom():
                    for name in imported_names(module, statement):
                        yield name.bound, name.target
                    star = star_source(module, statement)
                    if star is not None:
                        yield from ((name, Imported(star, name)) for name in self._project.star_names(star) or ())
                case ast.ClassDef(name=name):
                    yield name, statement
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    yield name, statement
                case _ if type(statement).__name__ == "TypeAlias":  # `type X = …` (3.12)
                    yield statement.name.id, statement  # type: ignore[attr-defined]


def _guarded(body: list[ast.stmt], *, checking: bool) -> Iterator[ast.stmt]:
    """Statements at module level that only a type checker reaches."""
    for statement in body:
        match statement:
            case ast.If(test=test):
                only, never = _is_checking(test), isinstance(test, ast.UnaryOp) and _is_checking(test.operand)
                yield from _guarded(statement.body, checking=checking or only)
                yield from _guarded(statement.orelse, checking=checking or never)
            case ast.Try():
                yield from _guarded(statement.body, checking=checking)
            case _ if checking:
                yield statement


def _is_checking(test: ast.expr) -> bool:
    match test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return True
        case _:
            return False


def checker_view(project: Project) -> CheckerView:
    """The view of a project, made once."""
    found = project.cache.get("checker view")
    if not isinstance(found, CheckerView):
        found = project.cache["checker view"] = CheckerView(project)
    return found
