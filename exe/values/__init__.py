"""Python value ⇄ OData JSON ⇄ Python literal; sameness; text that cannot be stable. Standard library only.

The encoder's half is imported at once, for it also runs inside the sandbox; the readers' half when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from exe.values.encoding import encode
from exe.values.errors import encode_error, same_exception
from exe.values.limits import DEFAULT_LIMITS, MAX_DIGITS, Limits, Unrepresentable
from exe.values.text import DuplicateKey, canonical, dumps, integer_digits, loads
from exe.values.unstable import unstable_text

if TYPE_CHECKING:
    from exe.values.decoding import DecodeError, Opaque, decode
    from exe.values.reading import read_literal
    from exe.values.same import same_json, same_python, same_typed
    from exe.values.writing import LiteralError, literal

_LATER = {
    "DecodeError": "decoding",
    "Opaque": "decoding",
    "decode": "decoding",
    "LiteralError": "writing",
    "literal": "writing",
    "read_literal": "reading",
    "same_json": "same",
    "same_python": "same",
    "same_typed": "same",
}

__all__ = [
    "DEFAULT_LIMITS",
    "MAX_DIGITS",
    "DecodeError",
    "DuplicateKey",
    "Limits",
    "LiteralError",
    "Opaque",
    "Unrepresentable",
    "canonical",
    "decode",
    "dumps",
    "encode",
    "encode_error",
    "integer_digits",
    "literal",
    "loads",
    "read_literal",
    "same_exception",
    "same_json",
    "same_python",
    "same_typed",
    "unstable_text",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = found
    return found
