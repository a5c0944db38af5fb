"""Statements that make classes, at once or when they are called."""

from __future__ import annotations

import ast

import pytest

from exe.inline.making import Made, Making, making, together


def of(source: str, names: dict[str, str] | None = None) -> Making:
    """What one statement does; `names` are dotted names of what a text names."""
    (node,) = ast.parse(source).body
    known = {id(one): names[ast.unparse(one)] for one in ast.walk(node) if names and _text(one) in names}
    return making(node, known)


def _text(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def now(*sources: str) -> bool:
    """Whether the first statement may make a class as it runs, with the others in the program."""
    parts = [of(source) for source in sources]
    return together(parts).now(parts[0])


@pytest.mark.parametrize(
    "sources",
    [
        ("class A: pass",),
        ("if x:\n    class A: pass",),
        ("P = namedtuple('P', 'x')",),
        ("P = typing.NewType('P', int)",),
        ("P = type('P', (), {})",),
        ("x = make()", "def make():\n    class A: pass\n    return A"),
        ("x = make()", "def make(name):\n    return namedtuple(name, 'x')"),
        ("x = make()", "MAKERS = [1, namedtuple]"),
        ("x = make()", "kind = type"),
        ("x = Meta('x', ())", "class Meta(type): pass"),
        ("x = Base('x', 'a b')", "class Base(Enum):\n    def f(self): pass"),
        ("x = make()", "class Meta(ABCMeta): pass", "def make(): return Meta('x', ())"),
        ("@register\ndef f(): pass", "def register(f):\n    class A: pass\n    return f"),
    ],
)
def test_may_make_a_class(sources: tuple[str, ...]) -> None:
    assert now(*sources)


@pytest.mark.parametrize(
    "sources",
    [
        ("x = make()",),
        ("x = make(1, 2)", "def make(a, b): return type(a)"),
        ("def f():\n    class A: pass",),
        ("x = make()", "class A(Enum):\n    B = 1"),
        ("x = make()", "def make(x): return isinstance(x, Enum)"),
        ("x = make()", "def make(x: TypeVar) -> NewType: return x"),
        ("x = make(1)", "class Meta(type): pass"),
        ("@register\ndef f(): pass", "def register(f): return f"),
    ],
)
def test_makes_none(sources: tuple[str, ...]) -> None:
    assert not now(*sources)


def test_things_of_libraries_go_by_their_own_name() -> None:
    assert of("P = nt('P', 'x')", {"nt": "collections.namedtuple"}).now
    assert not of("P = namedtuple('P', 'x')", {"namedtuple": "own.thing"}).now
    maker = of("def make():\n    class A: pass")
    assert not together([maker]).now(of("x = re.compile('a')", {"re.compile": "re.compile"}))
    assert together([maker]).now(of("x = reduce(make, [])", {"reduce": "functools.reduce"}))
    assert together([maker]) == Made(later=True, metaclass=False)
