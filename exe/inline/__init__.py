"""From a function to one self-contained program: slice, order, merge."""
