"""Where the data lies that tests share with other checkouts."""

from __future__ import annotations

import os
from pathlib import Path


def find(name: str) -> Path | None:
    """A shared file, None where it is not on this machine: in EXE_SHARED_DATA, or beside the checkout."""
    folders = (os.environ.get("EXE_SHARED_DATA"), Path(__file__).parents[3] / "shared" / "data")
    return next((Path(folder) / name for folder in folders if folder and (Path(folder) / name).exists()), None)
