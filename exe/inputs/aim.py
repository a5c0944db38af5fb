"""Inputs that aim at a comparison: where a value that a run compared stands in its arguments, what it was compared with is put there.

A text that was split, a number that was counted on the way: as long as what is compared still stands in the input as it is, no more
needs to be known of how it came there.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

from exe.records import Json

MOST = 40  # of one run
END = 12  # characters of what a text may be asked to begin or end with
LONGEST = 2_100  # of a text that is made so long because its length was asked for

Pair = tuple[str | int | float, str | int | float]


def aimed(arguments: dict[str, Json], compared: Sequence[Pair]) -> Iterator[dict[str, Json]]:
    """Variants of an arguments object, at most MOST; nothing else of it changes. They may not fit the types any more."""
    count = 0
    for met, fitting in compared:
        for wanted in _near(met, fitting):
            for variant in _replaced(arguments, met, wanted):
                yield variant
                count += 1
                if count == MOST:
                    return


def _near(met: Json, fitting: Json) -> tuple[Json, ...]:
    """What to put in its place: numbers on both sides as well, since it may have been an order that was asked,
    and a short text before and behind, since it may have been a beginning or an end."""
    if isinstance(fitting, int) and not isinstance(fitting, bool) and met != fitting:
        return fitting, fitting + 1, fitting - 1
    if isinstance(met, str) and isinstance(fitting, str) and met and len(fitting) <= END and fitting not in met:
        return fitting, met + fitting, fitting + met
    return (fitting,)


def _replaced(value: Json, met: Json, wanted: Json) -> Iterator[Json]:
    """The value with one occurrence of `met` in it replaced, once for each occurrence."""
    match value:
        case dict():
            for key, inner in value.items():
                for variant in _replaced(inner, met, wanted):
                    yield {**value, key: variant}
                if key == met and isinstance(wanted, str) and wanted not in value:
                    yield {(wanted if other == key else other): inner for other, inner in value.items()}
        case list():
            for at, inner in enumerate(value):
                for variant in _replaced(inner, met, wanted):
                    yield [*value[:at], variant, *value[at + 1 :]]
        case str() if isinstance(met, str) and isinstance(wanted, str):
            if value == met:
                yield wanted
            elif met and met in value:
                yield value.replace(met, wanted, 1)
            elif not met:
                yield value + wanted  # what was not there may have been looked for behind all of it
            elif len(met) >= 2 and met.lower() in value.lower():
                at = value.lower().index(met.lower())
                yield value[:at] + wanted + value[at + len(met) :]
            else:
                yield from _in_octets(value, met, wanted)
        case str() if isinstance(met, int) and isinstance(wanted, int) and not isinstance(met, bool):
            if str(met) in value:
                yield value.replace(str(met), str(wanted), 1)
            elif 31 < met < 0x110000 and chr(met) in value and 31 < wanted < 0x110000 and not 0xD800 <= wanted < 0xE000:
                yield value.replace(chr(met), chr(wanted), 1)
            elif len(value) == met and 0 <= wanted <= LONGEST:
                yield (value * (wanted // max(len(value), 1) + 1))[:wanted] if value else "a" * wanted
        case int() | float() if type(value) is type(met) and value == met:
            yield wanted
        case _:
            return


def _in_octets(value: str, met: str, wanted: str) -> Iterator[str]:
    """The same where a value stands for bytes, in base64."""
    if len(met) < 1 or len(value) % 4 or not value.isascii():
        return
    try:
        octets = base64.urlsafe_b64decode(value).decode("utf-8")
    except ValueError:
        return
    if met in octets:
        yield base64.urlsafe_b64encode(octets.replace(met, wanted, 1).encode("utf-8", "replace")).decode()
