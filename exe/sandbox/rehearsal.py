"""What a worker does before its first job, so that its children find it done: imports, and runs of the whole way.

A page that a child writes to must be copied for it, and that is most of what a call costs. An interpreter writes when it
first runs a piece of code (caches inside the code, caches of attribute look-ups, symbols of shared libraries) and no
more when it has run it often enough. So the zygote runs all that a child will, many times, before it forks any.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys

from exe.sandbox import calls, child, frames, pages, recursion, supervise, tracing
from exe.sandbox.forking import Forker

_WARM = ("collections", "dataclasses", "datetime", "enum", "functools", "itertools", "math", "re",
         "string", "typing")  # fmt: skip
_ROUNDS = 12
_FORKS = 6
_PROGRAM = """
from __future__ import annotations
import math
LIMIT: int = 3
class Shape:
    def __init__(self, name, sides=0):
        self.name = name
        self.sides = sides
    @property
    def title(self):
        return f"{self.name!s}:{self.sides:>3}"
def gather(items, key=None, *rest, **options):
    found, counts = [], {}
    for index, item in enumerate(items):
        if index > LIMIT and not found or item in rest:
            continue
        counts[item] = counts.get(item, 0) + 1
        found.append((item, index))
    while len(found) > 9:
        found.pop()
    try:
        total = sum(count for count in counts.values()) / (len(found) or 1)
    except (ValueError, ZeroDivisionError) as error:
        raise TypeError(str(error)) from error
    text = ", ".join(str(item).upper().strip() for item, _ in sorted(found, key=lambda pair: pair[1], reverse=True))
    return {"text": text[::-1], "total": total, "kinds": {type(item).__name__ for item in items}, "found": found[1:],
            "title": Shape("a", 1).title, "deep": [[None, True, -1.5], (1, "x")], "left": math.floor(total)}
def broken(text):
    return {}[text]
"""
_CALLS = ("gather([1, 'a', 2, 'a'])", "gather('abc', None, 'b', mode=[1])", "broken('x')", "broken(text=['x'])",
          "gather([])['total'] + 1", "undefined(1)")  # fmt: skip


def rehearse(forker: Forker) -> None:
    """Import what programs import, run programs here and in children, then keep the collector off all that exists."""
    for name in _WARM:
        importlib.import_module(name)
    recursion.calibrate()
    limit, digits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    read, write = os.pipe()
    for index in range(_ROUNDS):
        _perform(_CALLS[index % len(_CALLS)], read, write)
    for call in _CALLS:
        tracing.measure(compile(_PROGRAM, child.SOURCE_NAME, "exec"), tracing.instrument(_PROGRAM), call, 1000)
    recursion.calibrate()  # again, since code that has run often enough calls builtins by a shorter way
    os.close(read)
    os.close(write)
    sys.modules.pop(child.MODULE, None)
    sys.setrecursionlimit(limit)
    sys.set_int_max_str_digits(digits)
    _fork_some(forker)
    gc.collect()
    pages.plug()
    gc.freeze()
    _fork_some(forker)  # again, since the memory that was at hand is now another


def _perform(call: str, read: int, write: int) -> None:
    """Do in this process what a child does between confining itself and ending, and take what it writes."""
    reporter = child.Reporter(write, os.urandom(supervise.NONCE))
    task = _task(call)
    source, ((_, parts),) = task.job.contents()
    code = child.compile_program(task, source, reporter)
    depth = recursion.Depth(1000, below=1)
    namespace = child.load(code, depth, task.result_bytes, {})
    assert not isinstance(namespace, child.Found)
    reporter.tell(child.evaluate(namespace, call, parts, depth, task.result_bytes))
    stream = supervise.Stream(reporter.nonce, 1)
    stream.feed(os.read(read, 1 << 16))
    assert stream.complete


def _fork_some(forker: Forker) -> None:
    for index in range(_FORKS):
        forker.fork(_task(_CALLS[index % len(_CALLS)]))


def _task(call: str) -> child.Task:
    payload = frames.dump_job(0, _PROGRAM, [(call, calls.split(call))], frames.Kind())
    return child.Task(frames.load_job(payload), 0, 1, None, False, False, None, 1 << 16)
