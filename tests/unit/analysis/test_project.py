"""Reading packages: encodings, files that cannot be read, and what names stand for."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from exe.analysis import Defined, External, Unresolved, functions, read_project
from exe.analysis.text import MAX_BYTES
from exe.records import Package
from exe.screen import purity
from tests.inlining import inlined, loaded, outcome, write_package
from tests.support.shared import find


def package_of_bytes(root: Path, **files: bytes) -> Package:
    for name, data in files.items():
        (root / f"{name}.py").write_bytes(data)
    paths = tuple(sorted(f"{name}.py" for name in files))
    return Package(name="sample", version="1", spec="path:sample", root=str(root), files=paths)


@pytest.mark.parametrize(
    "data",
    [
        "# coding: latin-1\ndef f() -> str:\n    return 'ç'\n".encode("latin-1"),
        b"\xef\xbb\xbf" + "def f() -> str:\n    return 'ç'\n".encode(),
        "def f() -> str:\r\n    return 'ç'\r\n".encode(),
        "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\ndef f() -> str:\n    return 'ç'\n".encode("cp1252"),
    ],
    ids=["latin-1", "bom", "crlf", "cp1252"],
)
def test_encodings(data: bytes, tmp_path: Path) -> None:
    project = read_project(package_of_bytes(tmp_path, one=data))
    assert [function.qualname for function in functions(project)] == ["f"]
    with loaded(inlined(project, "one:f").source) as namespace:
        assert outcome("f()", namespace) == ("value", "ç")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'print "x"\ndef f(x):\n    return x\n', "unparsable"),
        (b"\xff\xfe\x00", "undecodable"),
        (b"# coding: nonsense\nx = 1\n", "undecodable"),
        (b"x = 1\x00", "unparsable"),
        (b"x = 1\n" * (MAX_BYTES // 6 + 1), "too-large"),
        (b"x = " + b"(" * 5000 + b")" * 5000 + b"\n", "unparsable"),
        (b"x = " + b"-" * 30000 + b"1\n", "too-deep"),
    ],
)
def test_a_bad_file_is_a_rejection_and_stops_nothing(data: bytes, reason: str, tmp_path: Path) -> None:
    project = read_project(package_of_bytes(tmp_path, bad=data, good=b"def f() -> int:\n    return 1\n"))
    assert [(rejection.subject, rejection.reason) for rejection in project.rejections] == [("sample:bad", reason)]
    assert [function.qualname for function in functions(project)] == ["f"]
    assert list(project.modules) == ["good"]


@pytest.mark.parametrize("terms", [900, 2500, 20000])
def test_long_sums_do_not_crash(terms: int, tmp_path: Path) -> None:
    text = "def f(x: int) -> int:\n    return " + "+".join(["x"] * terms) + "\n"
    project = read_project(package_of_bytes(tmp_path, one=text.encode()))
    if project.rejections:
        assert [rejection.reason for rejection in project.rejections] == ["too-deep"]
        assert terms > 900
    else:
        assert "x+x" in inlined(project, "one:f").source


def test_files_that_no_import_reaches(tmp_path: Path) -> None:
    package = write_package(tmp_path, {"some-script.py": "def f(): pass\n", "one.py": "def g(): pass\n"})
    project = read_project(package)
    assert [rejection.reason for rejection in project.rejections] == ["not-importable"]


FILES = {
    "pk/__init__.py": "from .core import Thing as Public, helper\nfrom . import tools\n__all__ = ['Public']\n",
    "pk/core.py": """
import typing as t
import collections.abc
from typing import Optional as Opt
from decimal import Decimal
from nowhere import Gone
class Thing:
    class Inner: pass
    size = 1
def helper(): pass
Alias = t.Union[int, str]
if len('x'):
    Late = 1
else:
    Late = 2
