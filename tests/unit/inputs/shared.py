"""Shared data for the tests of inputs, which are skipped where it is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shared import find


def shared_data(name: str) -> Path:
    found = find(name)
    if found is None:
        pytest.skip(f"{name} is not there; set EXE_SHARED_DATA to the folder that holds it")
    return found
