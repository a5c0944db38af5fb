"""Small values by kind, each from `below(n)`: dates, numbers, addresses, text mutations, text that matches a pattern."""

from __future__ import annotations

import base64
import re
import string
from collections.abc import Callable, Sequence

from exe.records import Json

Below = Callable[[int], int]

SMALL_INTEGERS = (0, 1, 2, 3, 5, 10, -1, 4, 7, 12, -2, 6, 8, 9, 15, 20, -5, 42)
EXTREME_INTEGERS = (100, 255, 256, 1000, -100, 65535, 10**6, 2**31 - 1, -(2**31), 2**53 + 1, 2**64, 97, 1009, -999_999)
SMALL_FLOATS = (0.0, 1.0, 0.5, 2.5, -1.5, 3.14, 10.0, 0.1, -0.25, 100.0, 1.005)
EXTREME_FLOATS = (-0.0, 1e-9, 1e16, 123456.789, -1e300, 5e-324, 0.30000000000000004, "NaN", "INF", "-INF")
KEYS = ("a", "b", "c", "name", "id", "value", "x", "key", "type", "items", "1", "first name")
ALPHABET = string.ascii_letters + string.digits + " _-.,:;/!?@#()[]{}'\"\\\n\t" + "éßñ"
PIECES = (" ", "-", ".", ",", "0", "a", "\n", "A")
REGEXES = (r"a+", r"[a-z]+", r"\d{2,4}", r"^\w+@\w+$", r"(a|b)*c", r"\s+", r".")


def mutate(text: str, below: Below, pieces: Sequence[str]) -> str:
    """A text near the given one: a part cut, doubled, moved or replaced, the case changed, a piece put in."""
    at = below(min(len(text), 90) + 1)
    piece = pieces[below(len(pieces))]
    match below(11):
        case 0:
            return text.upper()
        case 1:
            return text.swapcase() if at % 2 else text.title()
        case 2:
            return text[:at] + text[at + 1 :]
        case 3:
            return text[:at] + piece + text[at:]
        case 4:
            return piece + text
        case 5:
            return text + piece
        case 6:
            return text[:at]
        case 7:
            return text[::-1]
        case 8:
            return text + piece + text
        case 9:
            return f"{text}\n{piece}"
        case _:
            return f" {text} "


def spliced(first: str, second: str, below: Below) -> str:
    """The beginning of the one and the end of the other."""
    return first[: below(min(len(first), 90) + 1)] + second[below(min(len(second), 90) + 1) :]


def part_of(value: Json, below: Below) -> str | None:
    """A text found in an earlier argument: a key, an element, a word, a slice or an end of it; None where there is none."""
    match value:
        case str() if value:
            words = value.split() or [value]
            first, last = sorted((below(min(len(value), 90) + 1), below(min(len(value), 90) + 1)))
            lines = value.splitlines()
            if len(lines) > 1 and below(2):
                return lines[below(min(len(lines), 90))].strip()
            return (value[first:last], words[below(min(len(words), 90))], value[:first], value[first:], value)[below(5)]
        case dict() if value:
            return str(list(value)[below(min(len(value), 90))])
        case list() if value:
            item = value[below(min(len(value), 90))]
            return item if isinstance(item, str) else None
        case _:
            return None


def octets_in(value: Json) -> bytes | None:
    """The bytes that a text of base64 stands for; None where it stands for none."""
    if not isinstance(value, str) or not value or len(value) % 4:
        return None
    try:
        return base64.b64decode(value, b"-_", validate=True)
    except ValueError:
        return None


def part_of_octets(value: bytes, below: Below) -> bytes:
    """A slice, a line or an end of bytes in an earlier argument."""
    part = part_of(value.decode("latin-1"), below) or ""
    return part.encode("latin-1")


def _two(value: int) -> str:
    return f"{value:02d}"


def date(below: Below) -> str:
    """An ISO date; leap days and turns of the year are likely."""
    edges = ("2024-02-29", "2023-12-31", "2000-01-01", "1970-01-01", "1999-02-28", "0001-01-01", "9999-12-31")
    if below(3) == 2:
        return edges[below(len(edges))]
    return f"{1990 + below(50)}-{_two(1 + below(12))}-{_two(1 + below(28))}"


def zone(below: Below) -> str:
    """A UTC offset."""
    return ("Z", "+00:00", "+02:00", "-05:00", "+05:30", "-09:30", "+14:00")[below(7)]


