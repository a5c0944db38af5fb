"""The process that runs one program: loads it, evaluates calls, encodes what came of them. Never returns.

Everything that this module uses after the program has run is bound beforehand, in modules whose builtins are a private
copy (see `exe/sandbox/worker.py`): a program that replaces `json.dumps` or `builtins.isinstance` deceives only itself.
"""

from __future__ import annotations

import ast
import errno
import marshal
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from exe.sandbox import recursion, tracing
from exe.sandbox.tripwire import Tripwire
from exe.values import Unrepresentable, encode, encode_error, unstable_text
from exe.values import dumps as _dumps

MODULE = "program"  # the neutral name under which a program is registered
SOURCE_NAME = "<program>"
BASE_MEMORY = 128 << 20  # address space of the interpreter itself
DETAIL_LENGTH = 300

CODE, RESULT, OUTCOME, TRACE = b"C", b"R", b"V", b"T"  # V: value or error, worth tracing; R: any other status

_exit = os._exit
_write = os.write
_set_limit = sys.setrecursionlimit
_set_digits = sys.set_int_max_str_digits
_FROM_THE_WALLS = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)


class Task(NamedTuple):
    """One call of one program. `code` is its marshalled code object when an earlier child has compiled it."""

    source: str
    call: str
    code: bytes | None
    want_code: bool
    trace: bool
    limits: Mapping[str, Any]


class Reporter:
    """Writes frames to the zygote: nonce, kind, length, payload."""

    def __init__(self, descriptor: int, nonce: bytes) -> None:
        self.descriptor = descriptor
        self.nonce = nonce

    def send(self, kind: bytes, payload: bytes) -> None:
        """Write one frame, whatever its length."""
        view = memoryview(self.nonce + kind + len(payload).to_bytes(4, "big") + payload)
        while view:
            view = view[_write(self.descriptor, view) :]

    def finish(self, outcome: dict[str, Any]) -> None:
        """Send the outcome and end the process: no exit handlers, no destructors, no flushing."""
        kind = OUTCOME if outcome["status"] in ("value", "error") else RESULT
        self.send(kind, dumps(outcome))
        _exit(0)

    def impure(self, event: str) -> None:
        """End the process with the audit event as its outcome."""
        self.finish(failure("impure", event))


def dumps(message: Any) -> bytes:
    """Compact ASCII JSON, by an encoder that no program can have replaced."""
    return _dumps(message).encode("ascii")


def failure(status: str, detail: str) -> dict[str, Any]:
    """An outcome without a value."""
    return {"status": status, "detail": clip(detail)}


def clip(text: str) -> str:
    """At most DETAIL_LENGTH characters, for people."""
    return text if len(text) <= DETAIL_LENGTH else text[: DETAIL_LENGTH - 1] + "…"


