"""What the running interpreter's standard library offers: modules, their members, and what `import *` gives."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import warnings
from functools import cache
from types import ModuleType
from typing import Final

BUILTINS: Final = frozenset(dir(builtins))

NOT_IMPORTED: Final = frozenset(
    {"__main__", "antigravity", "idlelib", "lib2to3", "test", "this", "turtle", "turtledemo"}
)
"""Modules whose import does something visible or odd; asked by nobody in earnest."""


def is_stdlib(module: str) -> bool:
    """Whether a dotted module name belongs to the standard library, present on this platform or not."""
    return module.partition(".")[0] in sys.stdlib_module_names


@cache
def load(module: str) -> ModuleType | None:
    """The standard-library module of that name, or None where this interpreter has none. Never anything else."""
    if not is_stdlib(module) or module.partition(".")[0] in NOT_IMPORTED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ImportError:
        return None


@cache
def exists(module: str) -> bool:
    """Whether `import module` works here, for a standard-library name."""
    if "." in module:
        return load(module) is not None
    if not is_stdlib(module):
        return False
    try:
        return module in sys.builtin_module_names or importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return module in sys.modules


@cache
def has_member(module: str, name: str) -> bool:
    """Whether `from module import name` works here, for a standard-library module."""
    loaded = load(module)
    if loaded is None:
        return exists(module) and module.partition(".")[0] in NOT_IMPORTED
    return hasattr(loaded, name) or load(f"{module}.{name}") is not None


@cache
def public_names(module: str) -> tuple[str, ...]:
    """The names that `from module import *` binds, sorted."""
    loaded = load(module)
    if loaded is None:
        return ()
    declared = getattr(loaded, "__all__", None)
    names = declared if declared is not None else [name for name in vars(loaded) if not name.startswith("_")]
    return tuple(sorted(names))
