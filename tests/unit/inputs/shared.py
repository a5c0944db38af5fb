"""Where the data lies that tests share with other checkouts; tests are skipped where it is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_data(name: str) -> Path:
    roots = [os.environ.get("EXE_SHARED_DATA", ""), str(Path(__file__).parents[3].parent / "shared" / "data")]
    for root in filter(None, roots):
        if (Path(root) / name).exists():
            return Path(root) / name
    pytest.skip(f"{name} is not there; set EXE_SHARED_DATA to the folder that holds it")
