"""Standard-library scalars as text and back: durations, times, offsets, complex numbers, binary.

Writers are exact and never call a method that the program could have defined; readers take every spelling of a value
that its standard allows (ISO 8601, RFC 4648 section 5, RFC 4122), return None for any other text, and are bounded.
"""

from __future__ import annotations

import builtins
import re
from binascii import Error as BinasciiError
from binascii import a2b_base64, b2a_base64
from datetime import date, datetime, time, timedelta, timezone
from decimal import Context, Decimal
from fractions import Fraction

globals()["__builtins__"] = dict(vars(builtins))

_context = Context(prec=28, capitals=1)
_numerator = Fraction.__dict__["_numerator"].__get__
_denominator = Fraction.__dict__["_denominator"].__get__
MAX_TEXT = 400_000


def binary_text(data: bytes) -> str:
    """Return base64url with padding (RFC 4648 section 5), as Edm.Binary wants it."""
    return b2a_base64(data, newline=False).translate(_URL_SAFE).decode("ascii")


_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*={0,2}", re.ASCII)


def read_binary(text: str) -> bytes | None:
    """Read base64url; the padding may be left out."""
    if not _BASE64URL.fullmatch(text):
        return None
    body = text.rstrip("=")
    padded = body + "=" * (-len(body) % 4)
    if text not in (body, padded):
        return None
    try:
        data = a2b_base64(padded.encode("ascii").translate(_FROM_URL_SAFE))
    except BinasciiError:
        return None
    return data if binary_text(data) == padded else None  # unused bits must be zero: one value, one text


def float_text(value: float) -> str:
    """Return "NaN", "INF" or "-INF" for a float that JSON cannot hold."""
    if value != value:
        return "NaN"
    return "INF" if value > 0 else "-INF"


_NON_FINITE = {
    "nan": "nan", "NaN": "nan", "INF": "inf", "-INF": "-inf", "inf": "inf", "-inf": "-inf",
    "Infinity": "inf", "-Infinity": "-inf", "+INF": "inf", "+Infinity": "inf", "+inf": "inf",
}  # fmt: skip


def read_non_finite(text: str) -> float | None:
    """Read the usual words for a float that JSON cannot hold."""
    word = _NON_FINITE.get(text)
    return None if word is None else float(word)


def decimal_text(value: Decimal) -> str:
    """Return the exact decimal, in scientific notation where `str` would use it; the program's context is ignored."""
    return _context.to_sci_string(value)


_DECIMAL = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,18})?|inf(?:inity)?|s?nan\d*)", re.ASCII | re.I)


def read_decimal(text: str) -> Decimal | None:
    """Read a decimal number, exactly."""
    if len(text) > MAX_TEXT or not _DECIMAL.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except ArithmeticError:
        return None


def fraction_parts(value: Fraction) -> tuple[int, int]:
    """Return numerator and denominator."""
    return int(_numerator(value)), int(_denominator(value))


def fraction_text(value: Fraction) -> str:
    """Return "n/d", or "n" for a whole number."""
    top, bottom = fraction_parts(value)
    return int.__repr__(top) if bottom == 1 else f"{int.__repr__(top)}/{int.__repr__(bottom)}"


_FRACTION = re.compile(r"([+-]?\d{1,4300})(?:\s*/\s*(\d{1,4300}))?|[+-]?\d{0,4300}\.\d{0,4000}(?<=[\d.])", re.ASCII)
_BIG_FRACTION = re.compile(r"([+-]?\d+)(?:/(\d+))?", re.ASCII)


def read_fraction(text: str) -> Fraction | None:
    """Read "n/d", "n" or a decimal point number without exponent."""
    if len(text) > MAX_TEXT:
        return None
    try:
        if whole := _BIG_FRACTION.fullmatch(text):
            return Fraction(int(whole[1]), int(whole[2] or 1))
        return Fraction(text) if _FRACTION.fullmatch(text) else None
    except (ValueError, ZeroDivisionError):
        return None


