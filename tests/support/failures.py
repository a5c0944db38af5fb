"""What a failure of a provider has to look like, whichever SDK it came through."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from exe.errors import ModelError


def told(ask: Callable[[], object], kind: type[ModelError], words: str) -> str:
    """The one-line message of the failure that asking ends with, which is exactly of this kind and matches these words."""
    with pytest.raises(kind, match=words) as caught:
        ask()
    assert type(caught.value) is kind
    message = str(caught.value)
    assert "\n" not in message
    return message
