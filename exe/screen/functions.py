"""Which functions are worth a look, by their syntax alone: RULES and `why_not`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from exe.analysis.modules import Function, FunctionNode

from .lists import lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a function stands: normalised package name and path of the file below the package's root."""

    package: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One reason not to use a function. `check` gives the detail where the function falls under it, else None.

    `drops` and `keeps` are sources whose last function (in a class, its last method) is the example.
    """

    name: str
    why: str
    drops: str
    keeps: str
    check: Callable[[FunctionNode, ast.ClassDef | None, Place], str | None]


def why_not(node: FunctionNode, owner: ast.ClassDef | None, place: Place) -> tuple[str, str] | None:
    """The first rule that a function falls under, as (reason, detail); None where it is worth resolving its signature.

    `node` is a module-level function or a method of the module-level class `owner`. Only the syntax is looked at:
    decorators and annotations count by their last name (`typing.overload` is `overload`).
    """
    for rule in RULES:
        detail = rule.check(node, owner, place)
        if detail is not None:
            return rule.name, detail
    return None


def why_not_function(function: Function) -> tuple[str, str] | None:
    """`why_not` of a function as `exe.analysis` enumerates it."""
    place = Place(package=function.module.package.name, path=function.module.path)
    return why_not(function.node, function.class_node, place)


def _last_name(node: ast.expr) -> str:
    """`overload` of `@overload`, `@typing.overload` and `@overload(…)`; "" of anything else."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _decorators(node: FunctionNode) -> list[str]:
    return [_last_name(decorator) for decorator in node.decorator_list]


def _decorated(*names: str) -> Callable[[FunctionNode, ast.ClassDef | None, Place], str | None]:
    def check(node: FunctionNode, _owner: ast.ClassDef | None, _place: Place) -> str | None:
        return next((f"decorated with {name}" for name in _decorators(node) if name in names), None)

    return check


def _blocked_package(_node: FunctionNode, _owner: ast.ClassDef | None, place: Place) -> str | None:
    for pattern, reason in lists().packages:
        if fnmatchcase(place.package, pattern):
            return f"{place.package}: {reason} functions"
    return None


def _vendored(_node: FunctionNode, _owner: ast.ClassDef | None, place: Place) -> str | None:
    folder = next((part for part in place.path.split("/")[:-1] if part in lists().vendored), None)
    return None if folder is None else f"a copy of another project (in {folder})"


def _asynchronous(node: FunctionNode, _owner: ast.ClassDef | None, _place: Place) -> str | None:
    return "async def" if isinstance(node, ast.AsyncFunctionDef) else None


def _interface(_node: FunctionNode, owner: ast.ClassDef | None, _place: Place) -> str | None:
    bases = {_last_name(base) for base in owner.bases} if owner is not None else set()
    return "a method of a protocol" if bases & {"Protocol"} else None


_HOOKS = frozenset(
    """__init__ __new__ __del__ __init_subclass__ __set_name__ __class_getitem__ __prepare__ __getattr__ __getattribute__
    __setattr__ __delattr__ __dir__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __getnewargs__ __getnewargs_ex__
    __copy__ __deepcopy__ __sizeof__ __hash__ __enter__ __exit__ __aenter__ __aexit__ __post_init__ __get__ __set__
    __instancecheck__ __subclasscheck__ __subclasshook__ __mro_entries__ __get_pydantic_core_schema__""".split()  # noqa: SIM905
)


def _hook(node: FunctionNode, owner: ast.ClassDef | None, _place: Place) -> str | None:
    special = node.name.startswith("__") and node.name.endswith("__")
    return node.name if node.name in _HOOKS or (special and owner is None) else None


def _no_result(node: FunctionNode, _owner: ast.ClassDef | None, _place: Place) -> str | None:
    returns = node.returns
    if isinstance(returns, ast.Constant):
        text = "None" if returns.value is None else returns.value
        if isinstance(text, str) and text.strip().rpartition(".")[2] in {"None", "NoReturn", "Never"}:
            return f"returns {text.strip()}"
    elif returns is not None and _last_name(returns) in {"NoReturn", "Never"}:
        return f"returns {_last_name(returns)}"
    return None


def _no_parameters(node: FunctionNode, owner: ast.ClassDef | None, _place: Place) -> str | None:
    arguments = node.args
    count = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
    if owner is not None and "classmethod" in _decorators(node):
        count -= 1
    return None if count > 0 or arguments.vararg or arguments.kwarg else "takes nothing: there is one input only"


