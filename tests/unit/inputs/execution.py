"""A small executor for tests: our own programs, in this process, outcomes as the sandbox would give them."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator

from exe.records import Job, Outcome
from exe.values import Unrepresentable, encode


def execute(jobs: Iterable[Job]) -> Iterator[tuple[Outcome, ...]]:
    for job in jobs:
        yield tuple(run(job.source, call) for call in job.calls)


def run(source: str, call: str) -> Outcome:
    module = types.ModuleType("program")
    sys.modules["program"] = module
    try:
        exec(compile(source, "program", "exec", dont_inherit=True), module.__dict__)
        try:
            plain, typed = encode(eval(call, module.__dict__))
            return Outcome(status="value", plain={"value": plain}, typed={"value": typed}, cpu_seconds=0.0)
        except Unrepresentable as error:
            return Outcome(status="unrepresentable", detail=str(error))
        except Exception as error:  # noqa: BLE001  (whatever the program raises is its outcome)
            body = {"error": {"code": type(error).__name__, "message": str(error)}}
            return Outcome(status="error", plain=body, typed=body, cpu_seconds=0.0)
    finally:
        del sys.modules["program"]
