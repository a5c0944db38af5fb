"""Numbers."""

from __future__ import annotations

from collections.abc import Sequence

from . import errors

BASES = {2: "01", 8: "01234567", 10: "0123456789"}
BASES[16] = BASES[10] + "abcdef"


def clamp(number: int, low: int = 0, high: int = 9) -> int:
    """Brings a number between two bounds."""
    if low > high:
        raise errors.OutOfRange(number, low, high)
    return max(low, min(number, high))


def digits(number: int, base: int = 10) -> str:
    """Writes a number in a base that the table knows."""
    if base not in BASES:
        raise errors.TidingsError(f"base {base}")
    if number < 0:
        return "-" + digits(-number, base)
    out = []
    while True:
        number, rest = divmod(number, base)
        out.append(BASES[base][rest])
        if not number:
            return "".join(reversed(out))


def running(numbers: Sequence[int]) -> list[int]:
    """The sums so far."""
    total = 0
    sums = []
    for number in numbers:
        total += number
        sums.append(total)
    return sums


def spread(numbers: list[float]) -> float:
    """Largest less smallest."""
    return max(numbers) - min(numbers)
