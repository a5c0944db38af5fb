"""Ids of content."""

from __future__ import annotations

import hashlib
from typing import Any

from exe.values import canonical

Json = Any


def content_id(tree: Json) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the canonical text.

    64 bits: among a million ids two are equal with odds of 1 in 37 million, among 100 million of 1 in 3,700.
    """
    return hashlib.sha256(canonical(tree).encode("ascii")).hexdigest()[:16]
