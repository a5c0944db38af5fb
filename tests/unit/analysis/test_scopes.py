"""Our own scopes against the interpreter's symbol tables."""

from __future__ import annotations

import ast
import symtable
from pathlib import Path

import pytest

from exe.analysis.scopes import Reading, names_of

TEXTS = [
    "def f(a, b=d, *c, e: ann = g, **h) -> ret:\n    x = a\n    return x, y, [z for z in b if z is w]\n",
    "class A(B, metaclass=M):\n    x = y\n    def m(self):\n        return x, __class__, super().m()\n",
    "def f():\n    global g, h\n    g = 1\n    def inner():\n        nonlocal_ = h\n        return nonlocal_\n    return inner\n",
    "def f():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n    return inner\n",
    "def f(xs):\n    return [(y := g(x)) for x in xs], y\n",
    "def f():\n    try:\n        pass\n    except E as e:\n        return e\n    with c() as (a, *b):\n        return a, b\n",
    "def f(x):\n    match x:\n        case {'k': v, **rest}: return v, rest\n        case P(a=q) | [q]: return q\n        case z: return z\n",
    "f = lambda a, b=c: (a, d, [e for e in b])\n",
    "def f():\n    import a.b, c as d\n    from e import g as h\n    return a, d, h, c\n",
    "def f():\n    x: T = 1\n    y: U\n    return x\n",
    "async def f():\n    async for i in a():\n        yield {j: k async for j, k in i if l}\n",
    "def f():\n    for i in r:\n        del i\n    return f'{i} {j:{k}} {m!r}'\n",
    "class A:\n    def f(self):\n        return __secret, self.__other\n    __secret = 1\n",
    "@deco(x)\nclass A:\n    y: T = z\n    w = [y for _ in z]\n",
]


def expected(text: str) -> set[str]:
    """Names that some scope takes from the module, by the interpreter, annotations left out."""
    found: set[str] = set()
    top = symtable.symtable("from __future__ import annotations\n" + text, "text", "exec")
    stack = [top]
    while stack:
        table = stack.pop()
        stack.extend(table.get_children())
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (table is top or symbol.is_global()):
                found.add(symbol.get_name())
    return found - {"annotations"}


@pytest.mark.parametrize("text", TEXTS)
def test_global_reads(text: str) -> None:
    uses = names_of(ast.parse(text).body[0]).uses
    plain = [use for use in uses if use.reading is Reading.NONE and isinstance(use.node.ctx, ast.Load)]
    ambiguous = {use.name for use in plain if use.ambiguous}  # the interpreter decides these when they run
    assert {use.name for use in plain if use.home is None} == expected(text) - ambiguous


@pytest.mark.parametrize(
    ("text", "outside", "ambiguous"),
    [
        ("class A:\n    x = y, z\n    y = 1\n    z = z\n", {"y", "z"}, set()),
        ("class A:\n    for i in y:\n        x = z\n        z = i\n", {"y"}, {"z"}),
        ("def f():\n    class A:\n        x = z\n        z = 1\n", set(), {"z"}),
        ("class A:\n    z = 1\n    x = z\n", set(), set()),
    ],
)
def test_names_read_before_a_class_binds_them(text: str, outside: set[str], ambiguous: set[str]) -> None:
    uses = [use for use in names_of(ast.parse(text).body[0]).uses if use.context == "load"]
    assert {use.name for use in uses if use.home is None} == outside
    assert {use.name for use in uses if use.ambiguous} == ambiguous


def test_against_our_own_code() -> None:
    for path in sorted((Path(__file__).parents[3] / "exe").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = ast.unparse(node)
                uses = names_of(ast.parse(text).body[0]).uses
                plain = [use for use in uses if use.home is None and use.reading is Reading.NONE]
                reads = {use.name for use in plain if isinstance(use.node.ctx, ast.Load)}
                assert reads == expected(text) - {use.name for use in uses if use.ambiguous}, (path, text[:200])


def test_deferred_and_called() -> None:
    uses = names_of(ast.parse("@a\ndef f(x=b()):\n    return c(d)\n").body[0]).uses
    flags = {use.name: (use.deferred, use.called) for use in uses}
    assert flags == {"a": (False, True), "b": (False, True), "c": (True, True), "d": (True, False)}


def test_attribute_chains() -> None:
    (use,) = names_of(ast.parse("a.b.c = 1\n").body[0]).uses
    assert [attribute.attr for attribute in use.attributes] == ["b", "c"]
    assert use.context == "store"
