"""Unstable text: addresses and temporary paths are found, look-alikes are left alone."""

from __future__ import annotations

import tempfile
import threading
from typing import Any

import pytest

from exe.values import unstable_text


class Thing:
    def method(self) -> None: ...


def local() -> object:
    class Inner: ...

    return Inner()


UNSTABLE: list[Any] = [
    repr(Thing()),
    f"bad {Thing()}!",
    repr(lambda: 1),
    repr(Thing.method),
    repr(Thing().method),
    repr(Thing().__init__),
    repr(threading.Lock()),
    repr(x for x in ()),
    repr([].append),
    repr(local()),
    repr([iter([])]),
    "<Conn 0x7f00deadbeef closed>",
    tempfile.mkdtemp.__name__ and "/tmp/tmpab12_x9z/file.txt",
    "/var/folders/zz/abcdef0123/T/tmpabcdefgh",
    "/proc/1234/fd",
]
STABLE: list[Any] = [
    "value at 0x10",
    "0x7f00deadbeef",
    "at 0x7f00deadbeef",
    "<at 0x10>",
    "x < 5 at 0x7fffffff >",
    "<b>at</b> 0x7f00deadbeef",
    "<class 'int'>",
    "/tmp/data.txt",
    "/tmp/tmpfiles.d/x",
    "my/tmp/tmpabcdefgh",
    "<Foo at 0x12>",
    "",
]


@pytest.mark.parametrize("text", UNSTABLE)
def test_unstable(text: str) -> None:
    for tree in (text, [1, [text]], {"a": {"b": text}}, {text: 1}):
        found = unstable_text(tree)
        assert found is not None
        assert found == unstable_text(tree)
        assert not any(part in found for part in ("0x7", "0x5", "tmpab", "1234"))


@pytest.mark.parametrize("text", STABLE)
def test_stable(text: str) -> None:
    assert unstable_text([text, {text: text}, 1, None, 1.5]) is None


def test_deep_trees() -> None:
    tree: Any = "<A object at 0x7f00deadbeef>"
    for _ in range(50_000):
        tree = [tree]
    assert unstable_text(tree) == "address: <A object at …"
    while type(tree) is list:
        tree = tree.pop()


def test_long_hostile_text_is_quick() -> None:
    assert unstable_text("<a " * 200_000 + "0x") is None
    assert unstable_text("/tmp/a" * 100_000 + "0x") is None
