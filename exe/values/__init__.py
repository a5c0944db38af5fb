"""Python value ⇄ OData JSON ⇄ Python literal; sameness; text that cannot be stable. Standard library only.

The encoder's half is imported at once, for it also runs inside the sandbox; the readers' half when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from exe.values.encode import encode
from exe.values.limits import DEFAULT_LIMITS, MAX_DIGITS, Limits, Unrepresentable
from exe.values.text import DuplicateKey, canonical, dumps, integer_digits, loads

if TYPE_CHECKING:
    from exe.values.decode import DecodeError, Opaque, decode

_LATER = {
    "DecodeError": "decode",
    "Opaque": "decode",
    "decode": "decode",
}

__all__ = [
    "DEFAULT_LIMITS",
    "MAX_DIGITS",
    "DecodeError",
    "DuplicateKey",
    "Limits",
    "Opaque",
    "Unrepresentable",
    "canonical",
    "decode",
    "dumps",
    "encode",
    "integer_digits",
    "loads",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = found
    return found
