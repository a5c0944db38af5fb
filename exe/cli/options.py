"""Options that several verbs share, and how a set's name becomes a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import platformdirs

F = TypeVar("F", bound=Callable[..., Any])

TASKS = Path("tasks")
RESULTS = Path("results")
DEFAULT_SET = "default"


def set_folder(name: str) -> Path:
    """`--set NAME|DIR`: a path when it has a separator or exists as a folder, else `tasks/NAME`."""
    if os.sep in name or name in (".", "..") or Path(name).is_dir():
        return Path(name)
    return TASKS / name


def cache_folder() -> Path:
    """Where artefacts and model weights are kept: EXE_CACHE, else the user's cache folder."""
    chosen = os.environ.get("EXE_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("execution-eval", appauthor=False))


def set_option(default: str | None = DEFAULT_SET) -> Callable[[F], F]:
    """`--set`."""
    return click.option(
        "--set",
        "set_name",
        default=default,
        metavar="NAME|DIR",
        show_default=default is not None,
        help="The task set: a name below tasks/, or a folder.",
    )


def workers_option(function: F) -> F:
    """`--workers`."""
    return click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=os.cpu_count() or 1,
        show_default="one a CPU",
        help="Processes to work with.",
    )(function)


def unsafe_option(function: F) -> F:
    """`--unsafe`."""
    return click.option(
        "--unsafe",
        is_flag=True,
        help="Run scraped code without isolation where none can be had. Read docs/SANDBOX.md first.",
    )(function)


def quiet_option(function: F) -> F:
    """`--quiet`."""
    return click.option("--quiet", is_flag=True, help="No progress.")(function)


def json_option(function: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print machine output.")(function)
