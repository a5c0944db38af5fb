"""Traps: where they stand in the armed copy, when they spring, and that the copy does what the program does elsewhere."""

from __future__ import annotations

import ast
import sys

import pytest

from exe.records import Job
from exe.sandbox.host import Sandbox
from exe.screen import Suspect, Untrappable, armed
from exe.screen.traps import EVENT

CALL = "__import__('sys').audit('trap.time')"

SPRUNG = [
    # (body of g, argument for which the trap springs, argument for which it does not)
    ("if a:\n        return time.time()\n    return 1", 1, 0),
    ("if a: return time.time()\n    return 1", 1, None),
    ("if not a:\n        return 2\n    elif time.time():\n        return 1\n    return 3", 1, None),
    ("if not a:\n        return 2\n    elif a > 0:\n        return time.time()\n    return 3", 1, 0),
    ("if not a: return 2\n    x = [time.time()\n         for _ in range(a)]; return x", 1, 0),
    ("while a and time.time(): a -= 1\n    return 3", 1, None),
    ("for _ in range(a):\n        time.time()\n    return 3", 1, 0),
    ("try:\n        return 1 // a\n    except ZeroDivisionError:\n        return time.time()", 0, 1),
    ("try:\n        pass\n    finally:\n        a and a.x(); b = 1; time.time() if a else 0", 0, None),
    ("with [] if a else time.time():\n        pass", 0, None),
    ("match a:\n        case 1:\n            return time.time()\n        case _:\n            return 5", 1, 0),
    ("def inner():\n        return time.time()\n    return inner() if a else 4", 1, 0),
    ("@(lambda f: f) if a else time.time\n    def inner(): ...\n    return 4", 1, None),
    ("class Inner:\n        if a:\n            at = time.time()\n    return 4", 1, 0),
    ("return (lambda: time.time())() if a else 4", 1, None),
    ("'docstring'\n    return g.__doc__ if not a else time.time()", 1, None),
    ("s = 'é'; return time.time() if a else s", 1, None),
    ("yield a\n    if a:\n        yield time.time()", 1, 0),
    ("nonlocal_ = a\n    global K\n    K = a or time.time()\n    return K", 0, None),
]


def program(body: str) -> str:
    return f"import time\n\n\ndef g(a):\n    {body}\n\n\ndef f(a: int):\n    return g(a)\n"


@pytest.fixture(scope="module")
def run() -> object:
    with Sandbox() as sandbox:
        yield lambda source, *calls: next(iter(sandbox.execute([Job(source=source, calls=calls)])))


@pytest.mark.parametrize(("body", "springs", "free"), SPRUNG)
def test_a_trap_springs_where_the_use_is_come_to(body: str, springs: int, free: int | None, run) -> None:  # type: ignore[no-untyped-def]
    source = program(body)
    text = armed(source, "f")
    assert text.count(CALL) == 1
    ast.parse(text)
    (found,) = run(text, f"f({springs})")
    assert (found.status, found.detail) == ("impure", "trap.time")
    if free is not None:
        (plain,), (copy,) = run(source, f"f({free})"), run(text, f"f({free})")
        assert copy.status == "value"
        assert (copy.plain, copy.typed) == (plain.plain, plain.typed)


def test_a_program_with_nothing_suspect_is_left_as_it_is() -> None:
    source = "def f(a):\n    return a + 1\n"
    assert armed(source, "f") == source
    unreached = "import time\ndef g():\n    return time.time()\ndef f(a):\n    return a\n"
    assert armed(unreached, "f") == unreached


def suspect(piece: str, name: str = "", first: int = 1, last: int = 99) -> Suspect:
    return Suspect(reason="dynamic-import", first=first, last=last, piece=piece, name=name)


CLASSES = """
class A:
    def m(self, a):
        'says what it does'
        if a:
            return exec('1')
        return A.m.__doc__


class B_2:
    async def m(self): return exec('1')


def f(a):
    return A().m(a)
"""


def lines(text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if EVENT in line]


def test_suspects_are_found_by_their_name_in_their_piece() -> None:
    assert lines(armed(CLASSES, "f", [suspect("A.m", "exec")])) == [6]
    assert lines(armed(CLASSES, "f", [suspect("A.m", "elsewhere")])) == [
        5,
        7,
    ]  # behind the docstring, and what the screen finds
    assert lines(armed(CLASSES, "f", [suspect("A.m")])) == [5, 7]
    assert lines(armed(CLASSES, "f", [suspect("B.m", "exec", 10, 12)])) == [6, 11]  # a class that was renamed
    assert lines(armed("if 1:\n    def g():\n        pass\n", "f", [suspect("g")])) == [3]


@pytest.mark.parametrize("one", [suspect("A.other"), suspect("C.m", "exec", 14, 15), suspect("g", "x", 90, 99)])
def test_what_cannot_be_found_cannot_be_trapped(one: Suspect) -> None:
    with pytest.raises(Untrappable):
        armed(CLASSES, "f", [one])


def test_a_default_is_no_part_of_the_body() -> None:
    source = "import time\n\n\ndef g(a=time.time()):\n    return a\n\n\ndef f(a):\n    return g()\n"
    try:
        text = armed(source, "f")
    except Untrappable:
        return
    assert text == source  # then the screen says it


def test_several_reasons_at_one_place_and_the_entry_is_left_to_the_screen() -> None:
    source = "import time, random\ndef g(a):\n    return time.time() + random.random()\ndef f(a):\n    time.time()\n    return g(a)\n"
    text = armed(source, "f")
    assert lines(text) == [3]
    assert "trap.randomness" in text
    assert "trap.time" in text


def test_no_exception_handler_hides_a_trap(run) -> None:  # type: ignore[no-untyped-def]
    source = "import time\ndef g():\n    return time.time()\ndef f(a):\n    try:\n        g()\n    except BaseException:\n        return 'hidden'\n"
    (found,) = run(armed(source, "f"), "f(1)")
    assert found.status == "impure"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are read from Python 3.12 on")
def test_type_parameters() -> None:
    source = program("type T = time.time() if a else int\n    return 1")
    assert lines(armed(source, "f")) == [5]