""",
    "pk/tools.py": "from pk import *\nfrom .deep import *\nimport pk.core as core\nimport typing_extensions as te\n",
    "pk/deep.py": "__all__ = ['shown']\n__all__ += ['also']\nshown = hidden = 1\nclass also: pass\n",
    "pk/lazy.py": "from pk.lazy2 import name\n",
    "pk/lazy2.py": "from pk.lazy import name\n",
}


@pytest.mark.parametrize(
    ("module", "dotted", "expected"),
    [
        ("pk", "Public", "pk.core:Thing"),
        ("pk", "Public.Inner", "pk.core:Thing.Inner"),
        ("pk", "core.helper", "pk.core:helper"),
        ("pk.tools", "Public", "pk.core:Thing"),
        ("pk.tools", "shown", "pk.deep:shown"),
        ("pk.tools", "also", "pk.deep:also"),
        ("pk.tools", "core.Alias", "pk.core:Alias"),
        ("pk.core", "Late", "pk.core:Late"),
        ("pk.core", "Opt", External("typing.Optional")),
        ("pk.core", "t.List", External("typing.List")),
        ("pk.core", "collections.abc.Mapping", External("collections.abc.Mapping")),
        ("pk.tools", "core.Decimal", External("decimal.Decimal")),
        ("pk.core", "int", External("builtins.int")),
        ("pk.core", "Gone", External("nowhere.Gone", stdlib=False)),
        ("pk.tools", "te.Literal", External("typing_extensions.Literal", stdlib=False)),
    ],
)
def test_resolve(module: str, dotted: str, expected: str | External, tmp_path: Path) -> None:
    found = read_project(write_package(tmp_path, FILES)).resolve(module, dotted)
    if isinstance(found, Defined):
        assert f"{found.module}:{found.qualname}" == expected
        assert isinstance(found.node, ast.stmt)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("module", "dotted"),
    [("pk", "hidden"), ("pk.tools", "hidden"), ("pk.core", "Thing.absent"), ("pk", "tools"), ("pk.lazy", "name")],
)
def test_unresolved(module: str, dotted: str, tmp_path: Path) -> None:
    assert isinstance(read_project(write_package(tmp_path, FILES)).resolve(module, dotted), Unresolved)


def test_environment_is_read_when_reached_only(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    other = write_package(
        tmp_path / "env", {"lib/__init__.py": "def g(n): return n + 1\n", "lib/rest.py": "(\n"}, "lib"
    )
    own = write_package(tmp_path, {"one.py": "from lib import g\ndef f(n: int) -> int:\n    return g(n)\n"})
    package = Package(name=own.name, version="1", spec=own.spec, root=own.root, files=("one.py",), environment=(other,))
    project = read_project(package)
    with loaded(inlined(project, "one:f").source) as namespace:
        assert outcome("f(1)", namespace) == ("value", 2)
    assert list(project.modules) == ["one"]
    assert project.rejections == ()
    assert isinstance(project.resolve("one", "g"), Defined)


def test_functions_in_order(tmp_path: Path) -> None:
    text = "def b(): pass\nclass A:\n    def m(self): pass\n    @staticmethod\n    def s(): pass\nif 1:\n    async def a(): pass\ndef b(): pass\n"
    project = read_project(write_package(tmp_path, {"z.py": text, "a.py": "def q(): pass\n"}))
    found = [(function.module.name, function.qualname) for function in functions(project)]
    assert found == [("a", "q"), ("z", "A.m"), ("z", "A.s"), ("z", "a"), ("z", "b")]


def fault_rows() -> list[dict[str, object]]:
    path = find("fault_cases.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path else []
    return [row for row in rows if row["stage"] == "inline"]


@pytest.mark.parametrize("row", fault_rows() or [None], ids=lambda row: row["id"] if row else "no shared data")
def test_shared_fault_cases(row: dict[str, dict[str, object]] | None, tmp_path: Path) -> None:
    if row is None:
        pytest.skip("the shared fault cases are not on this machine (EXE_SHARED_DATA)")
    files = row["input"]["files"]
    assert isinstance(files, dict)
    project = read_project(write_package(tmp_path, files))
    target = str(row["input"]["target"])
    if "dynamic-import" in str(row["id"]):
        program = inlined(project, target)  # of the standard library, so it does the same there; then the screen speaks
        assert purity(program.source, program.entry) is not None
        return
    with loaded(inlined(project, target).source) as namespace:
        found = outcome(str(row["input"]["call"]), namespace)
    expected = row["expected"]
    if "repr" in expected:
        assert repr(found[1]) == expected["repr"]
    else:
        assert found == ("error", expected["exception"], expected["message"])
