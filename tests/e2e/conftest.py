"""One small set, built once from a package written for the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import TIDINGS, exe


@pytest.fixture(scope="session")
def tidings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a task set built from tests/support/tidings."""
    work = tmp_path_factory.mktemp("tidings")
    done = exe("build", f"path:{TIDINGS}", "--set", "tasks/tidings", "--quiet", cwd=work)
    assert done.returncode == 0, done.stderr
    return work / "tasks" / "tidings"
