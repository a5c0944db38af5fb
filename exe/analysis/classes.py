"""Classes of a package as types: enums, dataclasses, named tuples, typed dicts, and classes with an annotated constructor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from exe.analysis.project import Defined
from exe.analysis.reading import Refusal, Scope, TypeReader, class_variables, dotted_name
from exe.records import Field, Type

MAX_BASES = 30  # classes in one line of inheritance

_ENUMS = frozenset(("enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag", "enum.ReprEnum"))
_TRANSPARENT_BASES = frozenset(("builtins.object", "typing.Generic", "typing.Protocol", "abc.ABC"))
_TRANSPARENT_DECORATORS = frozenset(
    ("dataclasses.dataclass", "functools.total_ordering", "typing.final", "typing.runtime_checkable", "enum.unique")
)
_NO_MEMBER = frozenset(("enum.nonmember", "builtins.property", "builtins.staticmethod", "builtins.classmethod"))


@dataclass(frozen=True, slots=True)
class _Level:
    """One class of the line of inheritance, with the scope its annotations are read in."""

    node: ast.ClassDef
    scope: Scope


@dataclass(frozen=True, slots=True)
class _Line:
    """A class and what it inherits from: classes of the package, nearest first, and canonical external bases."""

    levels: tuple[_Level, ...]
    externals: tuple[str, ...]


def read_class(reader: TypeReader, node: ast.ClassDef, qualname: str, scope: Scope) -> Type:
    """The type of a class that the package defines. Raises Refusal where no value of it can be built."""
    line = _line(reader, node, scope)
    shell = Type(kind="object", text=qualname, origin=f"{scope.module}:{qualname}")
    if _ENUMS.intersection(line.externals):
        return replace(shell, kind="enum", values=_members(reader, line))
    if "typing.TypedDict" in line.externals:
        return _finish(replace(shell, kind="typeddict", fields=_typed_dict_fields(reader, line)))
    _check_plain(reader, line, qualname)
    if "typing.NamedTuple" in line.externals:
        return _finish(replace(shell, kind="namedtuple", fields=_annotated_fields(reader, line.levels[-1])))
    for level in line.levels:
        constructor = _method(level.node, "__init__")
        if constructor is not None:
            return _finish(replace(shell, fields=_constructor_fields(reader, constructor, level.scope)))
        if _dataclass_decorator(reader, level) is not None:
            return _finish(replace(shell, kind="dataclass", fields=_dataclass_fields(reader, line)))
    return shell


def read_functional(reader: TypeReader, maker: str, call: ast.Call, qualname: str, scope: Scope) -> Type:
    """`Colour = Enum("Colour", "RED BLUE")` and its like, by canonical name of what is called. Raises Refusal."""
    shell = Type(kind="object", text=qualname, origin=f"{scope.module}:{qualname}")
    body = call.args[1] if len(call.args) > 1 else None
    match maker, body:
        case "typing.NamedTuple", ast.List(elts=items) | ast.Tuple(elts=items):
            pairs = [item.elts for item in items if isinstance(item, ast.Tuple) and len(item.elts) == 2]
            if len(pairs) == len(items):
                fields = tuple(
                    Field(name=_constant_name(name), type=reader.read(annotation, scope)) for name, annotation in pairs
                )
                return _finish(replace(shell, kind="namedtuple", fields=fields))
        case "typing.TypedDict", ast.Dict(keys=keys, values=values):
            total = _flag(call.keywords, "total", default=True)
            fields = tuple(
                _typed_dict_field(reader, _constant_name(key), value, scope, total)
                for key, value in zip(keys, values, strict=True)
            )
            return _finish(replace(shell, kind="typeddict", fields=fields))
        case "enum.Enum" | "enum.IntEnum" | "enum.StrEnum", ast.Constant(value=str() as names):
            return replace(shell, kind="enum", values=tuple(names.replace(",", " ").split()))
        case "enum.Enum" | "enum.IntEnum" | "enum.StrEnum", ast.List(elts=items) | ast.Tuple(elts=items):
            firsts = [item.elts[0] if isinstance(item, ast.Tuple) and item.elts else item for item in items]
            return replace(shell, kind="enum", values=tuple(_constant_name(first) for first in firsts))
        case "enum.Enum" | "enum.IntEnum" | "enum.StrEnum", ast.Dict(keys=keys):
            return replace(shell, kind="enum", values=tuple(_constant_name(key) for key in keys))
    raise Refusal("unsupported-type", f"{qualname} = {ast.unparse(call)[:200]}")


def _line(reader: TypeReader, node: ast.ClassDef, scope: Scope) -> _Line:
    levels: list[_Level] = []
    externals: list[str] = []

    def visit(node: ast.ClassDef, scope: Scope) -> None:
        if len(levels) >= MAX_BASES:
            raise Refusal("too-large", f"{node.name} has more than {MAX_BASES} base classes")
        if any(level.node is node for level in levels):
            return
        levels.append(_Level(node, scope))
        for base in node.bases:
            target = base.value if isinstance(base, ast.Subscript) else base
            external = reader.canonical(target, scope.module)
            if external is not None:
                externals.append(external)
                continue
            found = reader.resolve(scope.module, dotted_name(target))
            if not (isinstance(found, Defined) and isinstance(found.node, ast.ClassDef)):
                raise Refusal("unresolved", f"{ast.unparse(base)}, a base of {node.name}")
            variables = _base_variables(reader, base, found.node, scope)
            visit(found.node, Scope(found.module, variables, found.qualname))

    visit(node, scope)
    return _Line(tuple(levels), tuple(externals))


def _base_variables(reader: TypeReader, base: ast.expr, definition: ast.ClassDef, scope: Scope) -> dict[str, Type]:
    if not isinstance(base, ast.Subscript):
        return {}
    arguments = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
    values = [reader.read(argument, scope) for argument in arguments]
    return dict(zip(class_variables(definition), values, strict=False))


def _check_plain(reader: TypeReader, line: _Line, qualname: str) -> None:
    """Refuse what may run other code than a plain constructor, or cannot be instantiated."""
    for external in line.externals:
        known = external in _TRANSPARENT_BASES or external == "typing.NamedTuple"
        if not known and not re.fullmatch(r"builtins\.\w*(Error|Exception|Warning)", external):
            raise Refusal("unsupported-type", f"{qualname} derives from {external}")
    own = line.levels[0]
    if any(_is(reader, base, own.scope, "typing.Protocol") for base in own.node.bases):
        raise Refusal("unsupported-type", f"{qualname} is a protocol")
    concrete: set[str] = set()
    for level in line.levels:
        for keyword in level.node.keywords:
            if keyword.arg == "metaclass" and not _is(reader, keyword.value, level.scope, "abc.ABCMeta"):
                raise Refusal("unsupported-type", f"{qualname} has a metaclass")
        if _method(level.node, "__new__") is not None:
            raise Refusal("unsupported-type", f"{qualname} defines __new__")
        for decorator in level.node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if reader.canonical(called, level.scope.module) not in _TRANSPARENT_DECORATORS:
                raise Refusal("unsupported-type", f"{qualname} is decorated with {ast.unparse(decorator)[:100]}")
        for statement in level.node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name not in concrete:
                if any(_is_abstract(reader, mark, level.scope) for mark in statement.decorator_list):
                    raise Refusal("unsupported-type", f"{qualname} is abstract: {statement.name}")
                concrete.add(statement.name)


def _is(reader: TypeReader, node: ast.expr, scope: Scope, name: str) -> bool:
    target = node.value if isinstance(node, ast.Subscript) else node
    return reader.canonical(target, scope.module) == name


def _is_abstract(reader: TypeReader, decorator: ast.expr, scope: Scope) -> bool:
    return (reader.canonical(decorator, scope.module) or "").startswith("abc.abstract")


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    found = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == name]
    return found[-1] if found else None


def _members(reader: TypeReader, line: _Line) -> tuple[str, ...]:
    """Names of enum members in order of definition; underscored names, methods and descriptors are none."""
    names: list[str] = []
    for level in reversed(line.levels):
        for statement in level.node.body:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    called = value.func if isinstance(value, ast.Call) else None
                    if isinstance(value, ast.Lambda):
                        continue
                    if called is not None and reader.canonical(called, level.scope.module) in _NO_MEMBER:
                        continue
                    names += [name for target in targets for name in _target_names(target)]
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                    names.append(name)
    members = tuple(dict.fromkeys(name for name in names if not name.startswith("_")))
    if not members:
        raise Refusal("unsupported-type", f"{line.levels[0].node.name} is an enum without members")
    return members


def _target_names(target: ast.expr) -> list[str]:
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return [name for item in items for name in _target_names(item)]
        case _:
            return []


def _typed_dict_fields(reader: TypeReader, line: _Line) -> tuple[Field, ...]:
    fields: dict[str, Field] = {}
    for level in reversed(line.levels):
        total = _flag(level.node.keywords, "total", default=True)
        for name, annotation, _ in _annotations(level.node):
            fields[name] = _typed_dict_field(reader, name, annotation, level.scope, total)
    return tuple(fields.values())


def _typed_dict_field(reader: TypeReader, name: str, annotation: ast.expr, scope: Scope, total: bool) -> Field:
    required = total
    if isinstance(annotation, ast.Subscript):
        match reader.canonical(annotation.value, scope.module):
            case "typing.NotRequired":
                required = False
            case "typing.Required":
                required = True
    return Field(name=name, type=reader.read(annotation, scope), required=required)


def _annotated_fields(reader: TypeReader, level: _Level) -> tuple[Field, ...]:
    return tuple(
        Field(name=name, type=reader.read(annotation, level.scope), required=default is None)
        for name, annotation, default in _annotations(level.node)
    )


def _annotations(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.annotation, statement.value


def _dataclass_decorator(reader: TypeReader, level: _Level) -> list[ast.keyword] | None:
    """Keywords of the dataclass decorator, None where there is none."""
    for decorator in level.node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if reader.canonical(called, level.scope.module) == "dataclasses.dataclass":
            return decorator.keywords if isinstance(decorator, ast.Call) else []
    return None


def _dataclass_fields(reader: TypeReader, line: _Line) -> tuple[Field, ...]:
    """Constructor parameters of a dataclass, base classes first, a redefined field in its first place."""
    fields: dict[str, Field | None] = {}
    for level in reversed(line.levels):
        keywords = _dataclass_decorator(reader, level)
        if keywords is None:
            continue
        if not _flag(keywords, "init", default=True):
            raise Refusal("unsupported-type", f"{level.node.name} is a dataclass without a constructor")
        for name, annotation, default in _annotations(level.node):
            inner = annotation
            if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
                inner = _parsed(annotation.value, annotation)
            target = inner.value if isinstance(inner, ast.Subscript) else inner
            mark = reader.canonical(target, level.scope.module)
            if mark in ("typing.ClassVar", "dataclasses.KW_ONLY"):
                continue
            if mark == "dataclasses.InitVar" and isinstance(inner, ast.Subscript):
                inner = inner.slice
            fields[name] = _dataclass_field(reader, name, inner, default, level.scope)
    return tuple(field for field in fields.values() if field is not None)


def _parsed(text: str, fallback: ast.expr) -> ast.expr:
    try:
        return ast.parse(text.strip()[:2_000], mode="eval").body
    except (SyntaxError, ValueError):
        return fallback


def _dataclass_field(
    reader: TypeReader, name: str, annotation: ast.expr, default: ast.expr | None, scope: Scope
) -> Field | None:
    required = default is None
    if isinstance(default, ast.Call) and reader.canonical(default.func, scope.module) == "dataclasses.field":
        if not _flag(default.keywords, "init", default=True):
            return None
        required = not any(keyword.arg in ("default", "default_factory") for keyword in default.keywords)
    return _field(reader, name, annotation, required, scope)


def _field(reader: TypeReader, name: str, annotation: ast.expr | None, required: bool, scope: Scope) -> Field | None:
    """A constructor parameter; one that has a default and no type that we can make is left to its default."""
    try:
        if annotation is None:
            raise Refusal("unannotated", name)
        return Field(name=name, type=reader.read(annotation, scope), required=required)
    except Refusal as refusal:
        if required or refusal.unsupported.reason == "too-large":
            raise
        return None


def _constructor_fields(reader: TypeReader, node: ast.FunctionDef, scope: Scope) -> tuple[Field, ...]:
    """Parameters of `__init__` that can be given by keyword; `*args` and `**kwargs` are left empty."""
    arguments = node.args
    if node.decorator_list:
        raise Refusal("unsupported-type", f"decorated constructor, line {node.lineno}")
    if len(arguments.posonlyargs) > 1:
        raise Refusal("unsupported-type", f"constructor with positional-only parameters, line {node.lineno}")
    positional = [*arguments.posonlyargs, *arguments.args]
    optional = len(arguments.defaults)
    fields = [
        _field(reader, argument.arg, argument.annotation, index < len(positional) - optional, scope)
        for index, argument in enumerate(positional)
        if index > 0
    ]
    fields += [
        _field(reader, argument.arg, argument.annotation, default is None, scope)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return tuple(field for field in fields if field is not None)


def _finish(found: Type) -> Type:
    """Drop optional fields that no value fits (a recursive type's inner end); `never` where a required one is such."""
    if any(field.required and field.type.kind == "never" for field in found.fields):
        return Type(kind="never", text=found.text)
    return replace(found, fields=tuple(field for field in found.fields if field.type.kind != "never"))


def _flag(keywords: list[ast.keyword], name: str, *, default: bool) -> bool:
    for keyword in keywords:
        if keyword.arg == name:
            match keyword.value:
                case ast.Constant(value=bool() as flag):
                    return flag
                case _:
                    raise Refusal("unsupported-type", f"{name}={ast.unparse(keyword.value)}")
    return default


def _constant_name(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str() as name):
            return name
        case _:
            raise Refusal("malformed", "a name that is no plain string")
