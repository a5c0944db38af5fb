"""Runs inside the sandbox: a zygote that forks one process for each call, or batch of calls. This is the wire protocol.

Every frame is four bytes of length, big-endian, and that many bytes. The host writes to stdin, reads from stdout.

host → zygote, first: one JSON object
    {"limits": {…}, "seccomp": bool, "landlock": [readable paths] or null, "drop_root": bool, "attack": bool,
     "preload": {"folders": [path, …], "source": str} or null}
    A worker that is to attack its own walls answers this frame only.
zygote → host, first: one JSON object
    {"ready": true, "python": "3.11.7", "seccomp": bool, "landlock": ABI version or 0, "holes": [attack, …],
     "preload": "" or what the preload raised}
    `holes` names the attacks that went through; it is empty unless `attack` was asked for, or a wall is missing.
host → zygote, then: one JSON object a job
    {"id": int, "source": str, "calls": [[str, its parts (see calls.py) or null], …], "trace": bool, "batch": bool, "cover": bool,
     "witness": int}
zygote → host: one frame for each call, in order, of three lines
    {"id": int, "call": int, "cpu": seconds, "forged": bool}     written by the zygote
    {"status", "plain", "typed", "detail", "unstable", "mutates_arguments"}     written by the child, or for it
    {"metrics": {…}, "lines": […]} or {}     of the traced run
    Only the first line is the zygote's word. The others may be any bytes; the host checks them.
child → zygote, over a pipe of its own: nonce (16 bytes), kind (one byte), length (four bytes), payload
    C the compiled program (of a traced run: with counters in it), for the next children; V an outcome that is a value or an error; R any other outcome;
    T what a traced run counted. One V, R or T for each call that the child was given; anything else is `forged`.
End of stdin ends the zygote and with it the sandbox.

In a batch one child goes on from call to call. When it ends early, the call that it was at has an outcome, and a new
child goes on behind it; a call that could have failed for what earlier ones left behind is tried first in the new one.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_fork, _close, _dup2, _read = os.fork, os.close, os.dup2, os.read
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PRIVATE = "exe"
_READ_SIZE = 1 << 16
_FORGED = ("forged", "bytes that our worker does not write")
_INHERITED = ("memory", "crashed", "overflow")  # what a call in a batch may owe to the calls before it


class _PrivateLoader(importlib.machinery.SourceFileLoader):
    """Executes a module with builtins of its own, which no program can replace."""

    def exec_module(self, module: ModuleType) -> None:
        code = self.get_code(module.__name__)
        if code is None:
            raise ImportError(f"no code for {module.__name__}")
        module.__dict__["__builtins__"] = _BUILTINS
        exec(code, module.__dict__)  # noqa: S102 - our own modules


class _PrivateFinder:
    """Finds the harness's own modules for `sys.meta_path`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != _PRIVATE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _PrivateLoader(spec.loader.name, spec.loader.path)
        return spec


_BUILTINS = dict(vars(builtins))


def _import_harness() -> dict[str, Any]:
    """Import our modules, then take them out of reach of `import`; `sys.path` ends as it began."""
    finder = _PrivateFinder()
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, _ROOT)
    names = ("child", "frames", "pages", "recursion", "rehearsal", "supervise", "tripwire", "walls")
    modules = {name: importlib.import_module(f"exe.sandbox.{name}") for name in names}
    sys.path.remove(_ROOT)
    sys.meta_path.remove(finder)
    _forget((_PRIVATE, "ctypes", "_ctypes"))
    return modules


def _forget(roots: tuple[str, ...]) -> None:
    """Take packages out of `sys.modules`: a program that imports them gets copies of its own."""
    for name in [name for name in sys.modules if name.partition(".")[0] in roots]:
        del sys.modules[name]


