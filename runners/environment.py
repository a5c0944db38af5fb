"""What code measured: our version and git state, Python, and the packages that take part in a run."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path

from exe.records import Json

PACKAGES = ("execution-eval", "openai", "anthropic", "litellm", "genai-prices", "xllamacpp")
GIT_SECONDS = 10


def describe() -> dict[str, Json]:
    """The environment as run.json records it; nothing in it names a folder of this machine."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: version for name in PACKAGES if (version := _version(name)) is not None},
        "git": _git(Path(__file__).resolve().parent.parent),
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git(root: Path) -> dict[str, Json] | None:
    """Commit and whether the checkout differs from it; None where the code runs from no checkout of its own."""
    if not ((root / ".git").exists() and (root / "pyproject.toml").is_file()):
        return None
    commit = _ask_git(root, "rev-parse", "HEAD")
    status = _ask_git(root, "status", "--porcelain", "--untracked-files=no")
    return None if commit is None else {"commit": commit, "dirty": None if status is None else bool(status)}


def _ask_git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
