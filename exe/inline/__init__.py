"""From a function to one self-contained program: slice, order, merge."""

from exe.inline.assemble import inline
from exe.inline.result import REASONS, Block, Hazard, Inlined, Limits

__all__ = ["REASONS", "Block", "Hazard", "Inlined", "Limits", "inline"]
