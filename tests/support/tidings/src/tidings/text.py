"""Text."""

import re
import time
from dataclasses import dataclass
from enum import Enum

from .numbers import clamp as _clamp

WORD = re.compile(r"[^\W_]+")


class Case(Enum):
    """How to write letters."""

    LOWER = "lower"
    UPPER = "upper"
    TITLE = "title"


@dataclass(frozen=True)
class Span:
    """From one place to another."""

    start: int
    end: int

    def inside(self, place: int) -> bool:
        """Whether a place is in the span."""
        return self.start <= place < self.end


def fold(text: str, case: Case = Case.LOWER) -> str:
    """Writes text in a case."""
    if case is Case.TITLE:
        return text.title()
    return text.upper() if case is Case.UPPER else text.lower()


def initials(name: str, limit: int = 3) -> str:
    """The first letters of the words of a name."""
    words = WORD.findall(name)
    return "".join(word[0].upper() for word in words[: _clamp(limit, 1, 5)])


def words(text: str) -> dict[str, int]:
    """How often each word stands in a text."""
    counts: dict[str, int] = {}
    for word in WORD.findall(text.lower()):
        counts[word] = counts.get(word, 0) + 1
    return counts


def letters(text: str) -> set[str]:
    """The letters of a text, each once."""
    return {letter for letter in text if letter.isalpha()}


def find_span(text: str, part: str) -> Span | None:
    """Where a part stands in a text."""
    start = text.find(part)
    return None if start < 0 else Span(start, start + len(part))


def cut(text: str, span: Span) -> str:
    """What a span covers."""
    return text[span.start : span.end]


def untyped(text, other):
    """No annotations, so nobody can make inputs for it."""
    return text + other


def stamp(text: str) -> str:
    """Depends on the clock, so it is no task."""
    return f"{text} at {time.time()}"
