"""From a function to one self-contained program: slice, order, merge."""

from exe.inline.assemble import inline
from exe.inline.result import REASONS, Inlined, Limits

__all__ = ["REASONS", "Inlined", "Limits", "inline"]
