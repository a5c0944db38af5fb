"""The rules json and typed for scalars: what an answer may write for one value."""

from __future__ import annotations

import ipaddress
import math
import re
import uuid
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PosixPath, PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from zoneinfo import ZoneInfo

from exe.values import scalars
from exe.values.limits import Limits
from exe.values.reading import read_literal
from exe.values.writing import LiteralError

_SMALL = Limits(depth=4, nodes=4)


def same_text(truth: str, answer: Any, *, typed: bool) -> bool:
    """A str; under json as it reads after a journey through JSON, which merges surrogate pairs."""
    if type(answer) is not str:
        return False
    return truth == answer or (not typed and scalars.merge_surrogates(truth) == scalars.merge_surrogates(answer))


def same_int(truth: int, answer: Any, *, typed: bool) -> bool:
    """An int, exact; under json also as a float or decimal of exactly this value."""
    cls = type(answer)
    if cls is int:
        return bool(truth == answer)
    return not typed and cls in (float, Decimal, Fraction) and _equal(truth, answer)


def same_float(truth: float, answer: Any, *, typed: bool) -> bool:
    """A float; an int or decimal reads as the float nearest to it; words for NaN and the infinities."""
    cls = type(answer)
    if cls is str and not math.isfinite(truth):
        answer = scalars.read_non_finite(answer)
    elif cls in (int, Decimal, Fraction) and not typed:
        try:
            answer = float(answer)
        except (OverflowError, ValueError):
            return False
    if type(answer) is not float:
        return False
    if truth != truth or answer != answer:
        return truth != truth and answer != answer
    return truth == answer and (not typed or math.copysign(1.0, truth) == math.copysign(1.0, answer))


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except ArithmeticError:  # a signalling NaN
        return False


def _decimal(truth: Decimal, answer: Any, typed: bool) -> bool:
    cls = type(answer)
    if cls is str:
        answer = scalars.read_decimal(answer)
    elif not typed and cls is float:
        answer = Decimal(repr(answer))  # the digits that were written
    elif not typed and cls is int:
        answer = Decimal(answer)
    if type(answer) is not Decimal:
        return not typed and type(answer) is Fraction and truth.is_finite() and _close_enough(truth, answer)
    if truth.is_nan() or answer.is_nan():
        return truth.is_snan() == answer.is_snan() and truth.is_nan() and answer.is_nan()
    return truth == answer and (not typed or truth.is_signed() == answer.is_signed())


def _close_enough(truth: Decimal, answer: Fraction) -> bool:
    """Exact, but never expands a huge exponent."""
    return abs(truth.adjusted()) < 10_000 and answer == Fraction(truth)


def _fraction(truth: Fraction, answer: Any, typed: bool) -> bool:
    if type(answer) is str:
        answer = scalars.read_fraction(answer)
    if typed:
        return type(answer) is Fraction and answer == truth
    return type(answer) in (int, float, Fraction) and bool(truth == answer)


def _complex(truth: complex, answer: Any, typed: bool) -> bool:
    cls = type(answer)
    if cls is str:
        answer = scalars.read_complex(answer)
    elif not typed and cls in (int, float):
        return same_float(truth.real, answer, typed=False) and truth.imag == 0
    if type(answer) is not complex:
        return False
    return same_float(truth.real, answer.real, typed=typed) and same_float(truth.imag, answer.imag, typed=typed)


def _binary(truth: Any, answer: Any, typed: bool) -> bool:
    if type(answer) is str:
        found = scalars.read_binary(answer)
        if found is None and answer[:2] in ("b'", 'b"'):
            try:
                found = read_literal(answer, limits=_SMALL._replace(characters=len(answer)))
            except LiteralError:
                return False
        return type(found) is bytes and found == bytes(truth)
    if typed:
        return type(answer) is type(truth) and bytes(answer) == bytes(truth)
    return type(answer) in (bytes, bytearray, memoryview) and bytes(answer) == bytes(truth)


def _moment(truth: Any, answer: Any, typed: bool) -> bool:
    cls = type(truth)
    if type(answer) is str:
        answer = {datetime: scalars.read_datetime, time: scalars.read_time}[cls](answer)
    if type(answer) is not cls or (truth.tzinfo is None) != (answer.tzinfo is None):
        return False
    if typed and truth.utcoffset() != answer.utcoffset():
        return False
    return bool(_fixed(truth) == _fixed(answer))


def _fixed(value: Any) -> Any:
    """Put a fixed offset in a zone's place: Python never finds a moment of a repeated hour equal to one elsewhere."""
    offset = value.utcoffset()
    return value.replace(fold=0) if offset is None else value.replace(tzinfo=timezone(offset), fold=0)


def _read(read: Callable[[str], Any]) -> Callable[[Any, Any, bool], bool]:
    """A scalar whose every spelling `read` understands, compared as a value."""

    def compare(truth: Any, answer: Any, _typed: bool) -> bool:
        if type(answer) is str:
            try:
                answer = read(answer)
            except (ValueError, ArithmeticError):
                return False
        return type(answer) is type(truth) and bool(answer == truth)

    return compare


def _path(truth: PurePath, answer: Any, typed: bool) -> bool:
    if type(answer) is str:
        return answer == str(truth)
    if typed:
        return type(answer) is type(truth) and str(answer) == str(truth)
    return isinstance(answer, PurePath) and str(answer) == str(truth)


def _pattern(truth: re.Pattern[Any], answer: Any, typed: bool) -> bool:
    if type(answer) is re.Pattern:
        return bool(answer.pattern == truth.pattern and answer.flags == truth.flags)
    if isinstance(truth.pattern, str):
        return same_text(truth.pattern, answer, typed=typed)
    return _binary(truth.pattern, answer, typed)


def _zone(truth: timezone, answer: Any, _typed: bool) -> bool:
    offset = scalars.read_offset(answer) if type(answer) is str else None
    if type(answer) is timezone:
        offset = answer.utcoffset(None)
    return offset is not None and offset == truth.utcoffset(None)


def _zone_key(truth: ZoneInfo, answer: Any, _typed: bool) -> bool:
    return bool(truth.key == (answer.key if type(answer) is ZoneInfo else answer))


def _singleton(*spellings: str) -> Callable[[Any, Any, bool], bool]:
    return lambda truth, answer, _typed: answer is truth or (type(answer) is str and answer in spellings)


Rule = Callable[[Any, Any, bool], bool]
SCALARS: dict[type, Rule] = {
    Decimal: _decimal,
    Fraction: _fraction,
    complex: _complex,
    bytes: _binary,
    bytearray: _binary,
    memoryview: _binary,
    datetime: _moment,
    time: _moment,
    date: _read(scalars.read_date),
    timedelta: _read(scalars.read_duration),
    timezone: _zone,
    ZoneInfo: _zone_key,
    uuid.UUID: _read(uuid.UUID),
    PurePosixPath: _path,
    PosixPath: _path,
    PureWindowsPath: _path,
    re.Pattern: _pattern,
    type(...): _singleton("...", "Ellipsis"),
    type(NotImplemented): _singleton("NotImplemented"),
    **{
        cls: _read(cls)
        for cls in (
            ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network,
            ipaddress.IPv6Network, ipaddress.IPv4Interface, ipaddress.IPv6Interface,
        )
    },
}  # fmt: skip
