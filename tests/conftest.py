"""What all tests share: where the shared data lies, and when the network may be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected halves of golden files")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("EXE_NETWORK_TESTS"):
        return
    skip = pytest.mark.skip(reason="uses the package index; set EXE_NETWORK_TESTS=1")
    for item in items:
        if "network" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of shared inputs; a test that needs it is skipped where it is absent."""
    folder = Path(os.environ.get("EXE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if (folder / "data").is_dir():
        folder = folder / "data"
    if not folder.is_dir():
        pytest.skip(f"the shared data folder is not beside this checkout ({folder})")
    return folder
