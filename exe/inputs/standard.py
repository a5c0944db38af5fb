"""Standard-library values as OData JSON strings: what they look like, and the Python expression that builds one."""

from __future__ import annotations

import base64
import binascii
import datetime
import ipaddress
import math
import re
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction

INTEGER_TEXT = r"^(0|-?[1-9][0-9]*)$"
MAX_DIGITS = 4_000  # of an int; CPython reads no longer literal than 4,300

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})"
_DURATION = re.compile(
    r"(?P<sign>-?)P((?P<days>[0-9]{1,9})D)?(T((?P<hours>[0-9]{1,9})H)?((?P<minutes>[0-9]{1,9})M)?"
    r"((?P<seconds>[0-9]{1,9})(\.(?P<fraction>[0-9]{1,6}))?S)?)?"
)

PATTERNS = {
    "complex": r"^\S+$",
    "bytes": r"^[A-Za-z0-9_-]*={0,2}$",
    "bytearray": r"^[A-Za-z0-9_-]*={0,2}$",
    "decimal.Decimal": r"^(NaN|-?Infinity|[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,6})?)$",
    "fractions.Fraction": r"^-?[0-9]+(/0*[1-9][0-9]*)?$",
    "datetime.date": f"^{_DATE}$",
    "datetime.datetime": f"^{_DATE}T{_TIME}{_ZONE}?$",
    "datetime.time": f"^{_TIME}{_ZONE}?$",
    "datetime.timedelta": r"^-?P([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]{1,6})?S)?)?$",
    "datetime.timezone": f"^{_ZONE}$",
    "uuid.UUID": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    "re.Pattern": "",
    "io.StringIO": "",
    "io.BytesIO": r"^[A-Za-z0-9_-]*={0,2}$",
    **{f"pathlib.{name}": "" for name in ("Path", "PurePath", "PosixPath", "PurePosixPath", "PureWindowsPath")},
    **{f"ipaddress.IPv4{name}": r"^[0-9.]+(/[0-9]+)?$" for name in ("Address", "Network", "Interface")},
    **{f"ipaddress.IPv6{name}": r"^[0-9a-fA-F:.]+(/[0-9]+)?$" for name in ("Address", "Network", "Interface")},
}
"""Kind → the pattern (ECMA 262 and Python alike) of its JSON string."""

REQUIRES = {
    "datetime.datetime": ("datetime:datetime", "datetime:timezone", "datetime:timedelta"),
    "datetime.time": ("datetime:time", "datetime:timezone", "datetime:timedelta"),
    "datetime.timezone": ("datetime:timezone", "datetime:timedelta"),
    "re.Pattern": ("re:compile",),
    "bytearray": ("builtins:bytearray",),
    "complex": ("builtins:complex", "builtins:float"),
    "float": ("builtins:float",),
    "range": ("builtins:range",),
    "set": ("builtins:set",),
    "frozenset": ("builtins:frozenset",),
    "iterator": ("builtins:iter",),
    "collections.defaultdict": (
        "collections:defaultdict",
        *(f"builtins:{n}" for n in ("int", "str", "float", "bool", "list", "dict", "set")),
    ),
}
"""Kind → names that its expressions use, as "module:name". A dotted kind that is not here uses its own name."""

Names = Mapping[str, str]


def name_of(key: str, names: Names) -> str:
    """The expression for "module:name" in the program: as bound there, else dotted (built-ins bare)."""
    module, _, name = key.partition(":")
    return names.get(key) or (name if module == "builtins" else f"{module}.{name}")


def float_source(value: float, names: Names) -> str:
    """A float as source text that evaluates to it, NaN and infinities included."""
    if math.isfinite(value):
        return repr(value)
    return f"{name_of('builtins:float', names)}({str(value)!r})"


def _complex(text: str, names: Names) -> str:
    value = complex(text)
    parts = (value.real, value.imag)
    if all(math.isfinite(part) and math.copysign(1, part) > 0 for part in parts) and value.imag:
        return repr(value)
    real, imaginary = (float_source(part, names) for part in parts)
    return f"{name_of('builtins:complex', names)}({real}, {imaginary})"


