"""Signatures as candidates: how a call names the function, every kind of parameter, and why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from exe.analysis.project import functions
from exe.analysis.signatures import candidate
from exe.records import Candidate, Rejection
from tests.unit.analysis.packages import package, read

SOURCE = '''
from __future__ import annotations
import enum, functools

class Mode(enum.Enum):
    A = 1

    def label(self, upper: bool = False) -> str: ...

class Part:
    def __init__(self, mode: Mode) -> None: ...

class C:
    def __init__(self, part: Part) -> None: ...

    def method(self, x: int) -> str:
        """Says."""

    @classmethod
    def of(cls, x: int) -> C: ...

    @staticmethod
    def plain(x: int) -> str: ...

    @property
    def size(self) -> int: ...

    def nothing() -> int: ...

    def untyped_self(this, x) -> int: ...

class Abstract:
    def __init__(self, anything) -> None: ...
    def method(self, x: int) -> str: ...

def f(a: int, /, b: str = "x" + "y", *c: float, d: bool, e: None | int = None, **g: Mode) -> str: ...

def unannotated(x, y: int) -> str: ...
def no_return(x: int): ...
def unsupported(x: int, y: C | memoryview) -> str: ...
def starred(*args) -> str: ...
'''


def test_every_kind_of_parameter(tmp_path: Path) -> None:
    found = read(tmp_path, SOURCE, "f")
    assert isinstance(found, Candidate)
    assert [(p.name, p.kind, p.type.text, p.default) for p in found.parameters] == [
        ("a", "positional", "int", None),
        ("b", "normal", "str", "'x' + 'y'"),
        ("c", "args", "float", None),
        ("d", "keyword", "bool", None),
        ("e", "keyword", "None | int", "None"),
        ("g", "kwargs", "Mode", None),
    ]
    assert (found.module, found.path, found.how, found.origins) == ("demo", "demo.py", "function", ("demo:Mode",))
    assert SOURCE.splitlines()[found.line - 1].startswith("def f(")


@pytest.mark.parametrize(
    ("name", "how"), [("C.method", "method"), ("C.of", "class"), ("C.plain", "static"), ("f", "function")]
)
def test_how_a_call_names_it(tmp_path: Path, name: str, how: str) -> None:
    found = read(tmp_path, SOURCE, name)
    assert isinstance(found, Candidate)
    assert found.how == how
    assert (found.self_type is not None) == (how == "method")
    assert "self" not in [p.name for p in found.parameters]


def test_an_instance_needs_its_classes(tmp_path: Path) -> None:
    found = read(tmp_path, SOURCE, "C.method")
    assert isinstance(found, Candidate)
    assert found.self_type is not None
    assert (found.self_type.kind, [f.name for f in found.self_type.fields]) == ("object", ["part"])
    assert found.origins == ("demo:C", "demo:Mode", "demo:Part")
    assert found.docstring == "Says."


def test_an_enum_method_is_called_on_a_member(tmp_path: Path) -> None:
    found = read(tmp_path, SOURCE, "Mode.label")
    assert isinstance(found, Candidate)
    assert found.self_type is not None
    assert (found.self_type.kind, found.self_type.values) == ("enum", ("A",))


REJECTED = [
    ("unannotated", "unannotated", "x"),
    ("no_return", "unannotated", "return"),
    ("starred", "unannotated", "args"),
    ("unsupported", "unsupported-type", "y: builtins.memoryview"),
    ("C.size", "not-callable", "a property, not a method"),
    ("C.nothing", "not-callable", "a method without"),
    ("C.untyped_self", "unannotated", "x"),
    ("Abstract.method", "unannotated", "self: anything"),
]


@pytest.mark.parametrize(("name", "reason", "detail"), REJECTED)
def test_rejected(tmp_path: Path, name: str, reason: str, detail: str) -> None:
    found = read(tmp_path, SOURCE, name)
    assert isinstance(found, Rejection)
    assert (found.subject, found.stage, found.reason) == (f"demo:demo:{name}", "screen", reason)
    assert found.detail.startswith(detail)


def test_structural_rules_come_first(tmp_path: Path) -> None:
    project, made = package(tmp_path, {"demo.py": SOURCE})
    for function in functions(project):
        found = candidate(project, function, made, why_not=lambda one: ("too-short", one.qualname))
        assert isinstance(found, Rejection)
        assert (found.reason, found.detail) == ("too-short", function.qualname)


CHECKED = {
    "pkg/__init__.py": "",
    "pkg/kinds.py": "import enum\nclass Kind(enum.Enum):\n    A = 1\n    B = 2\n",
    "pkg/use.py": """
        from __future__ import annotations
        import typing
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from collections.abc import Sequence
            import pkg.kinds
            from . import kinds as k
            from .kinds import *
            from typing_extensions import Self
            Alias = Sequence[Kind]
        if not typing.TYPE_CHECKING:
            Hidden = 3
        else:
            from elsewhere import Thing
            class Shape(typing.TypedDict):
                a: int
        class C:
            def __init__(self, x: Sequence[int]) -> None: ...
            def same(self, other: Self) -> str: ...
        def names(a: Kind, b: k.Kind, c: pkg.kinds.Kind, d: Alias, e: Shape) -> str: ...
        def foreign(a: Thing) -> str: ...
        def missing(a: k.Nothing) -> str: ...
        """,
}


def test_names_that_only_a_type_checker_imports(tmp_path: Path) -> None:
    project, made = package(tmp_path, CHECKED)
    found = {one.qualname: candidate(project, one, made) for one in functions(project)}
    names, same, foreign, missing = (found[name] for name in ("names", "C.same", "foreign", "missing"))
    assert isinstance(names, Candidate), names
    assert [p.type.kind for p in names.parameters] == ["enum", "enum", "enum", "list", "typeddict"]
    assert names.origins == ("pkg.kinds:Kind",)
    assert isinstance(same, Candidate), same
    assert same.parameters[0].type.kind == "object"
    assert isinstance(foreign, Rejection)
    assert (foreign.reason, foreign.detail) == ("unsupported-type", "a: elsewhere.Thing")
    assert isinstance(missing, Rejection)
    assert missing.reason == "unresolved"
