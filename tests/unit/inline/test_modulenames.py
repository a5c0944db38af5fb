"""Where the module of a class can show, and where it cannot."""

from __future__ import annotations

import ast

import pytest

from exe.inline.modulenames import asks_functions, looks_up, module_tests, reads_module, shows_module, tells


def shows(source: str) -> bool:
    return shows_module(list(ast.walk(ast.parse(source))), source, ())


def asked_in(source: str) -> set[str | None]:
    return set(module_tests(list(ast.walk(ast.parse(source))), source))


def reads(source: str) -> bool:
    return reads_module(list(ast.walk(ast.parse(source))), source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return f'{type(x)}'",
        "def f(hint): return f'{hint}'",
        "def f(hint: type): return f'{hint}'",
        "def f(x):\n    hint = x.hint\n    return f'{hint}'",
        "def f(x):\n    hint = 'a'\n    for hint in x: pass\n    return f'{hint}'",
        "def f(x):\n    value = type(x)\n    return str(value)",
    ],
)
def test_a_class_becomes_text(source: str) -> None:
    assert shows(source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return f'{type(x).__name__}'",
        "def f(hint: str): return f'{hint}'",
        "def f(x):\n    hint = ''\n    if x: hint = _('{0}').format(x)\n    return f'{hint}'",
        "def f(value, type):\n    value = type(value)\n    return str(value)",
    ],
)
def test_none_does(source: str) -> None:
    assert not shows(source)


def test_functions_that_say_they_return_text_give_text() -> None:
    source = "def f(x):\n    hint = joined(x)\n    return f'{hint}'"
    nodes = list(ast.walk(ast.parse(source)))
    makers = {id(node) for node in nodes if isinstance(node, ast.Name) and node.id == "joined"}
    assert shows_module(nodes, source, ())
    assert not shows_module(nodes, source, (), makers)


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("def f(x): return x.__module__", {None}),
        ("def f(x): return getattr(x, '__module__')", {None}),
        ("class A:\n    here = __module__", {None}),
        ("class A:\n    __module__ = 'pk'", set()),
        ("def f(x, y): x.__module__ = y.__module__", set()),
        ("def f(x): return x.__class__.__module__.startswith('ab')", {"ab"}),
        ("def f(x): return x.__module__ == 'ab' or x.__module__ in ('c', 'd')", {"ab", "c", "d"}),
        ("def f(x, y): return x.__module__ == y.__module__", {None}),
        ("def f(x): return f'{x.__module__}'", {None}),
    ],
)
def test_what_is_asked_of_the_name_of_a_module(source: str, asked: set[str | None]) -> None:
    assert asked_in(source) == asked


def test_functions_are_asked_where_it_is_no_class() -> None:
    assert reads("def f(x): return x.__module__")
    assert reads("NAMES = ('__module__', '__doc__')")
    assert not reads("def f(x): return x.__class__.__module__")
    assert not reads("def f(x): return type(x).__module__")
    assert not reads("def f(x, y): x.__module__ = y.__module__")


def test_the_library_by_dotted_names() -> None:
    assert tells("inspect.getmodule")
    assert tells("pprint.pformat")
    assert not tells("inspect.isclass")
    assert looks_up("inspect.getsource")
    assert looks_up("inspect")
    assert not looks_up("inspect.getmembers")
    assert looks_up("sys.modules.get")
    assert looks_up("sys")
    assert not looks_up("sys.platform")
    assert asks_functions("pickle.dumps")
    assert not asks_functions("dataclasses.dataclass")
