"""Progress: tqdm bars on a terminal, plain lines elsewhere, nothing with --quiet. Always on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from tqdm import tqdm

PLAIN_SECONDS = 10.0


class Bar:
    """One counted activity. `advance` adds to the count, `note` sets what stands behind it.

    Where stderr is no terminal a line is printed when the total is known, then at most one every ten seconds, and one at the end.
    """

    def __init__(self, what: str, total: int | None, *, unit: str, quiet: bool = False) -> None:
        self._what, self._total, self._unit, self._count, self._note = what, total, unit, 0, ""
        self._quiet = quiet
        self._bar: Any = None
        self._shown: int | None = None  # the count of the last plain line
        self._last = self._started = time.monotonic()
        if quiet:
            return
        if sys.stderr.isatty():
            self._bar = tqdm(total=total, desc=what, unit=unit, dynamic_ncols=True, leave=True)
        elif total is not None:
            self._line()

    def advance(self, count: int = 1) -> None:
        """`count` more are done."""
        self._count += count
        if self._bar is not None:
            self._bar.update(count)
        elif not self._quiet and time.monotonic() - self._last >= PLAIN_SECONDS:
            self._line()

    def note(self, text: str) -> None:
        """Sets the text behind the count."""
        self._note = text
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)

    def total(self, total: int) -> None:
        """The total became known, or changed."""
        first, self._total = self._total is None, total
        if self._bar is not None:
            self._bar.total = total
            self._bar.refresh()
        elif first and not self._quiet:
            self._line()

    def close(self) -> None:
        """Ends the activity."""
        if self._bar is not None:
            self._bar.close()
        elif not self._quiet and self._shown not in (None, self._count):
            self._line()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _line(self) -> None:
        self._last, self._shown = time.monotonic(), self._count
        of = f"/{self._total}" if self._total is not None else ""
        note = self._pace() + (f", {self._note}" if self._note else "")
        print(f"{self._what}: {self._count}{of} {self._unit}{note}", file=sys.stderr, flush=True)

    def _pace(self) -> str:
        """How fast it goes and how long it will take, once that can be told."""
        rate = self._count / max(time.monotonic() - self._started, 1e-9)
        if not self._count or self._total is None or self._count >= self._total:
            return ""
        return f", {rate:.3g}/s, {(self._total - self._count) / rate / 60:.1f} minutes left"


class BuildProgress:
    """What `exe.build` reports, as one bar over packages with running counts of functions, programs and cases."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Bar | None = None
        self._functions = self._programs = self._cases = 0

    def packages(self, total: int) -> None:
        """So many packages are to be read."""
        self._bar = Bar("building", total, unit="packages", quiet=self._quiet)

    def function(self, found: tuple[str, int, int]) -> None:
        """One function is done: (subject, programs, cases)."""
        _, programs, cases = found
        self._functions += 1
        self._programs += programs
        self._cases += cases
        if self._bar is not None:
            self._bar.note(f"{self._functions} functions read, {self._programs} programs, {self._cases} cases")
            self._bar.advance(0)

    def package(self, name: str) -> None:  # noqa: ARG002 (the bar counts, names would flicker)
        """One package is done."""
        if self._bar is not None:
            self._bar.advance()

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()
