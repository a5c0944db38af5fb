"""The order of addresses, changed: what a program allocates next lies upwards, downwards or anyhow in memory.

CPython serves small objects from pools, one size a pool, and each pool's free blocks, last freed first. So blocks of all
sizes are taken and given back in the order wanted; a few stay, or the pools would be made anew. Free lists of lists,
dicts, tuples and floats, and the C library's of larger blocks, are treated the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ENOUGH = 32 << 10  # bytes of each size, two pools: as many objects as a program is likely to compare
_FEW = 48  # blocks of each of the small sizes, put in order again before a later call
_KEEP = 16  # one block in so many stays
_HEADER = 33  # bytes that an empty bytes object takes
_USUAL, _LONG, _LARGE = range(48, 257, 16), range(272, 513, 16), range(528, 1041, 16)
_LISTED = 80  # what a free list holds at least
_kept: list[Any] = []


def rearrange(number: int) -> None:
    """Let addresses ascend for 1, descend for 2, and be mixed in another way for every other number.

    Those other numbers come many to a program, so the sizes that are rare are left as they are.
    """
    kinds = [*_usual(_ENOUGH), *_rare()] if number <= 2 else _usual(_ENOUGH // 2)
    for make, count in kinds:
        blocks = [make() for _ in range(count)]
        _arrange(blocks, number)
        _kept.append(blocks[::_KEEP])
        _free(blocks)


def refresh(number: int) -> None:
    """The same for the next few objects, at a fraction of the cost, once `rearrange` has been there."""
    for make, count in _usual(_ENOUGH):
        blocks = [make() for _ in range(min(count, _FEW))]
        _arrange(blocks, number)
        _free(blocks)


def _usual(amount: int) -> list[tuple[Callable[[], Any], int]]:
    """Makers of the sizes that most objects have, and how many of each fill an amount of bytes."""
    sized = [(lambda n=size - _HEADER: bytes(n), amount // size) for size in _USUAL[1:]]
    return [(object, amount // 16), (_float, amount // 32), (lambda: bytes(2), amount // 48), *sized]


def _rare() -> list[tuple[Callable[[], Any], int]]:
    """Makers of longer objects, of those that the C library serves, and of those with free lists of their own."""
    long = [(lambda n=size - _HEADER: bytes(n), _ENOUGH // size) for size in _LONG]
    large = [(lambda n=size - _HEADER: bytes(n), 9) for size in _LARGE]
    tuples = [(lambda n=length: tuple([None] * n), _LISTED) for length in range(1, 6)]
    return [*long, *large, (list, _LISTED), (dict, _LISTED), *tuples]


def _float() -> float:
    return 0.5 * len(_kept)


def _arrange(blocks: list[Any], number: int) -> None:
    """The order in which blocks are to be freed: the last one is served first."""
    blocks.sort(key=id, reverse=number != 2)
    if number > 2:
        _mix(blocks, number)


def _free(blocks: list[Any]) -> None:
    for at in range(len(blocks)):
        blocks[at] = None


def _mix(blocks: list[Any], number: int) -> None:
    """Shuffle, by numbers of our own: the generator of `random` is the program's."""
    state = number
    for at in range(len(blocks) - 1, 0, -1):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        other = (state >> 33) % (at + 1)
        blocks[at], blocks[other] = blocks[other], blocks[at]
