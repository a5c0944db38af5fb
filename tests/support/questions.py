"""Requests and runs in one line, for tests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from exe.records import Completion, Message
from exe.taskset import TaskSet
from exe.taskset import read_set as load
from runners.asking import RetryPolicy
from runners.job import RunSettings
from runners.models import Context, open_model
from runners.models.base import Model, Request
from runners.run import RunSummary, run

FAST = RetryPolicy(retries=4, base=0.01, cap=0.05, timeout=5.0)


def question(case: str = "c1", sample: int = 0, **changes: Any) -> Request:
    return Request(case=case, sample=sample, messages=(Message(role="user", content="What?"),), **changes)


def ask(model: Model, request: Request | None = None) -> Completion:
    """One question to a model that is closed afterwards."""

    async def once() -> Completion:
        try:
            return await model.complete(request or question())
        finally:
            await model.aclose()

    return asyncio.run(once())


def context(taskset: TaskSet, **changes: Any) -> Context:
    return Context(cases=taskset.known(), answer_format=taskset.manifest.answer_format, **changes)


def measure(spec: str, folder: Path, out: Path, settings: RunSettings | None = None, **changes: Any) -> RunSummary:
    """A whole run of the model `spec` on the set in `folder`."""
    taskset = load(folder)
    chosen = settings or RunSettings(policy=FAST)
    return run(open_model(spec, context(taskset, **changes)), taskset, chosen, out)