def complex_text(value: complex) -> str:
    """Return the text that `str` gives: "(1+2j)", "2j"."""
    return complex.__repr__(value)


def read_complex(text: str) -> complex | None:
    """Read a complex number as Python spells it, parentheses and inner spaces optional."""
    if len(text) > 1000:
        return None
    try:
        return complex(text.replace(" ", ""))
    except ValueError:
        return None


def duration_text(value: timedelta) -> str:
    """Return an ISO 8601 duration such as "P1DT2H3M4.5S"; "PT0S" for none; a leading "-" for the past."""
    whole = value.days * 86_400_000_000 + value.seconds * 1_000_000 + value.microseconds
    sign, rest = ("-", -whole) if whole < 0 else ("", whole)
    rest, micros = divmod(rest, 1_000_000)
    rest, seconds = divmod(rest, 60)
    rest, minutes = divmod(rest, 60)
    days, hours = divmod(rest, 24)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction or not whole:
        clock += f"{seconds}{fraction}S"
    return f"{sign}P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "")


_NUMBER = r"(\d{1,20}(?:[.,]\d{1,20})?)"
_DURATION = re.compile(
    rf"([+-]?)P(?=[\dT])(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=\d)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.ASCII,
)
_UNITS = (604_800_000_000, 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000)


def read_duration(text: str) -> timedelta | None:
    """Read an ISO 8601 duration in weeks, days, hours, minutes and seconds, exactly to the microsecond."""
    match = _DURATION.fullmatch(text)
    if not match:
        return None
    micros = sum(
        (
            Fraction(part.replace(",", ".")) * unit
            for part, unit in zip(match.groups()[1:], _UNITS, strict=True)
            if part
        ),
        Fraction(0),
    )
    if micros.denominator != 1:
        return None
    try:
        return timedelta(microseconds=-int(micros) if match[1] == "-" else int(micros))
    except OverflowError:
        return None


_FINE = re.compile(r"[.,]\d{6}\d*[1-9]\d*")


def read_datetime(text: str) -> datetime | None:
    """Read an ISO 8601 date and time; digits beyond the microsecond must be zero."""
    if len(text) <= 10 or len(text) > 64 or not ("T" in text or " " in text or "t" in text) or _FINE.search(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def read_date(text: str) -> date | None:
    """Read an ISO 8601 date."""
    try:
        return date.fromisoformat(text) if len(text) <= 16 else None
    except ValueError:
        return None


def read_time(text: str) -> time | None:
    """Read an ISO 8601 time of day."""
    if len(text) > 64 or _FINE.search(text):
        return None
    try:
        return time.fromisoformat(text)
    except ValueError:
        return None


def offset_text(offset: timedelta) -> str:
    """Return "+01:00"; seconds and microseconds only where there are any."""
    text = time.isoformat(time(tzinfo=timezone(offset)))
    return text[8:]


def read_offset(text: str) -> timedelta | None:
    """Read "+01:00", "Z" or "UTC", the latter two also before an offset ("UTC+01:00")."""
    if text in ("Z", "UTC"):
        return timedelta(0)
    body = text.removeprefix("UTC")
    if body[:1] not in ("+", "-"):
        return None
    found = read_time("00:00:00" + body)
    return None if found is None else found.utcoffset()


def escape_surrogates(text: str) -> str | None:
    r"""Return `text` with surrogates as `\udxxx` and backslashes doubled; None where it has no surrogates."""
    if text.isascii() or not _SURROGATE.search(text):
        return None
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\\", "\\\\"))


_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\\|u(d[89a-f][0-9a-f]{2}))|\\")


def unescape_surrogates(text: str) -> str:
    """Undo `escape_surrogates`. Raises ValueError for a stray backslash."""

    def restore(found: re.Match[str]) -> str:
        if found[1] is None:
            raise ValueError("stray backslash")
        return "\\" if found[2] is None else chr(int(found[2], 16))

    return _ESCAPE.sub(restore, text)


def merge_surrogates(text: str) -> str:
    """Return `text` as it reads after a journey through JSON: a surrogate pair becomes its one character."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
