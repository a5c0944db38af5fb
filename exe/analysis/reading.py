"""What every reader of annotations shares: scopes, refusals, limits, dotted names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from exe.analysis.project import Defined, External, Unresolved
from exe.records import Type

MAX_NODES = 400  # types read for one annotation, nested ones included
MAX_DEPTH = 24  # annotations inside one another
MAX_STRING = 2_000  # characters of a string annotation
RECURSION = 2  # how often a class or an alias may occur inside itself

Resolve = Callable[[str, str], Defined | External | Unresolved]
"""(module, dotted name as written there) → what it stands for: `Project.resolve`."""

NEVER = Type(kind="never", text="Never")


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Why an annotation is no Type here.

    `reason` is one of unannotated, unresolved, unsupported-type, unhashable, recursive, too-large, malformed.
    """

    reason: str
    detail: str = ""


class Refusal(Exception):
    """Carries an Unsupported up through the reader; never leaves `exe.analysis`."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.unsupported = Unsupported(reason, detail)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an annotation stands: its module, the type variables bound there, and the class that `Self` means."""

    module: str
    variables: Mapping[str, Type] = field(default_factory=dict)
    self_class: str | None = None  # dotted name within `module`


class TypeReader(Protocol):
    """What the class readers need of the annotation reader."""

    returns: bool
    resolve: Resolve

    def read(self, node: ast.expr, scope: Scope) -> Type:
        """Read one annotation. Raises Refusal."""

    def canonical(self, node: ast.expr, module: str) -> str | None:
        """The canonical name of the external that an expression names, None where it names none."""


def class_variables(node: ast.ClassDef) -> list[str]:
    """Names of a class's type parameters, from `class C[T]` or from a base `Generic[T]` / `Protocol[T]`."""
    names = [parameter.name for parameter in getattr(node, "type_params", ())]
    for base in node.bases:
        if isinstance(base, ast.Subscript) and isinstance(base.value, ast.Name | ast.Attribute):
            last = base.value.attr if isinstance(base.value, ast.Attribute) else base.value.id
            if last in ("Generic", "Protocol"):
                names += names_in(base.slice)
    return names


def dotted_name(node: ast.expr) -> str:
    """`a.b.C` of a name or an attribute chain. Raises Refusal for any other expression."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted_name(value)}.{attr}"
        case _:
            raise Refusal("malformed", ast.unparse(node)[:200])


@lru_cache(maxsize=4096)
def text_of(node: ast.expr) -> str:
    """An annotation as text; many functions lead to the same one."""
    return ast.unparse(node)


@lru_cache(maxsize=4096)
def parse_annotation(text: str) -> ast.expr:
    """The expression in a string annotation. Raises Refusal where it is none."""
    if len(text) > MAX_STRING:
        raise Refusal("too-large", f"string annotation of {len(text)} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise Refusal("malformed", f"{text[:200]!r}: {type(error).__name__}") from error


def names_in(node: ast.expr) -> list[str]:
    """Plain names in an expression in the order of writing, each once."""
    found = [(inner.lineno, inner.col_offset, inner.id) for inner in ast.walk(node) if isinstance(inner, ast.Name)]
    return list(dict.fromkeys(name for _, _, name in sorted(found)))
