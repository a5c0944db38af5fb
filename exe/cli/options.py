"""Options that several verbs share, and how a set's name becomes a folder."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import platformdirs

from exe.errors import UsageError
from runners import prices

F = TypeVar("F", bound=Callable[..., Any])

TASKS = Path("tasks")
RESULTS = Path("results")
DEFAULT_SET = "default"


def set_folder(name: str) -> Path:
    """`--set NAME|DIR`: a path when it has a separator or exists as a folder, else `tasks/NAME`. Raises UsageError for an empty one."""
    if not name.strip():
        raise UsageError("--set: names no set; give a name below tasks/, or a folder")
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


def _price(_context: click.Context, _option: click.Parameter, value: str | None) -> prices.Given | None:
    return None if value is None else prices.parse_price(value)


def price_option(function: F) -> F:
    """`--price`."""
    return click.option(
        "--price",
        default=None,
        callback=_price,
        metavar="IN,OUT[,CACHED]",
        help="US dollars a million tokens of the model, in place of the listed prices.",
    )(function)


class Finite(click.FloatRange):
    """A number within a range; NaN and the infinities are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As FloatRange does, finite numbers only."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number", param, ctx)
        return number


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
