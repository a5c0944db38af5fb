"""Running `exe` as a process, as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIDINGS = ROOT / "tests" / "support" / "tidings"
COMMAND = (
    sys.executable,
    "-c",
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from exe.cli import main; sys.exit(main())",
)
"""Ctrl-C works in it, even where the tests themselves were started with it switched off, as in the background."""


def environment(**extra: str) -> dict[str, str]:
    """The caller's environment, with this checkout first on the path and no keys of a real provider."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**kept, "PYTHONPATH": str(ROOT), **extra}


def exe(*arguments: str, cwd: Path, timeout: float = 300, **extra: str) -> subprocess.CompletedProcess[str]:
    """Runs one command to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, env=environment(**extra), capture_output=True, text=True, timeout=timeout
    )


def start(*arguments: str, cwd: Path, **extra: str) -> subprocess.Popen[str]:
    """Starts one command in a process group of its own."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(**extra),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
