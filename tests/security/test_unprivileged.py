"""The same attacks behind the same walls, raised by a user without any rights; the other tests are run as who runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from exe.sandbox import isolation
from tests.security.attacks import ATTACKS

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("as_nobody.sh")
LOOK = """
import os
from exe.sandbox import isolation
print(os.getuid(), *[level.level for level in isolation.candidates() if not isinstance(isolation.attempt(level), str)])
"""


def as_nobody(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else; all other tests are run unprivileged here")
    if shutil.which("setpriv") is None or shutil.which("unshare") is None:
        pytest.skip("no setpriv or no unshare (util-linux)")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["sh", str(SCRIPT), str(folder), sys.executable, *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 126:  # `env` and the shell say so where a command is there and may not be executed
        pytest.skip(f"the interpreter lies where nobody but root may go: {sys.executable}")
    return done


def test_the_same_levels_can_be_had(tmp_path: Path) -> None:
    found = as_nobody(tmp_path, "-c", LOOK)
    mine = [level.level for level in isolation.candidates() if not isinstance(isolation.attempt(level), str)]
    assert found.stdout.split() == ["12345", *map(str, mine)], found.stderr


@pytest.mark.slow
def test_the_same_attacks_fail(tmp_path: Path) -> None:
    told = as_nobody(
        tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "tests/security/test_attacks.py"
    )
    passed = re.search(r"(\d+) passed", told.stdout)
    assert told.returncode == 0, told.stdout[-3000:]
    assert passed is not None
    assert int(passed[1]) >= len(ATTACKS)
