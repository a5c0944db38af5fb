"""Rules on functions: each drops its own example and keeps its other one; tables for the finer points."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from exe.analysis import functions, read_project
from exe.analysis.modules import FunctionNode
from exe.records import Package
from exe.screen import RULES, Place, Rule, why_not, why_not_function

HERE = Place(package="pkg", path="pkg/a.py")


def last_function(source: str) -> tuple[FunctionNode, ast.ClassDef | None]:
    node = ast.parse(source).body[-1]
    owner = None
    if isinstance(node, ast.ClassDef):
        owner = node
        node = node.body[-1]
    assert isinstance(node, FunctionNode)
    return node, owner


def judged(source: str) -> tuple[str, str] | None:
    """What is said of the last function; a first line `# package, path` says where it stands."""
    place = HERE
    if source.startswith("# "):
        package, path = source.splitlines()[0].removeprefix("# ").split(", ")
        place = Place(package=package, path=path)
    node, owner = last_function(source)
    return why_not(node, owner, place)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_by_its_examples(rule: Rule) -> None:
    dropped = judged(rule.drops)

    assert dropped is not None
    assert dropped[0] == rule.name
    assert judged(rule.keeps) is None
    assert rule.why


def test_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))


KEPT = [
    "def f(x: int) -> int:\n    return g(x)",
    "def _f(x: int) -> int:\n    return x + 1",
    "def __f(x: int) -> int:\n    return x + 1",
    "def f(*args: int) -> int:\n    return sum(args)",
    "def f(**kwargs: int) -> int:\n    return len(kwargs)",
    "def f(*, x: int) -> int:\n    return -x",
    "def f(x: int) -> 'int':\n    return -x",
    "def f(x: int) -> 'None | int':\n    return x or None",
    "def f(x: int):\n    return -x",
    "def f(x: int) -> str:\n    return f'{x}'",
    "def f(x: int) -> int:\n    if x:\n        raise NotImplementedError\n    return 1",
    "class C:\n    @staticmethod\n    def f(x: int) -> int:\n        return -x",
    "class C:\n    def __eq__(self, other: object) -> bool:\n        return self.a == other",
    "class C:\n    def f(self) -> str:\n        return self.a",
]

DROPPED = [
    ("def f(x: int) -> None: ...", "no-result"),
    ("def f(x: int) -> 'None':\n    g(x)", "no-result"),
    ("def f(x: int) -> typing.NoReturn:\n    raise E(x)", "no-result"),
    ("def f() -> int:\n    return g()", "no-parameters"),
    ("class C:\n    @staticmethod\n    def f() -> int:\n        return g()", "no-parameters"),
    ("def f(x: int) -> int: ...", "trivial"),
    ("def f(x: int) -> int:\n    '''Only this.'''", "trivial"),
    ("def f(x: int) -> int:\n    '''Doc.'''\n    return x", "trivial"),
    ("def f(x: int) -> int:\n    raise NotImplementedError('later')", "trivial"),
    ("def f(x: int) -> int:\n    raise NotImplementedError", "trivial"),
    ("def f(x: int) -> dict[str, int]:\n    return {'a': -1, 'b': 2}", "trivial"),
    ("class C:\n    def f(self) -> 'C':\n        return self", "trivial"),
    ("class C:\n    @x.setter\n    def x(self, v: int) -> int:\n        return g(v)", "property"),
    ("class C:\n    @functools.cached_property\n    def x(self) -> int:\n        return g(self)", "property"),
    ("class C(typing.Protocol):\n    def f(self, x: int) -> int:\n        return g(x)", "interface"),
    ("@app.command('run')\ndef f(x: int) -> int:\n    return g(x)", "wrapped"),
    ("def __getattr__(name: str) -> int:\n    return g(name)", "hook"),
    ("class C:\n    def __init_subclass__(cls, x: int) -> int:\n        return g(x)", "hook"),
    ("# types-idna, a.pyi\ndef f(x: int) -> int:\n    return g(x)", "blocked-package"),
]


@pytest.mark.parametrize("source", KEPT)
def test_kept(source: str) -> None:
    assert judged(source) is None


@pytest.mark.parametrize(("source", "reason"), DROPPED)
def test_dropped(source: str, reason: str) -> None:
    found = judged(source)

    assert found is not None
    assert found[0] == reason


def test_a_deep_literal_does_not_recurse() -> None:
    assert judged("def f(x: int) -> int:\n    return " + "+".join(["x"] * 1500)) is None


def test_functions_as_the_analysis_enumerates_them(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "class C:\n    def __init__(self, x):\n        self.x = x\n\ndef f(x: int) -> int:\n    return -x\n"
    )
    package = Package(name="stripe", version="1", spec="path:x", root=str(tmp_path), files=("a.py",))
    plain = Package(name="pkg", version="1", spec="path:x", root=str(tmp_path), files=("a.py",))

    reasons = {found.qualname: why_not_function(found) for found in functions(read_project(plain))}

    assert reasons == {"C.__init__": ("hook", "__init__"), "f": None}
    assert all((why_not_function(found) or ("",))[0] == "blocked-package" for found in functions(read_project(package)))
