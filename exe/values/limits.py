"""How large a value may be, and the error for a value that has no form."""

from __future__ import annotations

from typing import NamedTuple

MAX_DIGITS = 200_000
"""Decimal digits of the largest integer that is written or read (about 664,000 bits)."""


class Limits(NamedTuple):
    """Bounds on one value. What lies beyond raises `Unrepresentable` (encoding) or `LiteralError` (reading)."""

    depth: int = 200  # containers inside containers
    nodes: int = 200_000  # values in the tree, every repetition of a shared one counted
    characters: int = 4_000_000  # of all strings and bytes together
    digits: int = MAX_DIGITS  # of one integer
    drain: int = 10_000  # items taken from one iterator


DEFAULT_LIMITS = Limits()


class Unrepresentable(Exception):
    """A value that has no JSON form.

    `reason` is one of: cyclic, deep, large, endless (an iterator longer than the bound), callable, class, module,
    exception, coroutine, tzinfo (a time zone that only the program's own code knows), opaque (state that Python code
    cannot see, such as a lock or a file). `detail` names the type, never an address.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
