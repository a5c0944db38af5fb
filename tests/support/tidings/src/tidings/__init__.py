"""Text and number odds and ends, spread over files that lean on each other."""

from .numbers import clamp, digits
from .text import Case, fold, initials

__all__ = ["Case", "clamp", "digits", "fold", "initials"]
