"""Annotation → Type, resolved without running anything: aliases, strings, unions, generics, classes of the package."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, assert_never

from exe.analysis import classes, kinds
from exe.analysis.project import Defined, External, Unresolved
from exe.analysis.reading import (
    MAX_DEPTH,
    MAX_NODES,
    NEVER,
    RECURSION,
    Refusal,
    Resolve,
    Scope,
    Unsupported,
    class_variables,
    dotted_name,
    names_in,
    parse_annotation,
    text_of,
)
from exe.records import Type


def read_type(
    node: ast.expr | None,
    module: str,
    resolve: Resolve,
    *,
    self_class: str | None = None,
    variables: Mapping[str, Type] | None = None,
) -> Type | Unsupported:
    """Read the annotation of a parameter: a type whose values can be made.

    `resolve(module, dotted)` is the project's name resolution. `self_class` is the dotted name, in `module`, of the
    class around a method. `variables` binds type parameters by name. Never raises for what the code says.
    """
    return _read(node, Scope(module, variables or {}, self_class), Reader(resolve))


def read_return(
    node: ast.expr | None,
    module: str,
    resolve: Resolve,
    *,
    self_class: str | None = None,
    variables: Mapping[str, Type] | None = None,
) -> Type | Unsupported:
    """Read a return annotation: classes need not be constructible, and read as kind `opaque` where they are not.

    `None` alone is no return type (paper, A.5).
    """
    found = _read(node, Scope(module, variables or {}, self_class), Reader(resolve, returns=True))
    if isinstance(found, Type) and found.kind == "none":
        return Unsupported("unsupported-type", "returns None alone")
    return found


def _read(node: ast.expr | None, scope: Scope, reader: Reader) -> Type | Unsupported:
    if node is None:
        return Unsupported("unannotated")
    try:
        found = reader.read(node, scope)
    except Refusal as refusal:
        return refusal.unsupported
    except RecursionError:
        return Unsupported("too-large", "nested too deeply")
    if found.kind == "never":
        return Unsupported("recursive", f"no value of {text_of(node)} can be built in {RECURSION} levels")
    return found


class Reader:
    """Reads one annotation; counts what it reads, and cuts recursive types off."""

    def __init__(self, resolve: Resolve, *, returns: bool = False) -> None:
        self.resolve = resolve
        self.returns = returns
        self._nodes = 0
        self._depth = 0
        self._inside: list[str] = []

    def read(self, node: ast.expr, scope: Scope) -> Type:
        """Read one annotation expression. Raises Refusal."""
        self._nodes += 1
        if self._nodes > MAX_NODES or self._depth > MAX_DEPTH:
            raise Refusal("too-large", f"more than {MAX_NODES} types or {MAX_DEPTH} levels")
        self._depth += 1
        try:
            return self._expression(node, scope)
        finally:
            self._depth -= 1

    @contextmanager
    def inside(self, key: str) -> Iterator[bool]:
        """Enter a class or an alias; False where it is already as deep in itself as may be."""
        allowed = self._inside.count(key) < RECURSION
        self._inside.append(key)
        try:
            yield allowed
        finally:
            self._inside.pop()

    def _expression(self, node: ast.expr, scope: Scope) -> Type:
        match node:
            case ast.Constant(value=None):
                return Type(kind="none", text="None")
            case ast.Constant(value=str() as text):
                return self.read(parse_annotation(text), scope)
            case ast.Name() | ast.Attribute():
                return self._named(dotted_name(node), (), scope, node)
            case ast.Subscript(value=(ast.Name() | ast.Attribute()) as base, slice=index):
                arguments = tuple(index.elts) if isinstance(index, ast.Tuple) and index.elts else (index,)
                return self._named(dotted_name(base), arguments, scope, node)
            case ast.BinOp(op=ast.BitOr()):
                return self.union(list(_union_arms(node)), scope, text_of(node))
            case _:
                raise Refusal("malformed", text_of(node)[:200])

    def _named(self, dotted: str, arguments: tuple[ast.expr, ...], scope: Scope, node: ast.expr) -> Type:
        if dotted in scope.variables:
            return scope.variables[dotted]
        match self.resolve(scope.module, dotted):
            case External(name=name):
                return self._standard(kinds.canonical(name), arguments, scope, node)
            case Unresolved(reason=reason):
                raise Refusal("unresolved", f"{dotted}: {reason}")
            case Defined(module=module, qualname=qualname, node=definition):
                return self._defined(definition, module, qualname, arguments, scope)
            case never:
                assert_never(never)

    def _defined(
        self, definition: ast.stmt, module: str, qualname: str, arguments: tuple[ast.expr, ...], scope: Scope
    ) -> Type:
        with self.inside(f"{module}:{qualname}") as allowed:
            if not allowed:
                return NEVER
            if isinstance(definition, ast.ClassDef):
                return self._class(definition, module, qualname, arguments, scope)
            return self._alias(definition, module, qualname, arguments, scope)

    def _class(
        self, node: ast.ClassDef, module: str, qualname: str, arguments: tuple[ast.expr, ...], scope: Scope
    ) -> Type:
        values = [self.read(argument, scope) for argument in arguments]
        inner = Scope(module, _bind(class_variables(node), values), qualname)
        if not self.returns:
            return classes.read_class(self, node, qualname, inner)
        try:
            return classes.read_class(self, node, qualname, inner)
        except Refusal as refusal:
            if refusal.unsupported.reason == "too-large":
                raise
            return Type(kind="opaque", text=qualname, origin=f"{module}:{qualname}")

    def _alias(self, node: object, module: str, qualname: str, arguments: tuple[ast.expr, ...], scope: Scope) -> Type:
        own = Scope(module)
        match node:
            case ast.Assign(value=ast.Call() as call) | ast.AnnAssign(value=ast.Call() as call):
                return self._made_by_call(call, own, qualname)
            case ast.Assign(value=value):
                pass
            case ast.AnnAssign(value=ast.expr() as value):
                pass
            case ast.AST() if type(node).__name__ == "TypeAlias":  # `type X = …` (3.12)
                value = node.value  # type: ignore[attr-defined]
            case _:
                raise Refusal("unsupported-type", f"{qualname} is not a type")
        parameters = [parameter.name for parameter in getattr(node, "type_params", ())]
        if not parameters:
            parameters = [name for name in names_in(value) if self._is_variable(name, module)] if arguments else []
        values = [self.read(argument, scope) for argument in arguments]
        return self.read(value, replace(own, variables=_bind(parameters, values)))

    def _is_variable(self, name: str, module: str) -> bool:
        found = self.resolve(module, name)
        node = found.node if isinstance(found, Defined) else None
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            return False
        return self.canonical(node.value.func, module) == "typing.TypeVar"

    def canonical(self, node: ast.expr, module: str) -> str | None:
        """The canonical name of an external that an expression names, None where it names none."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        try:
            found = self.resolve(module, dotted_name(node))
        except Refusal:
            return None
        return kinds.canonical(found.name) if isinstance(found, External) else None

    def _made_by_call(self, call: ast.Call, scope: Scope, qualname: str) -> Type:
        """`T = TypeVar(…)`, `Id = NewType(…)`, and the functional forms of classes."""
        maker = self.canonical(call.func, scope.module)
        match maker:
            case "typing.NewType" if len(call.args) == 2:
                return self.read(call.args[1], scope)
            case "typing.TypeVar":
                return self._variable(call, scope)
            case "typing.NamedTuple" | "typing.TypedDict" | "enum.Enum" | "enum.IntEnum" | "enum.StrEnum":
                return classes.read_functional(self, maker, call, qualname, scope)
            case _:
                raise Refusal("unsupported-type", f"{qualname} = {ast.unparse(call)[:200]}")

    def _variable(self, call: ast.Call, scope: Scope) -> Type:
        """A type variable: its bound; the first of its constraints (all its uses must agree); else `any`."""
        for keyword in call.keywords:
            if keyword.arg == "bound":
                return self.read(keyword.value, scope)
        if len(call.args) > 1:
            return self.read(call.args[1], scope)
        return Type(kind="any", text="Any")

    def parameter_variables(self, node: ast.AST, scope: Scope) -> dict[str, Type]:
        """The type parameters of a PEP 695 function or class, by name."""
        found: dict[str, Type] = {}
        for parameter in getattr(node, "type_params", ()):
            bound = getattr(parameter, "bound", None)
            if isinstance(bound, ast.Tuple) and bound.elts:
                bound = bound.elts[0]
            if type(parameter).__name__ == "TypeVar":
                found[parameter.name] = self.read(bound, scope) if bound is not None else Type(kind="any", text="Any")
        return found

    def union(self, arms: list[ast.expr], scope: Scope, text: str) -> Type:
        """Flatten, drop repeated and uninhabited arms; one arm left is that arm."""
        found: list[Type] = []
        for arm in arms:
            read = self.read(arm, scope)
            for part in read.args if read.kind == "union" else (read,):
                if part.kind != "never" and part not in found:
                    found.append(part)
        return _union(found, text)

    def _standard(self, name: str, arguments: tuple[ast.expr, ...], scope: Scope, node: ast.expr) -> Type:
        text = text_of(node)
        if name in kinds.SIMPLE:
            return Type(kind=kinds.SIMPLE[name], text=text)
        if name in kinds.CONTAINERS:
            return self._container(kinds.CONTAINERS[name], arguments, scope, text)
        if name in kinds.WRAPPERS:
            if not arguments:
                raise Refusal("unsupported-type", f"{text} without a type")
            return self.read(arguments[0], scope)
        match name:
            case "numbers.Number":
                return Type(
                    kind="union", text=text, args=(Type(kind="int", text="int"), Type(kind="float", text="float"))
                )
            case "typing.Optional" if len(arguments) == 1:
                return self.union([arguments[0], ast.Constant(None)], scope, text)
            case "typing.Union" if arguments:
                return self.union(list(arguments), scope, text)
            case "typing.Literal" if arguments:
                return self._literal(arguments, scope, text)
            case "builtins.tuple":
                return self._tuple(arguments, scope, text)
            case "typing.Self" if scope.self_class is not None:
                return self._named(scope.self_class, (), replace(scope, variables={}), node)
            case "typing.IO":
                binary, textual = Type(kind="io.BytesIO", text="IO[bytes]"), Type(kind="io.StringIO", text="IO[str]")
                match [self.read(argument, scope).kind for argument in arguments]:
                    case ["bytes"]:
                        return replace(binary, text=text)
                    case ["any"] | []:
                        return Type(kind="union", text=text, args=(binary, textual))
                    case _:
                        return replace(textual, text=text)
            case _ if kinds.is_exception(name):
                return Type(kind="exception", text=text, values=(name.rpartition(".")[2],))
            case "builtins.type":
                return self._builtin_class(arguments, scope, text)
            case "collections.abc.Callable":
                return self._callable(arguments, scope, text)
        if self.returns and name.partition(".")[0] not in ("typing", "collections", "types", "io", "builtins"):
            return Type(kind="opaque", text=text)
        raise Refusal("unsupported-type", name)

    def _container(self, kind: str, arguments: tuple[ast.expr, ...], scope: Scope, text: str) -> Type:
        anything, key = Type(kind="any", text="Any"), Type(kind="hashable", text="Hashable")
        args = tuple(self.read(argument, scope) for argument in arguments)
        if kind in kinds.DICTS:
            if kind == "collections.Counter":
                args = (args[0] if args else key, Type(kind="int", text="int"))
            elif not args:
                args = (Type(kind="str", text="str"), anything)
            if len(args) != 2:
                raise Refusal("malformed", text)
            return Type(kind=kind, text=text, args=(self._hashable(args[0]), args[1]))
        if kind in ("set", "frozenset"):
            return Type(kind=kind, text=text, args=(self._hashable(args[0] if args else key),))
        if len(args) > 1 and kind != "generator":
            raise Refusal("malformed", text)
        return Type(kind=kind, text=text, args=(args[0] if args else anything,))

    def _hashable(self, found: Type) -> Type:
        """The same type as a set element or dict key; a Refusal where its values need not be hashable."""
        if self.returns:
            return found
        match found.kind:
            case "any":
                return Type(kind="hashable", text=found.text)
            case "tuple" | "vartuple" | "union" | "frozenset":
                return replace(found, args=tuple(self._hashable(arg) for arg in found.args))
            case "list" if "Sequence" in found.text or "Iterable" in found.text or "Collection" in found.text:
                return Type(kind="vartuple", text=found.text, args=(self._hashable(found.args[0]),))
            case "set" if not found.text.lower().startswith(("set", "typing.set")):
                return replace(found, kind="frozenset")
            case "namedtuple":
                return replace(found, fields=tuple(replace(f, type=self._hashable(f.type)) for f in found.fields))
            case "opaque" | "never":
                return found
            case kind if kind in kinds.HASHABLE:
                return found
        raise Refusal("unhashable", found.text)

    def _tuple(self, arguments: tuple[ast.expr, ...], scope: Scope, text: str) -> Type:
        if not arguments:
            return Type(kind="vartuple", text=text, args=(Type(kind="any", text="Any"),))
        if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple) and not arguments[0].elts:
            return Type(kind="tuple", text=text)
        if len(arguments) == 2 and isinstance(arguments[1], ast.Constant) and arguments[1].value is Ellipsis:
            return Type(kind="vartuple", text=text, args=(self.read(arguments[0], scope),))
        args = tuple(self.read(argument, scope) for argument in arguments)
        return NEVER if any(arg.kind == "never" for arg in args) else Type(kind="tuple", text=text, args=args)

    def _literal(self, arguments: tuple[ast.expr, ...], scope: Scope, text: str) -> Type:
        values: list[Any] = []
        arms: list[Type] = []
        for argument in arguments:
            match argument:
                case ast.Constant(value=None | bool() | int() | str() | bytes() as value):
                    if not any(value == other and type(value) is type(other) for other in values):
                        values.append(value)
                case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                    values.append(-value)
                case ast.Attribute(value=(ast.Name() | ast.Attribute()) as owner, attr=member):
                    arms.append(self._enum_member(owner, member, scope))
                case _:
                    read = self.read(argument, scope)
                    if read.kind != "literal":
                        raise Refusal("malformed", text)
                    values.extend(read.values)
        if values:
            arms.insert(0, Type(kind="literal", text=text, values=tuple(values)))
        return _union(arms, text)

    def _enum_member(self, owner: ast.expr, member: str, scope: Scope) -> Type:
        found = self.read(owner, scope)
        if found.kind != "enum" or member not in found.values:
            raise Refusal("unsupported-type", f"Literal[{ast.unparse(owner)}.{member}]")
        return replace(found, values=(member,), text=f"Literal[{found.text}.{member}]")

    def _builtin_class(self, arguments: tuple[ast.expr, ...], scope: Scope, text: str) -> Type:
        if not arguments:
            return Type(kind="builtin", text=text, values=kinds.BUILTIN_CLASSES)
        read = self.read(arguments[0], scope)
        arms = read.args if read.kind == "union" else (read,)
        names = tuple(arm.kind for arm in arms if arm.kind in (*kinds.BUILTINS, "list", "dict", "set", "frozenset"))
        if read.kind == "any":
            names = kinds.BUILTIN_CLASSES
        if not names or self.returns:
            raise Refusal("unsupported-type", text)
        return Type(kind="builtin", text=text, values=names)

    def _callable(self, arguments: tuple[ast.expr, ...], scope: Scope, text: str) -> Type:
        if self.returns:
            raise Refusal("unsupported-type", text)
        if not arguments:
            return Type(kind="builtin", text=text, values=kinds.CALLABLES[1])
        if len(arguments) != 2:
            raise Refusal("malformed", text)
        parameters, returns = arguments[0], self.read(arguments[1], scope)
        if not isinstance(parameters, ast.List):  # `...` or a ParamSpec: anything goes
            return Type(kind="builtin", text=text, values=kinds.CALLABLES[1])
        takes = tuple(self.read(parameter, scope).kind for parameter in parameters.elts)
        names = kinds.CALLABLES_BY_TYPE.get((takes, returns.kind))
        if names is None and returns.kind == "any" and set(takes) <= {"any"}:
            names = kinds.CALLABLES.get(len(takes))
        if names is None:
            raise Refusal("unsupported-type", text)
        return Type(kind="builtin", text=text, values=names)


def _union(arms: list[Type], text: str) -> Type:
    if not arms:
        return NEVER
    return arms[0] if len(arms) == 1 else Type(kind="union", text=text, args=tuple(arms))


def _union_arms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _union_arms(node.left)
        yield from _union_arms(node.right)
    else:
        yield node


def _bind(names: list[str], values: list[Type]) -> dict[str, Type]:
    return dict(zip(names, values, strict=False))
