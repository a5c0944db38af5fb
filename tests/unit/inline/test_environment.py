"""Programs over several packages: the locked environment decides what is there, and what of it may be inlined."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from exe.analysis import Project, read_project
from exe.records import Package, Rejection
from exe.sources import Options
from exe.sources.installed import installed_environment
from tests.inlining import imported, inlined, loaded, outcome, refused, write_package

LICENSE = Rejection(subject="lib", stage="scrape", reason="license", detail="GPL-3.0-only is not permissive")


def project_of(folder: Path, own: Mapping[str, str], **dependencies: Mapping[str, str]) -> Project:
    """A package with its environment, each in a folder of its own."""
    locked = tuple(write_package(folder / name, files, name) for name, files in dependencies.items())
    return read_project(replace(write_package(folder / "own", own), environment=locked))


def barred(project: Project, why: Rejection, *compiled: str) -> Project:
    """The same with its one dependency barred."""
    (locked,) = project.package.environment
    return read_project(replace(project.package, environment=(replace(locked, barred=why, compiled=compiled),)))


def same(project: Project, target: str, *calls: str) -> str:
    """The program for a function, once it did on all calls what the packages do when they are imported."""
    result = inlined(project, target)
    with ExitStack() as stack:
        for one in project.package.environment:
            stack.enter_context(imported(Path(one.root), next(iter(one.files)).partition("/")[0].removesuffix(".py")))
        namespace = stack.enter_context(imported(Path(project.package.root), target.partition(":")[0]))
        expected = [outcome(call, namespace) for call in calls]
    with loaded(result.source) as namespace:
        assert [outcome(call, namespace) for call in calls] == expected, result.source
    return result.source


LIB = {
    "lib/__init__.py": "from .core import Error, helper\nfrom . import core as inner\n",
    "lib/core.py": (
        "LIMIT = 3\nTABLE = {}\nclass Error(ValueError):\n    pass\n"
        "def helper(n):\n    if n > LIMIT:\n        raise Error(f'{n} is over {LIMIT}')\n    return TABLE.get(n, n)\n"
        "TABLE[1] = 'one'\n"
    ),
    "lib/unrelated.py": "(\n",
}
OWN = {
    "own.py": (
        "import lib.core\nfrom lib import Error, helper as ask\nLIMIT = 100\n"
        "def run(n):\n    try:\n        return ask(n), lib.core.LIMIT, LIMIT\n    except Error as e:\n        return repr(e)\n"
        "def lazy(n):\n    from lib.core import helper\n    return helper(n)\n"
        "class Box:\n    def plain(self, n):\n        return n + 1\n    def other(self, n):\n        return ask(n)\n"
    )
}


@pytest.mark.parametrize("target", ["run", "lazy"])
def test_code_of_a_dependency_is_inlined(target: str, tmp_path: Path) -> None:
    same(project_of(tmp_path, OWN, lib=LIB), f"own:{target}", f"{target}(1)", f"{target}(2)", f"{target}(7)")


def test_provenance_tells_a_dependency_apart(tmp_path: Path) -> None:
    result = inlined(project_of(tmp_path, OWN, lib=LIB), "own:run")

    assert result.provenance["run"] == "own:run"
    assert result.provenance["helper"] == "lib/lib.core:helper"
    assert sorted(value for value in result.provenance.values() if value.endswith(":LIMIT")) == [
        "lib/lib.core:LIMIT",
        "own:LIMIT",
    ]
    assert result.names["lib.core:helper"] == "helper"


def test_a_dependency_that_only_stands_beside_is_left_out(tmp_path: Path) -> None:
    project = project_of(tmp_path, OWN, lib=LIB)
    result = inlined(project, "own:Box.plain")

    assert set(result.provenance.values()) == {"own:Box"}
    assert "def helper" in inlined(project, "own:Box.other").source


TRYING = {
    "own.py": (
        "try:\n    import lib\nexcept ImportError:\n    lib = None\n"
        "try:\n    from other import thing\nexcept ImportError:\n    thing = None\n"
        "def run(n):\n    return lib is None, thing is None\n"
        "def lazy(n):\n    try:\n        import lib\n    except ImportError:\n        return 'none'\n    return lib.helper(n)\n"
        "def harmless(n):\n    return n if n else lib\n"
        "def absent(n):\n    import other\n    return other.thing\n"
    )
}


def test_the_lock_decides_what_can_be_imported(tmp_path: Path) -> None:
    with_lib = project_of(tmp_path / "with", TRYING, lib=LIB)
    without = project_of(tmp_path / "without", TRYING)

    for project in (with_lib, without):
        same(project, "own:lazy", "lazy(1)")
        same(project, "own:absent", "absent(1)")
    with loaded(inlined(without, "own:run").source) as namespace:
        assert outcome("run(1)", namespace) == ("value", ["tuple", True, True])
    with loaded(inlined(with_lib, "own:lazy").source) as namespace:
        assert outcome("lazy(1)", namespace) == ("value", "one")


def test_a_licence_keeps_code_out_not_the_import(tmp_path: Path) -> None:
    project = barred(
        project_of(tmp_path, {"own.py": OWN["own.py"] + TRYING["own.py"].replace("run", "two")}, lib=LIB), LICENSE
    )

    for name in ("run", "two"):
        assert refused(project, f"own:{name}").reason == "dependency-license"
    assert inlined(project, "own:Box.plain").entry == "Box.plain"


@pytest.mark.parametrize("target", ["lazy", "run"])
def test_an_import_that_is_tried_of_what_is_barred_is_never_taken_to_fail(target: str, tmp_path: Path) -> None:
    project = barred(project_of(tmp_path, TRYING, lib=LIB), LICENSE)
    rejection = refused(project, f"own:{target}")
    assert rejection.reason == "dependency-license"
    assert "lib" in rejection.detail


def test_what_is_compiled(tmp_path: Path) -> None:
    unread = Rejection(subject="lib", stage="scrape", reason="no-python-files", detail="")
    project = barred(project_of(tmp_path, TRYING, lib={}), unread, "lib.cpython-311-x86_64-linux-gnu.so")

    assert refused(project, "own:lazy").reason == "dependency-unreadable"
    assert project.absent("lib") is False
    assert project.absent("other") is True


FAST = {
    "lib/__init__.py": (
        "try:\n    from ._fast import helper\nexcept ImportError:\n    from ._slow import helper\n"
        "from ._native import only\n"
    ),
    "lib/_slow.py": "def helper(n):\n    return n + 1\n",
}


def test_an_accelerated_dependency(tmp_path: Path) -> None:
    own = {
        "own.py": (
            "try:\n    import lib\nexcept ImportError:\n    lib = None\n"
            "def pure(n):\n    return lib.helper(n)\ndef native(n):\n    return lib.only(n)\n"
            "try:\n    from lib import _native\nexcept ImportError:\n    _native = None\n"
            "def direct(n):\n    return _native\n"
        )
    }
    project = project_of(tmp_path, own, lib=FAST)
    compiled = ("lib/_fast.cpython-311-x86_64-linux-gnu.so", "lib/_native.abi3.so")
    project = read_project(
        replace(project.package, environment=(replace(project.package.environment[0], compiled=compiled),))
    )

    with loaded(inlined(project, "own:pure").source) as namespace:
        assert outcome("pure(1)", namespace) == ("value", 2)
    assert refused(project, "own:native").reason == "dependency-unreadable"
    assert refused(project, "own:direct").reason == "dependency-unreadable"


def test_a_circle_of_two_packages(tmp_path: Path) -> None:
    own = {
        "own/__init__.py": "BASE = 2\nfrom lib import plus\n",
        "own/core.py": "from own import plus\ndef run(n):\n    return plus(n)\n",
    }
    lib = {"lib.py": "import own\ndef plus(n):\n    return n + own.BASE\n"}
    project = project_of(tmp_path, own, lib=lib)
    result = inlined(project, "own.core:run")
    with loaded(result.source) as namespace:
        assert outcome("run(1)", namespace) == ("value", 3)
    assert result.provenance["BASE"] == "own:BASE"
    assert result.provenance["plus"] == "lib/lib:plus"


def test_types_of_a_dependency_are_bound(tmp_path: Path) -> None:
    project = project_of(
        tmp_path, {"own.py": "import lib\ndef run(e: lib.Error) -> str:\n    return str(e)\n"}, lib=LIB
    )
    result = inlined(project, "own:run", origins=("lib.core:Error",))
    assert result.names["lib.core:Error"] == "Error"


def test_a_package_alone_names_its_package(tmp_path: Path) -> None:
    project = project_of(tmp_path, OWN, lib=LIB)
    assert isinstance(project.package, Package)
    assert project.alone.find("own") is project.find("own")  # read once
    assert project.alone.find("lib") is None
    assert project.alone.why_missing("lib.core") == "dependency-needed"


def test_a_dependency_of_two_packages_is_read_once(tmp_path: Path) -> None:
    first, second = (project_of(tmp_path / name, OWN, lib=LIB).package for name in ("one", "two"))
    locked = replace(first.environment[0], sha256="0" * 64)
    one, two = (read_project(replace(own, environment=(locked,))) for own in (first, second))

    assert one.find("lib.core") is two.find("lib.core")
    assert one.find("own") is not two.find("own")
    changed = read_project(replace(second, environment=(replace(locked, sha256="1" * 64),)))
    assert changed.find("lib.core") is not one.find("lib.core")
    assert inlined(one, "own:run").source == inlined(two, "own:run").source


BACKPORTS = {
    "own.py": (
        "from typing_extensions import Literal, NamedTuple, Protocol, override, runtime_checkable\n"
        "import typing_extensions as te\n"
        "class Pair(NamedTuple):\n    a: int\n    b: Literal[1, 2] = 1\n"
        "@runtime_checkable\nclass Sized(Protocol):\n    def size(self) -> int: ...\n"
        "class Box:\n    @override\n    def size(self) -> int:\n        return 1\n"
        "def pair(n):\n    return Pair(n), te.get_origin(te.Literal[1]) is Literal\n"
        "def sized(n):\n    return isinstance(Box(), Sized), isinstance(n, Sized)\n"
    )
}


@pytest.mark.parametrize("target", ["pair", "sized"])
def test_typing_extensions_is_inlined_as_any_dependency(target: str, tmp_path: Path) -> None:
    pytest.importorskip("typing_extensions")
    locked, _ = installed_environment("own", ("typing_extensions",), Options())
    own = replace(write_package(tmp_path, BACKPORTS), environment=locked)
    result = inlined(read_project(own), f"own:{target}")

    assert "typing-extensions/typing_extensions:Protocol" in result.provenance.values() or target == "pair"
    with imported(tmp_path, "own") as namespace:
        expected = outcome(f"{target}(3)", namespace)
    with loaded(result.source) as namespace:
        assert outcome(f"{target}(3)", namespace) == expected
