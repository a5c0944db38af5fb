"""The process that runs one program: loads it, evaluates calls, encodes what came of them. Never returns.

Everything that this module uses after the program has run is bound beforehand, in modules whose builtins are a private
copy (see `exe/sandbox/worker.py`): a program that replaces `json.dumps` or `builtins.isinstance` deceives only itself.
"""

from __future__ import annotations

import errno
import marshal
import os
import sys
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from exe.sandbox import branches, calls, recursion, tracing, witness
from exe.sandbox.frames import JobFrame
from exe.sandbox.tripwire import Tripwire
from exe.values import Unrepresentable, encode, encode_error, unstable_text
from exe.values import dumps as _dumps

MODULE = "program"  # the neutral name under which a program is registered
SOURCE_NAME = "<program>"
DETAIL_LENGTH = 300
_TOO_LONG = "more branches than the limit"

CODE, RESULT, OUTCOME, TRACE = b"C", b"R", b"V", b"T"  # V: value or error, worth tracing; R: any other status

_exit = os._exit
_write = os.write
_set_digits = sys.set_int_max_str_digits
_DIGITS = sys.get_int_max_str_digits()
_FROM_THE_WALLS = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)
_IMMUTABLE = frozenset({int, str, float, bool, bytes, complex, type(None)})
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)


class Task(NamedTuple):
    """Calls of a job, from `start` to `stop`, all of them of one program.

    `code` is the program's marshalled code object when an earlier child has compiled it, `instrumented` the same of the
    program with counters in it, which a traced task needs. What is missing is compiled, and sent on if `want_code`.
    """

    job: JobFrame
    start: int
    stop: int
    code: bytes | None
    want_code: bool
    trace: bool
    instrumented: bytes | None
    result_bytes: int


class Found(NamedTuple):
    """What became of a call: its status and the members of its JSON object."""

    status: str
    members: str

    def bytes(self) -> bytes:
        """The JSON object."""
        return b"{" + self.members.encode("ascii") + b"}"


class Reporter:
    """Writes frames to the zygote: nonce, kind, length, payload."""

    def __init__(self, descriptor: int, nonce: bytes) -> None:
        self.descriptor = descriptor
        self.nonce = nonce

    def send(self, kind: bytes, payload: bytes) -> None:
        """Write one frame, whatever its length."""
        data = self.nonce + kind + len(payload).to_bytes(4, "big") + payload
        sent = _write(self.descriptor, data)
        while sent < len(data):
            sent += _write(self.descriptor, data[sent:])

    def tell(self, found: Found) -> None:
        """Send the outcome of a call."""
        self.send(OUTCOME if found.status in ("value", "error") else RESULT, found.bytes())

    def finish(self, found: Found) -> None:
        """Send the outcome and end the process: no exit handlers, no destructors, no flushing."""
        self.tell(found)
        _exit(0)

    def impure(self, event: str) -> None:
        """End the process with the audit event as its outcome."""
        self.finish(failure("impure", event))


def dumps(message: Any) -> bytes:
    """Compact ASCII JSON, by an encoder that no program can have replaced."""
    return _dumps(message).encode("ascii")


def failure(status: str, detail: str) -> Found:
    """An outcome without a value."""
    return Found(status, f'"status":"{status}","detail":{_dumps(clip(detail))}')


def _quoted(text: str | None) -> str:
    return "null" if text is None else _dumps(text)


def clip(text: str) -> str:
    """At most DETAIL_LENGTH characters, for people."""
    return text if len(text) <= DETAIL_LENGTH else text[: DETAIL_LENGTH - 1] + "…"


def run(task: Task, reporter: Reporter, tripwire: Tripwire, depth: recursion.Depth) -> None:
    """Run the task in this process, which is confined, report call by call, end. `depth` was made by the caller."""
    try:
        source, asked = task.job.contents()
        code = compile_program(task, source, reporter)
        asked = asked[task.start : task.stop]
        if task.trace:
            tripwire.arm(lambda _: _exit(0))
            ((call, _),) = asked
            instrumented = instrument_program(task, source, reporter)
            reporter.send(TRACE, dumps(tracing.measure(code, instrumented, call, depth.limit)))
            _exit(0)
        cover, under = task.job.cover, task.job.witness
        seen = branches.Seen(task.job.steps, lambda: reporter.finish(failure("timeout", _TOO_LONG))) if cover else None
        names = {} if seen is None else seen.names()
        if under:
            text = "\n".join([source, *(call for call, _ in asked)])
            names["__name__"] = witness.change(under, text).name
        tripwire.arm(reporter.impure)
        first = True
        kept: dict[str, Any] | None = None
        for call, parts in asked:
            if under and not first:
                witness.again(under)
            namespace = load(code, depth, task.result_bytes, names) if kept is None else kept
            if seen is not None:
                seen.clear()
            if isinstance(namespace, Found):
                found = namespace
            else:
                kept = namespace if cover and task.job.batch else None
                found = evaluate(namespace, call, parts, depth, task.result_bytes)
            if seen is not None:
                taken, pairs = _dumps(sorted(seen.numbers)), _dumps([list(pair) for pair in seen.pairs])
                found = Found(found.status, f'{found.members},"branches":{taken},"compared":{pairs}')
            if found.status == "memory" and not first:
                _exit(70)  # perhaps for what earlier calls left behind: to be tried again in a process of its own
            reporter.tell(found)
            first = False
        _exit(0)
    except MemoryError:
        reporter.finish(failure("memory", "MemoryError outside the program"))
    finally:
        _exit(70)


