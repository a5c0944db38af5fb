"""Which of the hard constructs of Python an inlined program had to get right, so that fidelity can be told for each.

| construct | the program, or a module that it was made from, has |
|---|---|
| single-definition, several-modules, several-packages | one definition; definitions of two modules or more; of two top-level packages or more |
| import-cycle | a module that takes part in a cycle of import-time imports |
| lazy-import | an import inside a function that was taken over |
| conditional | a definition or import inside `if` or `try` at a module's top level |
| registry | a statement at top level that changes an object bound before: `X[k] = …`, `X.update(…)`, `@X.register` |
| renamed | a name that had to be given another, since two modules use it |
| super | `super()` |
| inheritance | a class with a base that is itself taken over |
| metaclass | `metaclass=…`, or a class derived from `type`, `ABCMeta` or `EnumMeta` |
| abstract, protocol | a class derived from `ABC`, from `Protocol` |
| dataclass, namedtuple, enum, typeddict, exception | such a class |
| slots, property, descriptor | `__slots__`; `@property`; a class with `__get__` |
| subclass-hook | `__init_subclass__`, `__class_getitem__` or `__set_name__` |
| builtin-subclass | a class derived from str, int, dict, list, tuple, … |
| decorator | a decorator that is itself taken over |
| cache, contextmanager, singledispatch | `lru_cache` or `cache`; `contextmanager`; `singledispatch` |
| generator, closure, lambda, comprehension, walrus, match, star-call | such syntax |
| global-statement, nonlocal-statement | such a statement |
| method | the entry is a method |
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from exe.analysis import Module, Project
from exe.analysis.imports import absolute, imported_names
from exe.records import Program
from exe.verify.stand_in import located

_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_BUILTIN_BASES: Final = frozenset(
    ("str", "int", "float", "bytes", "dict", "list", "tuple", "set", "frozenset", "OrderedDict", "defaultdict", "deque")
)
_ENUMS: Final = frozenset(("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))
_BASES: Final = {
    "ABC": "abstract",
    "Protocol": "protocol",
    "NamedTuple": "namedtuple",
    "TypedDict": "typeddict",
    **dict.fromkeys(("type", "ABCMeta", "EnumMeta", "EnumType"), "metaclass"),
    **dict.fromkeys(_ENUMS, "enum"),
    **dict.fromkeys(_BUILTIN_BASES, "builtin-subclass"),
}
_DECORATORS: Final = {
    "dataclass": "dataclass",
    "property": "property",
    "cached_property": "descriptor",
    "lru_cache": "cache",
    "cache": "cache",
    "contextmanager": "contextmanager",
    "singledispatch": "singledispatch",
    "singledispatchmethod": "singledispatch",
    "register": "registry",
}
_METHODS: Final = {
    "__get__": "descriptor",
    "__set_name__": "subclass-hook",
    "__init_subclass__": "subclass-hook",
    "__class_getitem__": "subclass-hook",
}
_MUTATORS: Final = frozenset(
    ("update", "append", "extend", "add", "setdefault", "insert", "register", "pop", "remove", "discard", "clear")
)
_SYNTAX: Final = (
    ((ast.Yield, ast.YieldFrom), "generator"),
    ((ast.Lambda,), "lambda"),
    ((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), "comprehension"),
    ((ast.NamedExpr,), "walrus"),
    ((ast.Match,), "match"),
    ((ast.Starred,), "star-call"),
    ((ast.Global,), "global-statement"),
    ((ast.Nonlocal,), "nonlocal-statement"),
)
CONSTRUCTS: Final = tuple(
    sorted(
        {
            *("single-definition", "several-modules", "several-packages", "import-cycle", "lazy-import", "conditional"),
            *("registry", "renamed", "super", "inheritance", "metaclass", "slots", "decorator", "closure", "method"),
            *("exception", *_BASES.values(), *_DECORATORS.values(), *_METHODS.values()),
            *(name for _, name in _SYNTAX),
        }
    )
)
"""All words that `constructs` may answer."""


def constructs(program: Program, project: Project | None = None) -> tuple[str, ...]:
    """The constructs of a program, sorted.

    Pure: parses the program and, where `project` is given, the modules that it was made from; without it, what only these
    show (import cycles, lazy imports of the package's own modules) goes untold.
    """
    tree = ast.parse(program.source)
    found = set(_of_provenance(program))
    own = {name for name in program.provenance if name.isidentifier()}
    found.update(_of_top_level(tree, own))
    for node in ast.walk(tree):
        found.update(_of_node(node, own))
    if project is not None:
        found.update(_of_modules(program, project))
    return tuple(sorted(found))


def _of_provenance(program: Program) -> Iterator[str]:
    modules = {module for module, _ in map(located, program.provenance.values())}
    if len(program.provenance) == 1:
        yield "single-definition"
    if len(modules) > 1:
        yield "several-modules"
    if len({module.partition(".")[0] for module in modules}) > 1:
        yield "several-packages"
    if any(name != located(origin)[1] for name, origin in program.provenance.items()):
        yield "renamed"
    if "." in program.entry:
        yield "method"


def _of_top_level(tree: ast.Module, own: set[str]) -> Iterator[str]:
    """What statements between the definitions do."""
    for statement in tree.body:
        match statement:
            case ast.If() | ast.Try():
                inner = [node for node in ast.walk(statement) if isinstance(node, ast.stmt)]
                if any(isinstance(node, _FUNCTION | ast.ClassDef | ast.Import | ast.ImportFrom) for node in inner):
                    yield "conditional"
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute() as target, *_]):
                if _root(target) in own:
                    yield "registry"
            case ast.AugAssign(target=target) if _root(target) in own:
                yield "registry"
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attribute) as function)):
                if attribute in _MUTATORS and _root(function) in own:
                    yield "registry"
            case ast.For() | ast.While() | ast.Delete():
                yield "registry"
            case _:
                continue


def _of_node(node: ast.AST, own: set[str]) -> Iterator[str]:
    for kinds, name in _SYNTAX:
        if isinstance(node, kinds):
            yield name
    match node:
        case ast.Call(func=ast.Name(id="super")):
            yield "super"
        case ast.ClassDef():
            yield from _of_class(node, own)
            yield from _of_decorators(node.decorator_list, own)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _of_decorators(node.decorator_list, own)
            if any(isinstance(inner, _FUNCTION) for inner in _inside(node)):
                yield "closure"
            if any(isinstance(inner, ast.Import | ast.ImportFrom) for inner in _inside(node)):
                yield "lazy-import"
        case _:
            return


def _of_class(node: ast.ClassDef, own: set[str]) -> Iterator[str]:
    for base in node.bases:
        name = _last(base)
        if name in _BASES:
            yield _BASES[name]
        if name.endswith(("Error", "Exception", "Warning")):
            yield "exception"
        if _root(base) in own:
            yield "inheritance"
    for keyword in node.keywords:
        if keyword.arg == "metaclass":
            yield "abstract" if _last(keyword.value) == "ABCMeta" else "metaclass"
    for inner in node.body:
        if isinstance(inner, _FUNCTION) and inner.name in _METHODS:
            yield _METHODS[inner.name]
        if isinstance(inner, ast.Assign) and any(_last(target) == "__slots__" for target in inner.targets):
            yield "slots"


def _of_decorators(decorators: list[ast.expr], own: set[str]) -> Iterator[str]:
    for decorator in decorators:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = _last(called)
        if name in _DECORATORS:
            yield _DECORATORS[name]
        if isinstance(called, ast.Name) and called.id in own:
            yield "decorator"


def _of_modules(program: Program, project: Project) -> Iterator[str]:
    """What only the original text shows."""
    wanted: dict[str, set[str]] = {}
    for origin in program.provenance.values():
        where, qualname = located(origin)
        wanted.setdefault(where, set()).add(qualname.partition(".")[0])
    cyclic = cycles(project)
    for name, definitions in wanted.items():
        module = project.find(name)
        if module is None:
            continue
        if name in cyclic:
            yield "import-cycle"
        for node in module.tree.body:
            if isinstance(node, _FUNCTION | ast.ClassDef) and node.name in definitions and _imports_inside(node):
                yield "lazy-import"


def _imports_inside(node: ast.AST) -> bool:
    return any(
        isinstance(inner, ast.Import | ast.ImportFrom)
        for function in ast.walk(node)
        if isinstance(function, _FUNCTION)
        for inner in ast.walk(function)
    )


def cycles(project: Project) -> frozenset[str]:
    """The modules that take part in a cycle of import-time imports, `TYPE_CHECKING` blocks apart; found once a project."""
    known: frozenset[str] | None = project.cache.get("verify-cycles")
    if known is None:
        modules = project.modules
        known = components({name: _imported(module, set(modules)) for name, module in modules.items()})
        project.cache["verify-cycles"] = known
    return known


def _imported(module: Module, known: set[str]) -> set[str]:
    """Modules of the project that importing `module` asks for by name."""
    found: set[str] = set()
    for statement in _executed(module.tree.body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for name in imported_names(module, statement):
                inner = f"{name.target.module}.{name.target.attribute}"
                found.add(inner if inner in known else name.loads)
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                found.add(absolute(module, statement) or "")
    return (found & known) - {module.name}


def components(graph: dict[str, set[str]]) -> frozenset[str]:
    """Nodes from which a way leads back to themselves."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting.extend(graph.get(node, ()))
        reach[start] = seen
    return frozenset(node for node, seen in reach.items() if node in seen)


def _executed(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements executed at import, blocks included, functions and `if TYPE_CHECKING` left out."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.If(test=test) if _last(test) == "TYPE_CHECKING":
                yield from _executed(statement.orelse)
            case ast.Try():
                handlers = [inner for handler in statement.handlers for inner in handler.body]
                yield from _executed([*statement.body, *handlers, *statement.orelse, *statement.finalbody])
            case ast.If() | ast.For() | ast.While():
                yield from _executed([*statement.body, *statement.orelse])
            case ast.With() | ast.ClassDef():
                yield from _executed(statement.body)
            case _:
                yield statement


def _inside(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    for statement in node.body:
        yield from ast.walk(statement)


def _root(node: ast.expr) -> str:
    """The name that a dotted, subscripted or called expression begins with, "" for another."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _last(node: ast.expr) -> str:
    """The last name of a dotted expression, subscripts apart."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
