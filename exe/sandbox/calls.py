"""A call's text taken apart, so that its arguments stay at hand while it is evaluated. Used on both sides."""

from __future__ import annotations

import ast
import warnings

LONGEST = 20_000  # characters of a call that the host takes apart; a longer one is left to the sandbox


def split(call: str) -> str | None:
    """The text of an expression whose value is `(f, (a,), {"b": c})` for the call `f(a, b=c)`, in Python's own order.

    None for every other expression, for calls with `*` or `**`, and for what is no Python.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the call's author, who is not here to see them
            body = ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    if not isinstance(body, ast.Call) or any(isinstance(argument, ast.Starred) for argument in body.args):
        return None
    names = [keyword.arg for keyword in body.keywords]
    if None in names or len(set(names)) != len(names):
        return None
    cut = _Cutter(call)
    positional = "".join(f"({cut(argument)}), " for argument in body.args)
    keywords = ", ".join(f"{keyword.arg!r}: ({cut(keyword.value)})" for keyword in body.keywords)
    return f"(({cut(body.func)}), ({positional}), {{{keywords}}})"


class _Cutter:
    """Cuts the text of a node out of the source that it was read from: positions count bytes of a line."""

    def __init__(self, source: str) -> None:
        self._bytes = source.encode()
        self._lines = [0]
        for index, byte in enumerate(self._bytes if "\n" in source or "\r" in source else b""):
            if byte == 10 or (byte == 13 and self._bytes[index + 1 : index + 2] != b"\n"):
                self._lines.append(index + 1)

    def __call__(self, node: ast.expr) -> str:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._lines[node.lineno - 1] + node.col_offset
        return self._bytes[start : self._lines[node.end_lineno - 1] + node.end_col_offset].decode()