def compile_program(task: Task, source: str, reporter: Reporter) -> CodeType:
    """The program's code; an unloadable one ends the process. Sends it on when later children will want it."""
    if task.code is not None:
        code: CodeType = marshal.loads(task.code)
        return code
    try:
        if task.job.cover:
            code = branches.instrument(source, SOURCE_NAME)
        else:
            code = compile(source, SOURCE_NAME, "exec", dont_inherit=True)
    except _UNREADABLE as error:
        unloadable = failure("unloadable", f"{type(error).__name__}: {error}")
        for _ in range(task.start, task.stop):
            reporter.tell(unloadable)
        _exit(0)
        raise
    if task.want_code and not task.trace:
        reporter.send(CODE, marshal.dumps(code))
    return code


def instrument_program(task: Task, source: str, reporter: Reporter) -> CodeType:
    """The program's code with counters in it, which is sent on when later children will want it."""
    if task.instrumented is not None:
        code: CodeType = marshal.loads(task.instrumented)
        return code
    code = tracing.instrument(source)
    if task.want_code:
        reporter.send(CODE, marshal.dumps(code))
    return code


def load(code: CodeType, depth: recursion.Depth, result_bytes: int, names: dict[str, Any]) -> dict[str, Any] | Found:
    """The namespace of a fresh module that has these names and the program in it, or why it does not load."""
    module = ModuleType(MODULE)
    namespace = module.__dict__
    namespace.update(names)
    sys.modules[namespace["__name__"]] = module
    _set_digits(_DIGITS)
    depth.begin()
    try:
        depth.load(code, namespace)
    except BaseException as error:  # noqa: BLE001 - whatever a program raises while it loads
        depth.relax()
        return _load_failure(error, result_bytes)
    return namespace


def evaluate(
    namespace: dict[str, Any], call: str, parts: str | None, depth: recursion.Depth, result_bytes: int
) -> Found:
    """Evaluate the call in a loaded program's namespace, encode the result or the exception."""
    if parts is None and len(call) > calls.LONGEST:
        parts = calls.split(call)
    try:
        expression = compile(call if parts is None else parts, "<call>", "eval", dont_inherit=True)
    except _UNREADABLE as error:
        return failure("unloadable", f"{type(error).__name__}: {error}")
    _set_digits(_DIGITS)
    arguments: list[Any] = []
    try:
        if parts is None:
            value = depth.evaluate(expression, namespace)
        else:
            function, *arguments = depth.evaluate(expression, namespace)
            value = depth.call(function, *arguments)
    except BaseException as error:  # noqa: BLE001 - every exception is an outcome, SystemExit too
        depth.relax()
        found = error_outcome(error, result_bytes)
    else:
        found = value_outcome(value, result_bytes)
    depth.release()
    if found.status not in ("value", "error"):
        return found
    mutates = _mutated(expression, arguments, namespace) if arguments else None
    shown = "null" if mutates is None else "true" if mutates else "false"
    return Found(found.status, f'{found.members},"mutates_arguments":{shown}')


def _load_failure(error: BaseException, result_bytes: int) -> Found:
    if isinstance(error, MemoryError):
        return failure("memory", "MemoryError while loading")
    if error_outcome(error, result_bytes).status != "error":
        return failure("unloadable", type(error).__name__)
    plain, _ = encode_error(error)
    return failure("unloadable", "{code}: {message}".format(**plain["error"]))


def value_outcome(value: Any, result_bytes: int) -> Found:
    """The outcome of a call that returned; draining an iterator may still raise, which then is the outcome."""
    try:
        plain, typed = encode(value)
        _set_digits(0)
        text = _dumps(plain)
        if len(text) > result_bytes:
            return failure("overflow", f"result of {len(text)} bytes, limit {result_bytes}")
        twin = text if typed is plain else _dumps(typed)
    except Unrepresentable as error:
        return failure("overflow" if error.reason == "large" else "unrepresentable", str(error))
    except MemoryError:
        return failure("overflow", "the result does not fit into memory once encoded")
    except RecursionError:
        return failure("unrepresentable", "nested too deeply")
    except BaseException as error:  # noqa: BLE001 - raised by the program's own iterator
        return error_outcome(error, result_bytes)
    unstable = _quoted(unstable_text(plain))
    members = f'"status":"value","plain":{{"value":{text}}},"typed":{{"value":{twin}}},"unstable":{unstable}'
    return Found("value", members)


def error_outcome(error: BaseException, result_bytes: int) -> Found:
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
        text, twin = _dumps(plain), _dumps(typed)
    except Unrepresentable as problem:
        return failure("overflow" if problem.reason == "large" else "unrepresentable", str(problem))
    except BaseException as problem:  # noqa: BLE001 - the exception's own __str__ ran, at the limit of something
        return failure("unrepresentable", f"{type(error).__name__} whose text raises {type(problem).__name__}")
    if len(text) > result_bytes:
        return failure("overflow", f"error of {len(text)} bytes, limit {result_bytes}")
    unstable = _quoted(unstable_text(plain))
    return Found("error", f'"status":"error","plain":{text},"typed":{twin},"unstable":{unstable}')


def _mutated(parts: CodeType, used: list[Any], namespace: dict[str, Any]) -> bool | None:
    """Whether the call changed its arguments: those it got, against the same expressions evaluated afresh.

    Both are encoded only after the result is, so that looking at iterators cannot disturb it. None when either has no
    form to compare.
    """
    positional, keywords = used
    if all(type(value) in _IMMUTABLE for value in (*positional, *keywords.values())):
        return False
    try:
        return bool(encode(used)[1] != encode(list(eval(parts, namespace)[1:]))[1])  # noqa: S307 - inside the walls
    except BaseException:  # noqa: BLE001 - the program's own code may run here; then nothing is known
        return None