class Zygote:
    """One worker: reads jobs, forks children, watches them, forwards their frames."""

    def __init__(self, channel: tuple[int, int], modules: dict[str, Any]) -> None:
        self.requests, self.replies = channel
        self.child, self.frames, self.supervise = modules["child"], modules["frames"], modules["supervise"]
        self.recursion = modules["recursion"]
        self.rehearsal, self.walls = modules["rehearsal"], modules["walls"]
        self.tripwire = modules["tripwire"].Tripwire()
        self.confine: Callable[[int], None] = lambda _: None
        self.limits: dict[str, Any] = {}
        self.filtered = False
        self.poll = select.poll()
        self.patience = 0

    def start(self) -> None:
        """Read the hello frame, raise the walls, warm up, say ready."""
        payload = self.frames.read_frame(self.requests, 1 << 20)
        if payload is None:
            raise SystemExit(0)
        hello = self.frames.load(payload)
        self.limits, self.filtered = hello["limits"], hello["seccomp"]
        self.patience = int(min(self.limits["cpu_seconds"], self.limits["wall_seconds"]) * 500)
        self.confine, landlock_abi = self.walls.raise_walls(hello)
        self.tripwire.install()
        failure = self._preload(hello["preload"])
        holes = []
        if hello["attack"]:
            holes = self.walls.attack(self.confine)
        else:
            self.rehearsal.rehearse(self)
        ready = {
            "ready": True,
            "python": "{}.{}.{}".format(*sys.version_info[:3]),
            "seccomp": self.filtered,
            "landlock": landlock_abi,
            "holes": holes,
            "preload": failure,
        }
        self.frames.write_all(self.replies, self.frames.dump(ready))

    def _preload(self, preload: dict[str, Any] | None) -> str:
        """Execute foreign code here, behind the walls, for all calls to find what it imported; what it raised, or ""."""
        if preload is None:
            return ""
        sys.path.extend(preload["folders"])
        self.tripwire.allow_reading(preload["folders"])
        try:
            exec(compile(preload["source"], "<preload>", "exec"), {"__name__": "preload"})  # noqa: S102
        except BaseException as error:  # noqa: BLE001 - every exception is what the host wants to know
            return str(self.child.clip(f"{type(error).__name__}: {error}"))
        return ""

    def serve(self) -> None:
        """Work until stdin ends."""
        self.poll.register(self.requests, 0)  # only that the host hung up
        while (payload := self.frames.read_frame(self.requests, self.limits["request_bytes"])) is not None:
            self.work(self.frames.load(payload))

    def work(self, job: dict[str, Any]) -> None:
        """Answer every call of a job, in order."""
        if job["batch"]:
            self._work_in_batches(job)
            return
        calls = job["calls"]
        code: bytes | None = None
        instrumented: bytes | None = None
        for at, call in enumerate(calls):
            more = at + 1 < len(calls)
            stream, failure, cpu = self.fork(self._task(job, [call], code, want=code is None and more))
            code = code or stream.code
            if failure is not None:
                self._reply(job, at, failure, cpu)
                continue
            kind, payload = stream.outcomes[0]
            trace = b"{}"
            if job["trace"] and kind == b"V":
                task = self._task(job, [call], code, want=instrumented is None and more)
                stream, failure, _ = self.fork(task._replace(trace=True, instrumented=instrumented))
                instrumented = instrumented or stream.code
                if failure is None and stream.outcomes[0][0] == b"T":
                    trace = stream.outcomes[0][1]
            self._reply(job, at, payload, cpu, trace)

    def _work_in_batches(self, job: dict[str, Any]) -> None:
        calls = job["calls"]
        at = 0
        while at < len(calls):
            stream, failure, cpu = self.fork(self._task(job, calls[at:], None, want=False), (job, at))
            at += len(stream.outcomes)
            if failure is None or (stream.outcomes and failure.status in _INHERITED):
                continue
            self._reply(job, at, failure, cpu)
            at += 1

    def _task(self, job: dict[str, Any], calls: list[Any], code: bytes | None, *, want: bool) -> Any:
        limit = self.limits["result_bytes"]
        return self.child.Task(job["source"], calls, code, want, False, None, limit, job["cover"], job["witness"])

    def _reply(self, job: dict[str, Any], call: int, outcome: Any, cpu: float, trace: bytes = b"{}") -> None:
        """Send one frame. `outcome` is what a child wrote, or the zygote's own word of what became of it."""
        forged = b"false"
        if type(outcome) is not bytes:
            forged = b"true" if outcome.status == "forged" else b"false"
            outcome = outcome.bytes()
        if len(outcome) > self.limits["reply_bytes"]:
            outcome = self.child.failure("overflow", f"reply of {len(outcome)} bytes").bytes()
        header = b'{"id":%d,"call":%d,"cpu":%.6f,"forged":%s}\n' % (job["id"], call, cpu, forged)
        self.frames.write_all(self.replies, self.frames.pack(header + outcome + b"\n" + trace))

    def fork(self, task: Any, batch: tuple[dict[str, Any], int] | None = None) -> tuple[Any, Any, float]:
        """Run one task in a child: what it wrote, what became of the call at which it ended, CPU seconds.

        The second is None when every call has its outcome. The outcomes of a `batch`, a job and the place of the task's
        first call in it, go to the host as they come.
        """
        nonce = os.urandom(self.supervise.NONCE)
        read, write = os.pipe()
        output = _sink()
        stream = self.supervise.Stream(nonce, len(task.calls))
        reporter = self.child.Reporter(write, nonce)
        run, tripwire, confine, calls = self.child.run, self.tripwire, self.confine, len(task.calls)
        depth = self.recursion.Depth(self.limits["recursion_limit"], below=2)
        foreign = (read, output, self.requests, self.replies)
        self.poll.register(read, select.POLLIN)
        began = time.monotonic()
        pid = _fork()
        if pid == 0:
            try:
                if not self.filtered:
                    os.setpgid(0, 0)  # so that what it leaves behind can be found
                _dup2(output, 1)
                _dup2(output, 2)
                for descriptor in foreign:
                    _close(descriptor)
                confine(calls)
                run(task, reporter, tripwire, depth)
            finally:
                os._exit(72)
        _close(write)
        verdict = (
            self._listen(pid, read, stream, began) if batch is None else self._follow(pid, read, stream, began, batch)
        )
        status, cpu, lingered = self.supervise.reap(pid, kill=verdict is not None, reported=stream.complete)
        self.poll.unregister(read)
        _close(read)
        _close(output)
        if not self.filtered:
            self.supervise.sweep(pid)
        if stream.complete:
            return stream, None, cpu
        if lingered:
            verdict = "crashed", "closed its channel and went on"
        verdict = verdict or self.supervise.ended(status, cpu, self.limits["cpu_seconds"])
        if verdict is None and stream.forged:
            verdict = _FORGED
        if verdict is None:
            verdict = "crashed", f"ended with status {os.WEXITSTATUS(status)} and no result"
        return stream, self.child.failure(*verdict), cpu

    def _listen(self, pid: int, read: int, stream: Any, began: float) -> tuple[str, str] | None:
        """Take all that a child writes until it ends, within its time; or why it must be killed.

        Does next to nothing while the child is there: each page that one of the two writes to is copied for it.
        """
        poll = self.poll.poll
        if (events := poll(self.patience)) and len(events) == 1 and events[0][0] == read:
            data = _read(read, _READ_SIZE)
            if data and (events := poll(self.patience)) and events == [(read, select.POLLHUP)]:
                stream.feed(data)
                stream.close()
                return None
        else:
            data = b""
        return self._follow(pid, read, stream, began, None, data)

    def _follow(
        self,
        pid: int,
        read: int,
        stream: Any,
        began: float,
        batch: tuple[dict[str, Any], int] | None,
        data: bytes = b"",
    ) -> tuple[str, str] | None:
        """As `_listen`, with an eye on the clock and on every frame. `data` is what has been read already."""
        limits = self.limits
        allowance = self.supervise.Allowance(pid, began, limits["wall_seconds"], limits["cpu_seconds"])
        ceiling = limits["reply_bytes"] + 3 * limits["request_bytes"]  # an outcome and a compiled program
        stream.feed(data)
        while not stream.complete and not stream.forged:
            left = allowance.left()
            events = self.poll.poll(int(left * 1000) + 1) if left > 0 else []
            if not events:
                if (verdict := allowance.verdict()) is not None:
                    return verdict  # type: ignore[no-any-return]
                continue
            if len(events) > 1 or events[0][0] != read:
                os.kill(pid, signal.SIGKILL)
                os._exit(0)
            data = _read(read, _READ_SIZE)
            if not data:
                stream.close()
                return None
            known = len(stream.outcomes)
            stream.feed(data)
            if batch is not None and len(stream.outcomes) > known:
                self._pass_on(batch, stream.outcomes, known, allowance.next_call())
            if stream.pending > ceiling:
                return "overflow", f"reply of more than {ceiling} bytes"
        return _FORGED if stream.forged else None

    def _pass_on(self, batch: tuple[dict[str, Any], int], outcomes: list[Any], known: int, cpu: float) -> None:
        """Send what has come of a batch since `known`, its CPU time in equal parts."""
        job, at = batch
        for place in range(known, len(outcomes)):
            self._reply(job, at + place, outcomes[place][1], cpu / (len(outcomes) - known))


def _sink() -> int:
    """Where a program's output goes: memory, bounded by the file-size limit, never read."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("output")
    return os.open(os.devnull, os.O_WRONLY)


def main() -> None:
    """Take the channel away from stdin and stdout, then serve."""
    requests, replies = os.dup(0), os.dup(1)
    os.environ.pop("LD_BIND_NOW", None)
    nothing, write = os.pipe()
    os.close(write)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    zygote = Zygote((requests, replies), _import_harness())
    zygote.start()
    zygote.serve()


if __name__ == "__main__":
    main()