def time(below: Below) -> str:
    """An ISO time, at times with microseconds."""
    base = f"{_two(below(24))}:{_two(below(60))}"
    match below(4):
        case 0:
            return ("00:00", "12:00", "23:59:59")[below(3)]
        case 1:
            return base
        case 2:
            return f"{base}:{_two(below(60))}"
        case _:
            return f"{base}:{_two(below(60))}.{below(100):02d}0500"


def datetime(below: Below) -> str:
    """An ISO date and time, aware in one of four."""
    return f"{date(below)}T{time(below)}" + (zone(below) if below(4) == 3 else "")


def timedelta(below: Below) -> str:
    """An ISO duration."""
    edges = ("PT0S", "P1D", "PT1H", "-P1D", "PT0.5S", "P7D", "PT59M59S", "-PT90S", "P365D")
    if below(2):
        return edges[below(len(edges))]
    return f"P{below(40)}DT{below(24)}H{below(60)}M{below(60)}S"


def decimal(below: Below) -> str:
    """A decimal number."""
    edges = ("0", "1", "-1", "0.1", "2.50", "1E+3", "-0.00", "99999999.99", "1E-10", "NaN", "Infinity")
    if below(2):
        return edges[below(len(edges))]
    return f"{'-' if below(3) == 2 else ''}{below(1000)}.{below(100):02d}"


def fraction(below: Below) -> str:
    """A fraction in lowest terms or not."""
    return f"{'-' if below(3) == 2 else ''}{below(20)}/{1 + below(12)}"


def complex_number(below: Below) -> str:
    """A complex number as Python prints it."""
    return ("1j", "0j", "1+2j", "-1.5+0.5j", "3-4j", "2+0j", "-1j", "1e10+1j")[below(8)]


def uuid(below: Below) -> str:
    """A UUID; the nil one is likely."""
    if below(4) == 3:
        return "00000000-0000-0000-0000-000000000000"
    digits = "".join("0123456789abcdef"[below(16)] for _ in range(30))
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-a{digits[15:18]}-{digits[18:30]}"


def ipv4(below: Below) -> str:
    """An IPv4 address; special ones are likely."""
    edges = ("127.0.0.1", "0.0.0.0", "255.255.255.255", "10.0.0.1", "192.168.1.20", "224.0.0.1")
    return edges[below(6)] if below(2) else f"{1 + below(99)}.{below(256)}.{below(256)}.{below(256)}"


def ipv6(below: Below) -> str:
    """An IPv6 address; special ones are likely."""
    edges = ("::1", "::", "2001:db8::1", "fe80::1", "ff02::1", "::ffff:192.0.2.1")
    return edges[below(6)] if below(2) else f"2001:db8:{below(100)}::{below(100)}"


def _network(below: Below) -> str:
    return ("10.0.0.0/8", "192.168.0.0/24", "0.0.0.0/0", "192.0.2.4/30", "198.51.100.7/32")[below(5)]


def _network6(below: Below) -> str:
    return ("2001:db8::/32", "fe80::/10", "::/0", "::1/128")[below(4)]


MAKERS: dict[str, Callable[[Below], Json]] = {
    "complex": complex_number,
    "decimal.Decimal": decimal,
    "fractions.Fraction": fraction,
    "datetime.date": date,
    "datetime.datetime": datetime,
    "datetime.time": time,
    "datetime.timedelta": timedelta,
    "datetime.timezone": zone,
    "uuid.UUID": uuid,
    "ipaddress.IPv4Address": ipv4,
    "ipaddress.IPv6Address": ipv6,
    "ipaddress.IPv4Network": _network,
    "ipaddress.IPv6Network": _network6,
    "ipaddress.IPv4Interface": lambda below: f"{ipv4(below)}/{8 + below(25)}",
    "ipaddress.IPv6Interface": lambda below: f"{ipv6(below)}/{8 + below(90)}",
}
"""Kind → maker of its JSON form."""


def range_parts(below: Below) -> dict[str, int]:
    """Start, stop and step of a range; what is usual is left out."""
    parts = {"stop": below(12)}
    if below(2):
        parts["start"] = below(8)
    if below(3) == 2:
        parts["step"] = (2, 3, -1, -2)[below(4)]
    return parts


_CLASSES = {
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_",
    "s": " \t\n",
    "D": "a-. ",
    "W": " -.!",
    "S": "aZ0-.",
}
_TOKEN = re.compile(
    r"""(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])
      | \\(?P<escape>x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|0[0-7]{0,2}|.)
      | (?P<open>\((?:\?:|\?P<\w+>|\?[a-z]+:|(?!\?)))
      | (?P<look>\(\?<?[=!])
      | (?P<flags>\(\?[aiLmsux]+\))
      | (?P<close>\)) | (?P<bar>\|) | (?P<anchor>[\^$]) | (?P<dot>\.)
      | (?P<char>[^\\()|\[\]?*+{}])""",
    re.VERBOSE | re.DOTALL,
)
_REPEAT = re.compile(r"(?:(?P<sign>[*+?])|\{(?P<low>\d{1,3})(?P<comma>,)?(?P<high>\d{1,3})?\})\??")


