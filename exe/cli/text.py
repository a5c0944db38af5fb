"""Text of others on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text of others without what would steer a terminal: control characters as escapes, line breaks and tabs kept."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode() for char in text
    )
