"""Where the next objects will lie: close together, so that a child which makes some writes to few pages.

The first write of a forked process to a page copies it, whatever was free on it. By the time a worker is warm, its
allocators hold thousands of free places, strewn over all that they ever had: objects made now would be strewn as well.
`plug` takes those places for good. What comes next is cut from pages that lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_POOL = 1 << 14  # bytes that CPython's allocator cuts into places of one size
_LARGEST = 512  # bytes of a place of that allocator; what is larger comes from the C library
_STEP = 16
_HEAD = b"".__sizeof__()  # of an object of bytes
_LARGE = (1 << 16, 1 << 15, 1 << 14, 1 << 13, 1 << 12, 3072, 2048, 1536, 1024, 896, 768, 640, 544)
_IN_A_ROW = 4  # blocks of the C library, one behind the other, by which its unbroken end is known
_MOST = 20_000  # places of one size that are tried

_kept: list[list[Any]] = []


def plug() -> None:
    """Keep an object in each free place that lies between others."""
    _plug(object, _STEP)
    _plug(lambda: float("0.5"), 2 * _STEP)
    for size in range(3 * _STEP, _LARGEST + 1, _STEP):
        _plug(_bytes(size), size)
    for size in _LARGE:
        _plug(_bytes(size), size, slack=64, enough=_IN_A_ROW)


def _bytes(size: int) -> Callable[[], bytes]:
    """Makes objects that take `size` bytes in all."""
    return lambda: bytes(size - _HEAD)


def _plug(make: Callable[[], Any], size: int, slack: int = 0, enough: int | None = None) -> None:
    """Make objects until many in a row lie one behind the other; keep all but those.

    `enough` of them are a sign of fresh memory, half a pool by default. Blocks of the C library are `slack` longer.
    """
    wanted = enough or min(_POOL // size // 2, 300)
    held: list[Any] = []
    row = last = 0
    while row < wanted and len(held) < _MOST:
        item = make()
        row = row + 1 if size <= id(item) - last <= size + slack else 0
        last = id(item)
        held.append(item)
    del held[len(held) - row - 1 :]
    _kept.append(held)