def bytes_of(text: str) -> bytes:
    """Read base64url with or without padding. Raises ValueError."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _bytes(text: str, _: Names) -> str:
    return repr(bytes_of(text))


def _bytearray(text: str, names: Names) -> str:
    return f"{name_of('builtins:bytearray', names)}({bytes_of(text)!r})"


def _decimal(text: str, names: Names) -> str:
    try:
        return f"{name_of('decimal:Decimal', names)}({str(Decimal(text))!r})"
    except InvalidOperation as error:
        raise ValueError("not a decimal number") from error


def _fraction(text: str, names: Names) -> str:
    value = Fraction(text)
    return f"{name_of('fractions:Fraction', names)}({value.numerator}, {value.denominator})"


def _date(text: str, names: Names) -> str:
    value = datetime.date.fromisoformat(text)
    return f"{name_of('datetime:date', names)}({value.year}, {value.month}, {value.day})"


def _datetime(text: str, names: Names) -> str:
    value = datetime.datetime.fromisoformat(text)
    parts = [value.year, value.month, value.day, value.hour, value.minute, *_trimmed(value.second, value.microsecond)]
    shown = ", ".join([*map(str, parts), *_zone_argument(value.tzinfo, names)])
    return f"{name_of('datetime:datetime', names)}({shown})"


def _time(text: str, names: Names) -> str:
    value = datetime.time.fromisoformat(text)
    parts = [value.hour, value.minute, *_trimmed(value.second, value.microsecond)]
    return f"{name_of('datetime:time', names)}({', '.join([*map(str, parts), *_zone_argument(value.tzinfo, names)])})"


def _trimmed(second: int, microsecond: int) -> list[int]:
    return [second, microsecond] if microsecond else [second] if second else []


def _zone_argument(zone: datetime.tzinfo | None, names: Names) -> list[str]:
    if zone is None:
        return []
    offset = zone.utcoffset(None)
    assert offset is not None  # fromisoformat makes fixed offsets only
    return [f"tzinfo={_offset_source(offset, names)}"]


def _offset_source(offset: datetime.timedelta, names: Names) -> str:
    zone = name_of("datetime:timezone", names)
    return f"{zone}({_delta_source(offset, names)})" if offset else f"{zone}.utc"


def _timezone(text: str, names: Names) -> str:
    zone = datetime.time.fromisoformat(f"00:00{text}").tzinfo
    offset = zone.utcoffset(None) if zone is not None else None
    if offset is None:
        raise ValueError("no UTC offset")
    return _offset_source(offset, names)


def _timedelta(text: str, names: Names) -> str:
    return _delta_source(duration(text), names)


def duration(text: str) -> datetime.timedelta:
    """Read an ISO 8601 duration of days and smaller parts. Raises ValueError."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError("not an ISO 8601 duration of days, hours, minutes and seconds")
    parts = {name: int(found[name] or 0) for name in ("days", "hours", "minutes", "seconds")}
    try:
        delta = datetime.timedelta(**parts, microseconds=int((found["fraction"] or "").ljust(6, "0")))
        return -delta if found["sign"] else delta
    except OverflowError as error:
        raise ValueError(str(error)) from error


def _delta_source(delta: datetime.timedelta, names: Names) -> str:
    parts = {"days": delta.days, "seconds": delta.seconds, "microseconds": delta.microseconds}
    if not parts["microseconds"] and parts["seconds"] % 3600 == 0:
        parts = {"days": delta.days, "hours": delta.seconds // 3600}
    if delta.days == -1 and not delta.microseconds and (-delta).seconds % 3600 == 0:
        parts = {"hours": -((-delta).seconds // 3600)}
    shown = ", ".join(f"{name}={value}" for name, value in parts.items() if value)
    return f"{name_of('datetime:timedelta', names)}({shown})"


def _uuid(text: str, names: Names) -> str:
    return f"{name_of('uuid:UUID', names)}({str(uuid.UUID(text))!r})"


def _pattern(text: str, names: Names) -> str:
    if len(text) > 1_000:
        raise ValueError("pattern of more than 1,000 characters")
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return f"{name_of('re:compile', names)}({text!r})"


def _of_text(key: str, check: Callable[[str], object]) -> Callable[[str, Names], str]:
    def source(text: str, names: Names) -> str:
        check(text)
        return f"{name_of(key, names)}({text!r})"

    return source


def _bytes_io(text: str, names: Names) -> str:
    return f"{name_of('io:BytesIO', names)}({bytes_of(text)!r})"


SOURCES: dict[str, Callable[[str, Names], str]] = {
    "complex": _complex,
    "bytes": _bytes,
    "bytearray": _bytearray,
    "decimal.Decimal": _decimal,
    "fractions.Fraction": _fraction,
    "datetime.date": _date,
    "datetime.datetime": _datetime,
    "datetime.time": _time,
    "datetime.timedelta": _timedelta,
    "datetime.timezone": _timezone,
    "uuid.UUID": _uuid,
    "re.Pattern": _pattern,
    "io.StringIO": _of_text("io:StringIO", str),
    "io.BytesIO": _bytes_io,
    **{
        f"pathlib.{name}": _of_text(f"pathlib:{name}", str)
        for name in ("Path", "PurePath", "PosixPath", "PurePosixPath", "PureWindowsPath")
    },
    **{
        f"ipaddress.{name}": _of_text(f"ipaddress:{name}", getattr(ipaddress, name))
        for name in (
            *("IPv4Address", "IPv4Network", "IPv4Interface"),
            *("IPv6Address", "IPv6Network", "IPv6Interface"),
        )
    },
}
"""Kind → (JSON string, names) → Python expression; each raises ValueError where the string is not of that kind."""

assert SOURCES.keys() == PATTERNS.keys()
