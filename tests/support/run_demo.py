"""A run as a process of its own, to be killed: `python -m tests.support.run_demo MODEL SET OUT [SLEEP]`.

SLEEP seconds pass before each answer, so that a kill finds the run at work. Exit codes are those of the command line.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from exe.errors import ExeError
from exe.records import Completion, Json
from exe.taskset import read_set as load
from runners.asking import RetryPolicy
from runners.job import RunSettings
from runners.models import Model, Request, Traits, open_model
from runners.run import run
from tests.support.questions import context


@dataclass
class Slow:
    """A model that takes its time and is otherwise the one it wraps."""

    inner: Model
    seconds: float

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def settings(self) -> dict[str, Json]:
        return self.inner.settings

    @property
    def traits(self) -> Traits:
        return self.inner.traits

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(self.seconds)
        return await self.inner.complete(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


def main(spec: str, folder: str, out: str, sleep: str = "0") -> int:
    taskset = load(Path(folder))
    model = Slow(open_model(spec, context(taskset)), float(sleep))
    settings = RunSettings(samples=2, concurrency=3, policy=RetryPolicy(retries=2, base=0.02, timeout=20.0))
    try:
        done = run(model, taskset, settings, Path(out), lambda now: print(now.done, flush=True))
    except ExeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    print(f"asked {done.asked}")
    return 0 if done.score.complete else 3


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
