"""A function's signature as a Candidate: every parameter a type whose values can be made, or the reason why not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Literal

from exe.analysis.annotations import Reader, read_return, read_type
from exe.analysis.checking import checker_view
from exe.analysis.modules import Function, FunctionNode
from exe.analysis.project import Project
from exe.analysis.reading import Refusal, Scope, Unsupported
from exe.records import Candidate, Package, Parameter, Rejection, Type

How = Literal["function", "static", "class", "method"]
Kind = Literal["positional", "normal", "keyword", "args", "kwargs"]
WhyNot = Callable[[Function], tuple[str, str] | None]
"""The structural rules (`exe.screen`): (reason, detail) of the first that speaks against a function, else None."""

MAX_PARAMETERS = 20
BUILDABLE = ("dataclass", "namedtuple", "object", "enum")

_DESCRIPTORS = frozenset(("property", "cached_property", "setter", "getter", "deleter"))


def candidate(
    project: Project, function: Function, package: Package, *, why_not: WhyNot | None = None
) -> Candidate | Rejection:
    """The Candidate of one function, or a Rejection of stage `screen`.

    `why_not` is asked first. Reasons of our own: not-callable, unannotated, unsupported-type, unresolved, unhashable,
    recursive, too-large, malformed; the detail names the parameter.
    """
    subject = f"{package.name}:{function.module.name}:{function.qualname}"
    answer = why_not(function) if why_not is not None else None
    if answer is not None:
        return Rejection(subject=subject, stage="screen", reason=answer[0], detail=answer[1])
    try:
        return _candidate(project, function, package)
    except Refusal as refusal:
        unsupported = refusal.unsupported
        return Rejection(subject=subject, stage="screen", reason=unsupported.reason, detail=unsupported.detail)


def _candidate(project: Project, function: Function, package: Package) -> Candidate:
    node, module = function.node, function.module.name
    how = how_called(function)
    resolve = checker_view(project).resolve
    reader = Reader(resolve)
    owner = function.class_node.name if function.class_node is not None else None
    scope = Scope(module, self_class=owner)
    variables = reader.parameter_variables(node, scope)
    if function.class_node is not None:
        variables = {**reader.parameter_variables(function.class_node, scope), **variables}

    def typed(annotation: ast.expr | None, what: str, *, returns: bool = False) -> Type:
        read = read_return if returns else read_type
        found = read(annotation, module, resolve, self_class=owner, variables=variables)
        if isinstance(found, Unsupported):
            raise Refusal(found.reason, f"{what}: {found.detail}" if found.detail else what)
        return found

    parameters = tuple(
        Parameter(
            name=argument.arg,
            kind=kind,
            type=typed(argument.annotation, argument.arg),
            default=ast.unparse(default) if default is not None else None,
        )
        for argument, kind, default in list_parameters(node, bound=how in ("method", "class"))
    )
    if len(parameters) > MAX_PARAMETERS:
        raise Refusal("too-large", f"{len(parameters)} parameters")
    self_type = None
    if how == "method" and owner is not None:
        self_type = typed(ast.Name(owner), "self")
        if self_type.kind not in BUILDABLE:
            raise Refusal("unsupported-type", f"self: a {self_type.kind} has no constructor that a call could name")
    returns = typed(node.returns, "return", returns=True)
    return Candidate(
        package=package,
        module=module,
        qualname=function.qualname,
        path=function.module.path,
        line=node.lineno,
        how=how,
        parameters=parameters,
        returns=returns,
        self_type=self_type,
        origins=_origins([*([self_type] if self_type is not None else []), *(p.type for p in parameters)]),
        docstring=ast.get_docstring(node),
    )


def how_called(function: Function) -> How:
    """Whether a call names a function, or a method through its class or an instance. Raises Refusal for properties."""
    if function.class_node is None:
        return "function"
    for decorator in function.node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if name in _DESCRIPTORS:
            raise Refusal("not-callable", f"a {name}, not a method")
        if name == "staticmethod":
            return "static"
        if name == "classmethod":
            return "class"
    return "method"


def list_parameters(node: FunctionNode, *, bound: bool) -> Iterator[tuple[ast.arg, Kind, ast.expr | None]]:
    """Parameters in the order of the signature, each with its kind and default; `bound` drops the first (self, cls)."""
    arguments = node.args
    positional = [*((one, "positional") for one in arguments.posonlyargs), *((one, "normal") for one in arguments.args)]
    if bound and not positional:
        raise Refusal("not-callable", "a method without a parameter for its instance")
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    for index, ((argument, kind), default) in enumerate(zip(positional, defaults, strict=True)):
        if not (bound and index == 0):
            yield argument, "positional" if kind == "positional" else "normal", default
    if arguments.vararg is not None:
        yield arguments.vararg, "args", None
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield argument, "keyword", default
    if arguments.kwarg is not None:
        yield arguments.kwarg, "kwargs", None


def _origins(types: list[Type]) -> tuple[str, ...]:
    """Package classes that calls name. A TypedDict is none: a call writes it as a dict display."""
    found: set[str] = set()
    stack = list(types)
    while stack:
        one = stack.pop()
        if one.origin and one.kind not in ("typeddict", "opaque"):
            found.add(one.origin)
        stack += [*one.args, *(field.type for field in one.fields)]
    return tuple(sorted(found))