def set_limits(limits: Mapping[str, Any]) -> None:
    """Limits of the child that are tighter than the zygote's."""
    seconds = max(1, -int(-limits["cpu_seconds"] // 1))
    memory = BASE_MEMORY + limits["memory_bytes"]
    signal.setitimer(signal.ITIMER_PROF, limits["cpu_seconds"])  # to the point; the limit below cannot be ignored
    lower(resource.RLIMIT_CPU, seconds, seconds + 1)
    lower(resource.RLIMIT_AS, memory, memory)
    lower(resource.RLIMIT_FSIZE, limits["output_bytes"], limits["output_bytes"])
    lower(resource.RLIMIT_NPROC, 0, 0)


def lower(which: int, soft: int, hard: int) -> None:
    """Set a limit, never above what is in force already."""
    _, ceiling = resource.getrlimit(which)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(which, (soft, hard))


def run(task: Task, reporter: Reporter, tripwire: Tripwire, confine: Callable[[], None]) -> None:
    """Confine this process, run the task in it, report, end."""
    try:
        set_limits(task.limits)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # too much output ends the process, by a signal we can name
        confine()
        code = compile_program(task, reporter)
        if task.trace:
            tripwire.arm(lambda _: _exit(0))
            reporter.send(TRACE, dumps(tracing.measure(task.source, code, task.call, task.limits["recursion_limit"])))
            _exit(0)
        tripwire.arm(reporter.impure)
        outcome = evaluate(code, task.call, task.limits)
        tripwire.disarm()
        reporter.finish(outcome)
    except MemoryError:
        reporter.finish(failure("memory", "MemoryError outside the program"))
    finally:
        _exit(70)


def compile_program(task: Task, reporter: Reporter) -> CodeType:
    """The program's code; an unloadable one ends the process. Sends it on when later children will want it."""
    if task.code is not None:
        code: CodeType = marshal.loads(task.code)
        return code
    try:
        code = compile(task.source, SOURCE_NAME, "exec", dont_inherit=True)
        ast.parse(task.call, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        reporter.finish(failure("unloadable", f"{type(error).__name__}: {error}"))
        raise
    if task.want_code:
        reporter.send(CODE, marshal.dumps(code))
    return code


def evaluate(code: CodeType, call: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Load the program in a fresh module, evaluate the call, encode the result or the exception."""
    module = ModuleType(MODULE)
    sys.modules[MODULE] = module
    namespace = module.__dict__
    depth = recursion.Depth(limits["recursion_limit"])
    parts = split_call(call)  # while `ast` and `compile` are surely themselves
    whole = compile(call, "<call>", "eval", dont_inherit=True)
    try:
        depth.load(code, namespace)
    except BaseException as error:  # noqa: BLE001 - whatever a program raises while it loads
        depth.relax()
        return _load_failure(error, limits["result_bytes"])
    mutates: bool | None = None
    arguments: list[Any] = []
    try:
        if parts is None:
            value = depth.evaluate(whole, namespace)
        else:
            function, *arguments = depth.evaluate(parts, namespace)
            value = depth.call(function, *arguments)
    except BaseException as error:  # noqa: BLE001 - every exception is an outcome, SystemExit too
        depth.relax()
        outcome = error_outcome(error, limits["result_bytes"])
    else:
        outcome = value_outcome(value, limits["result_bytes"])
    depth.release()
    if parts is not None and arguments and outcome["status"] in ("value", "error"):
        mutates = _mutated(parts, arguments, namespace)
    return {**outcome, "mutates_arguments": mutates}


def _load_failure(error: BaseException, result_bytes: int) -> dict[str, Any]:
    if isinstance(error, MemoryError):
        return failure("memory", "MemoryError while loading")
    shown = error_outcome(error, result_bytes)
    if shown["status"] != "error":
        return failure("unloadable", type(error).__name__)
    return failure("unloadable", "{code}: {message}".format(**shown["plain"]["error"]))


def value_outcome(value: Any, result_bytes: int) -> dict[str, Any]:
    """The outcome of a call that returned; draining an iterator may still raise, which then is the outcome."""
    try:
        plain, typed = encode(value)
        _set_digits(0)
        size = len(dumps(plain))
    except Unrepresentable as error:
        return failure("overflow" if error.reason == "large" else "unrepresentable", str(error))
    except MemoryError:
        return failure("overflow", "the result does not fit into memory once encoded")
    except RecursionError:
        return failure("unrepresentable", "nested too deeply")
    except BaseException as error:  # noqa: BLE001 - raised by the program's own iterator
        return error_outcome(error, result_bytes)
    if size > result_bytes:
        return failure("overflow", f"result of {size} bytes, limit {result_bytes}")
    return {
        "status": "value",
        "plain": {"value": plain},
        "typed": {"value": typed},
        "unstable": unstable_text(plain),
    }


def error_outcome(error: BaseException, result_bytes: int) -> dict[str, Any]:
    """The outcome of a call that raised; what the walls or the machine raised is not the program's own."""
    if isinstance(error, MemoryError):
        return failure("memory", "MemoryError")
    if isinstance(error, OSError) and type(error.errno) is int and error.errno in _FROM_THE_WALLS:
        return failure("impure", f"{type(error).__name__}: {os.strerror(error.errno)}")
    if type(error).__name__ == "ZoneInfoNotFoundError" and type(error).__module__ == "zoneinfo._common":
        return failure("impure", "the time-zone database of the machine")
    try:
        plain, typed = encode_error(error)
        _set_digits(0)
        size = len(dumps(plain))
    except Unrepresentable as problem:
        return failure("overflow" if problem.reason == "large" else "unrepresentable", str(problem))
    except BaseException as problem:  # noqa: BLE001 - the exception's own __str__ ran, at the limit of something
        return failure("unrepresentable", f"{type(error).__name__} whose text raises {type(problem).__name__}")
    if size > result_bytes:
        return failure("overflow", f"error of {size} bytes, limit {result_bytes}")
    return {"status": "error", "plain": plain, "typed": typed, "unstable": unstable_text(plain)}


def split_call(call: str) -> CodeType | None:
    """Code that evaluates `f(a, b=c)` to `(f, (a,), {"b": c})`, in Python's own order, so that the arguments stay at hand.

    None for other expressions and for calls with `*` or `**`.
    """
    tree = ast.parse(call, mode="eval")
    body = tree.body
    if not isinstance(body, ast.Call) or any(isinstance(argument, ast.Starred) for argument in body.args):
        return None
    if any(keyword.arg is None for keyword in body.keywords):
        return None
    names: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in body.keywords]
    keywords = ast.Dict(keys=names, values=[keyword.value for keyword in body.keywords])
    positional = ast.Tuple(elts=body.args, ctx=ast.Load())
    tree.body = ast.Tuple(elts=[body.func, positional, keywords], ctx=ast.Load())
    code: CodeType = compile(ast.fix_missing_locations(tree), "<call>", "eval", dont_inherit=True)
    return code


def _mutated(parts: CodeType, used: list[Any], namespace: dict[str, Any]) -> bool | None:
    """Whether the call changed its arguments: those it got, against the same expressions evaluated afresh.

    Both are encoded only after the result is, so that looking at iterators cannot disturb it. None when either has no
    form to compare.
    """
    try:
        return bool(encode(used)[1] != encode(list(eval(parts, namespace)[1:]))[1])  # noqa: S307 - inside the walls
    except BaseException:  # noqa: BLE001 - the program's own code may run here; then nothing is known
        return None