def matching(pattern: str, below: Below) -> str | None:
    """A text that a regular expression is likely to match, None for constructs beyond the plain ones.

    Never compiles or runs the pattern, so that a hostile one costs nothing.
    """
    try:
        return _Sampler(pattern[:300], below).alternatives(0)[0][:200]
    except ValueError:
        return None


class _Sampler:
    def __init__(self, pattern: str, below: Below) -> None:
        self.pattern = pattern
        self.below = below

    def alternatives(self, at: int, depth: int = 0) -> tuple[str, int]:
        """One of the branches from `at` to the closing bracket or the end; and where that is."""
        if depth > 12:
            raise ValueError("nested too deeply")
        branches = [""]
        while at < len(self.pattern):
            token = _TOKEN.match(self.pattern, at)
            if token is None:
                raise ValueError(f"beyond the plain constructs at {at}")
            at = token.end()
            match token.lastgroup:
                case "close":
                    break
                case "bar":
                    branches.append("")
                case "flags":
                    pass
                case "look":  # what it asks for is left to chance
                    at = self.alternatives(at, depth + 1)[1]
                case "open":
                    inner = at
                    piece, at = self.alternatives(inner, depth + 1)
                    times, at = self._times(at)
                    again = [self.alternatives(inner, depth + 1)[0] for _ in range(min(times - 1, 4))]
                    branches[-1] += "".join([piece, *again]) if times else ""
                case _:
                    times, at = self._times(at)
                    branches[-1] += "".join(self._one(token) for _ in range(times))
        return branches[self.below(len(branches))], at

    def _times(self, at: int) -> tuple[int, int]:
        repeat = _REPEAT.match(self.pattern, at)
        if repeat is None:
            return 1, at
        match repeat["sign"]:
            case "?":
                return self.below(2), repeat.end()
            case "*":
                return self.below(4), repeat.end()
            case "+":
                return 1 + self.below(4), repeat.end()
        low = int(repeat["low"])
        high = int(repeat["high"]) if repeat["high"] else low + 3 if repeat["comma"] else low
        return min(low + self.below(min(max(high - low, 0), 9) + 1), 40), repeat.end()

    def _one(self, token: re.Match[str]) -> str:
        match token.lastgroup:
            case "anchor":
                return ""
            case "dot":
                return "aB3-_ "[self.below(6)]
            case "escape":
                return self._escape(token["escape"])
            case "set":
                options = _members(token["set"])
                return options[self.below(min(len(options), 90))]
            case _:
                return token[0]

    def _escape(self, letter: str) -> str:
        if letter in _CLASSES:
            options = _CLASSES[letter]
            return options[self.below(len(options))]
        if letter in "bBAZ":
            return ""
        return _character(letter)


def _character(escape: str) -> str:
    """The character that an escape stands for. Raises ValueError for back references and unknown ones."""
    if len(escape) > 1 or escape == "0":
        return chr(int(escape, 8) if escape[0] == "0" else int(escape[1:], 16))
    if escape.isalnum():
        known = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
        if escape not in known:
            raise ValueError(f"unknown escape {escape}")
        return known[escape]
    return escape


_ONE = r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\0[0-7]{0,2}|\\.|[^\\]"
_MEMBER = re.compile(f"(?P<first>{_ONE})(?:-(?P<last>{_ONE}))?", re.DOTALL)


def _members(text: str) -> str:
    """The characters of a set like `[a-z_]`; of a negated one some that are not in it."""
    body = text[1:-1]
    negated = body.startswith("^")
    body = body[1:] if negated else body
    members = ""
    for part in _MEMBER.finditer(body):
        first, last = part["first"], part["last"]
        if first.startswith("\\") and first[1] in _CLASSES:
            members += _CLASSES[first[1]] + (f"-{last}" if last else "")
            continue
        low = _character(first[1:]) if first.startswith("\\") else first
        high = low if not last else _character(last[1:]) if last.startswith("\\") else last
        members += "".join(map(chr, range(ord(low), min(ord(high), ord(low) + 80) + 1)))
    if negated:
        members = "".join(c for c in "aZ5 -._x" if c not in members)
    return members or "a"