def _trivial(node: FunctionNode, _owner: ast.ClassDef | None, _place: Place) -> str | None:
    body = [statement for statement in node.body if not _says_nothing(statement)]
    if not body:
        return "has no body"
    if len(body) > 1:
        return None
    arguments = node.args
    names = {argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    match body[0]:
        case ast.Return(value=None):
            return "returns nothing"
        case ast.Return(value=ast.expr() as value) if _constant(value):
            return "returns a constant"
        case ast.Return(value=ast.Name(id=name)) if name in names:
            return f"returns its argument {name}"
        case ast.Raise(exc=ast.expr() as raised) if _last_name(raised) == "NotImplementedError":
            return "only raises NotImplementedError"
    return None


def _says_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _constant(value: ast.expr) -> bool:
    """A literal, displays of literals included."""
    allowed = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.unaryop, ast.expr_context)
    return all(isinstance(node, allowed) for node in ast.walk(value))


RULES: tuple[Rule, ...] = (
    Rule(
        name="blocked-package",
        why="thousands of its functions are nearly the same (generated clients); they would drown the others",
        drops="# google-cloud-billing, a.py\ndef path(name: str) -> str:\n    return f'projects/{name}'",
        keeps="# idna, a.py\ndef path(name: str) -> str:\n    return f'projects/{name}'",
        check=_blocked_package,
    ),
    Rule(
        name="vendored",
        why="a copied project has a licence of its own and is taken from its origin",
        drops="# pip, pip/_vendor/idna/core.py\ndef double(x: int) -> int:\n    return x + x",
        keeps="# pip, pip/vendors.py\ndef double(x: int) -> int:\n    return x + x",
        check=_vendored,
    ),
    Rule(
        name="async",
        why="its result is a coroutine, and what it awaits comes from outside",
        drops="async def double(x: int) -> int:\n    return x + x",
        keeps="def double(x: int) -> Iterator[int]:\n    yield x + x",
        check=_asynchronous,
    ),
    Rule(
        name="overload",
        why="a signature without an implementation",
        drops="@typing.overload\ndef double(x: int) -> int: ...",
        keeps="@lru_cache(maxsize=2)\ndef double(x: int) -> int:\n    return x + x",
        check=_decorated("overload"),
    ),
    Rule(
        name="abstract",
        why="meant to be overridden, never called",
        drops="class C:\n    @abc.abstractmethod\n    def f(self, x: int) -> int:\n        return x + 1",
        keeps="class C(abc.ABC):\n    def f(self, x: int) -> int:\n        return x + 1",
        check=_decorated("abstractmethod", "abstractproperty", "abstractclassmethod", "abstractstaticmethod"),
    ),
    Rule(
        name="interface",
        why="a protocol says what others implement",
        drops="class C(Protocol[T]):\n    def f(self, x: int) -> int:\n        return x + 1",
        keeps="class C(Base):\n    def f(self, x: int) -> int:\n        return x + 1",
        check=_interface,
    ),
    Rule(
        name="property",
        why="an attribute, not called with arguments",
        drops="class C:\n    @property\n    def f(self) -> int:\n        return self.x + 1",
        keeps="class C:\n    @classmethod\n    def f(cls, x: int) -> int:\n        return x + 1",
        check=_decorated(
            "property", "cached_property", "setter", "getter", "deleter", "hybrid_property", "classproperty"
        ),
    ),
    Rule(
        name="wrapped",
        why="the decorator makes something else of it than its annotations say: a context manager, a command, a fixture",
        drops="@contextlib.contextmanager\ndef around(x: int) -> Iterator[int]:\n    yield x + 1",
        keeps="@functools.cache\ndef around(x: int) -> int:\n    return x + 1",
        check=_decorated(
            "contextmanager",
            "asynccontextmanager",
            "command",
            "group",
            "callback",
            "fixture",
            "hookimpl",
            "hookspec",
            "njit",
            "jit",
            "singledispatchmethod",
        ),
    ),
    Rule(
        name="hook",
        why="Python calls it while it makes, destroys or looks into objects and modules; nobody calls it for a result",
        drops="class C:\n    def __hash__(self) -> int:\n        return self.x + 1",
        keeps="class C:\n    def __str__(self) -> str:\n        return f'<{self.x}>'",
        check=_hook,
    ),
    Rule(
        name="no-result",
        why="None alone is no return type: there is nothing to predict",
        drops="def show(x: int) -> None:\n    print(x + 1)",
        keeps="def find(x: int) -> int | None:\n    return x + 1 if x else None",
        check=_no_result,
    ),
    Rule(
        name="no-parameters",
        why="one input, one case",
        drops="class C:\n    @classmethod\n    def names(cls) -> list[str]:\n        return sorted(cls.table)",
        keeps="class C:\n    def names(self) -> list[str]:\n        return sorted(self.table)",
        check=_no_parameters,
    ),
    Rule(
        name="trivial",
        why="a constant, an argument handed back, or no implementation: nothing is executed",
        drops="def kind(x: int) -> tuple[str, int]:\n    'Which kind.'\n    return ('a', -1)",
        keeps="def kind(x: int) -> tuple[str, int]:\n    return ('a', -x)",
        check=_trivial,
    ),
)
