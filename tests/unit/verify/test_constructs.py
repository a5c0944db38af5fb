"""What an inlined program had to get right."""

from __future__ import annotations

from pathlib import Path

import pytest

from exe.analysis import read_project
from exe.records import Origin, Package, Program
from exe.verify.constructs import CONSTRUCTS, components, constructs

ORIGIN = Origin(package="demo", version="1", module="demo.core", qualname="f", path="demo/core.py", line=1)


def program(source: str, provenance: dict[str, str] | None = None, entry: str = "f") -> Program:
    return Program(
        id="0",
        entry=entry,
        source=source,
        parameters={},
        returns="int",
        origin=ORIGIN,
        provenance={"f": "demo.core:f"} if provenance is None else provenance,
    )


TWO = {"f": "demo.core:f", "A": "demo.core:A"}


@pytest.mark.parametrize(
    ("source", "provenance", "has", "lacks"),
    [
        ("def f(): return 1", None, {"single-definition"}, {"several-modules", "renamed", "method"}),
        ("", {"f": "a:f", "g": "b:g"}, {"several-modules", "several-packages"}, {"single-definition"}),
        ("", {"f": "a.x:f", "g": "a.y:g"}, {"several-modules"}, {"several-packages"}),
        ("", {"f_2": "a:f"}, {"renamed"}, set()),
        ("class A:\n def __init__(self): super().__init__()", TWO, {"super"}, {"metaclass", "inheritance"}),
        ("class M(type): ...\nclass A(metaclass=M): ...", {**TWO, "M": "demo.core:M"}, {"metaclass"}, set()),
        ("import abc\nclass A(metaclass=abc.ABCMeta): ...", TWO, {"abstract"}, {"metaclass"}),
        ("class B: ...\nclass A(B): ...", {**TWO, "B": "demo.core:B"}, {"inheritance"}, {"builtin-subclass"}),
        ("class A(str): ...", TWO, {"builtin-subclass"}, {"inheritance"}),
        ("A = {}\nA['x'] = 1", TWO, {"registry"}, set()),
        ("A = {}\nA.update(x=1)", TWO, {"registry"}, set()),
        ("@A.register\ndef _(x): ...", TWO, {"registry"}, {"decorator"}),
        ("A = {}\nprint(A)", TWO, set(), {"registry"}),
        ("@A\ndef f(): ...", TWO, {"decorator"}, set()),
        ("import functools\n@functools.lru_cache(None)\ndef f(): ...", None, {"cache"}, {"decorator"}),
        ("from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A: ...", TWO, {"dataclass"}, set()),
        ("def f():\n def g(): yield 1\n return g", None, {"closure", "generator"}, {"lazy-import"}),
        ("def f():\n import json", None, {"lazy-import"}, {"closure"}),
        ("try:\n import x\nexcept ImportError:\n x = None", None, {"conditional"}, set()),
        ("class A:\n __slots__ = ()\n @property\n def p(self): ...", TWO, {"slots", "property"}, set()),
    ],
)
def test_constructs_of_a_program(
    source: str, provenance: dict[str, str] | None, has: set[str], lacks: set[str]
) -> None:
    found = set(constructs(program(source, provenance)))
    assert has <= found
    assert not lacks & found
    assert found <= set(CONSTRUCTS)


def test_a_method_is_an_entry_with_a_dot() -> None:
    assert "method" in constructs(program("class A: ...", TWO, entry="A.m"))


def test_cycles_and_lazy_imports_show_in_the_original_only(tmp_path: Path) -> None:
    files = {
        "demo/__init__.py": "",
        "demo/core.py": "from . import other\ndef f():\n    from demo.late import x\n    return x\n",
        "demo/other.py": "from .core import f\n",
        "demo/late.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .core import f\nx = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    package = Package(name="demo", version="1", spec="path:demo", root=str(tmp_path), files=tuple(sorted(files)))
    project = read_project(package)
    plain = program("x = 1\ndef f(): return x", {"f": "demo.core:f", "x": "demo.late:x"})
    assert {"import-cycle", "lazy-import"} <= set(constructs(plain, project))
    assert not {"import-cycle", "lazy-import"} & set(constructs(plain))
    assert "import-cycle" not in constructs(program("x = 1", {"x": "demo.late:x"}), project)


@pytest.mark.parametrize(
    ("graph", "cyclic"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, set()),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, {"b", "c"}),
        ({"a": {"a"}}, {"a"}),
    ],
)
def test_components(graph: dict[str, set[str]], cyclic: set[str]) -> None:
    assert components(graph) == cyclic
