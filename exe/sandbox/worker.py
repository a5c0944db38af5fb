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
host → zygote, then: one frame a job, which `frames.dump_job` writes
    id (four bytes), number of calls (four bytes), trace, batch, cover (a byte each), witness, steps
    (four bytes each), CPU seconds (a double), a hash of the source (16 bytes), and, marshalled, for the children
    (source, ((call, its parts (see calls.py) or None), …))
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
import signal
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PRIVATE = "exe"
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
    names = ("child", "forking", "frames", "recursion", "rehearsal", "tripwire", "walls")
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
    """One worker: reads jobs, has children forked for them, forwards what they write."""

    def __init__(self, channel: tuple[int, int], modules: dict[str, Any]) -> None:
        self.requests, self.replies = channel
        self.child, self.forking, self.frames = modules["child"], modules["forking"], modules["frames"]
        self.recursion, self.rehearsal, self.walls = modules["recursion"], modules["rehearsal"], modules["walls"]
        self.tripwire = modules["tripwire"].Tripwire()
        self.limits: dict[str, Any] = {}
        self.forker: Any = None
        self.probed: tuple[bytes, bytes | None] = (
            b"",
            None,
        )  # of the latest batch with probes: its source, the compiled program

    def start(self) -> None:
        """Read the hello frame, raise the walls, warm up, say ready."""
        payload = self.frames.read_frame(self.requests, 1 << 20)
        if payload is None:
            raise SystemExit(0)
        hello = self.frames.load(payload)
        self.limits = hello["limits"]
        confine, landlock_abi = self.walls.raise_walls(hello)
        depth = self.recursion.Depth(self.limits["recursion_limit"], below=0)  # for the rehearsal
        self.forker = self.forking.Forker(
            (self.requests, self.replies), self.limits, self.tripwire, confine, depth, filtered=hello["seccomp"]
        )
        self.tripwire.install()
        failure = self._preload(hello["preload"])
        holes = []
        if hello["attack"]:
            holes = self.walls.attack(confine)
        else:
            self.rehearsal.rehearse(self.forker)
        ready = {
            "ready": True,
            "python": "{}.{}.{}".format(*sys.version_info[:3]),
            "seccomp": hello["seccomp"],
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
        self.forker.depth = self.recursion.Depth(self.limits["recursion_limit"], below=4)
        read_frame, load_job, limit = self.frames.read_frame, self.frames.load_job, self.limits["request_bytes"]
        while (payload := read_frame(self.requests, limit)) is not None:
            job = load_job(payload)
            if job.batch:
                self.work_in_batches(job)
            else:
                self.work(job)

    def work(self, job: Any) -> None:
        """Answer every call of a job, in order, each from a process of its own."""
        code = self._probed(job)
        instrumented: bytes | None = None
        for at in range(job.calls):
            more = at + 1 < job.calls
            task = self.child.Task(
                job, at, at + 1, code, code is None and more, False, None, self.limits["result_bytes"]
            )
            heard = self.forker.fork(task)
            code = code or heard.code
            if heard.failure is not None:
                self._send(self._reply(job, at, heard.failure, heard.cpu))
                continue
            kind, payload = heard.outcomes[0]
            trace = b"{}"
            if job.trace and kind == b"V":
                task = task._replace(code=code, want_code=instrumented is None and more, trace=True)
                counted = self.forker.fork(task._replace(instrumented=instrumented))
                instrumented = instrumented or counted.code
                if counted.failure is None and counted.outcomes[0][0] == b"T":
                    trace = counted.outcomes[0][1]
            self._send(self._reply(job, at, payload, heard.cpu, trace))

    def work_in_batches(self, job: Any) -> None:
        """Answer every call of a job, in order, as many as can be from one process.

        Jobs that guide the choice of inputs come one after another for the same program, which is compiled once for all.
        A child sends it before any of it runs, so that no program has a word in what another one is.
        """
        at = 0
        code = self._probed(job)

        def pass_on(outcomes: list[Any], cpu: float) -> None:
            nonlocal at
            replies = [self._reply(job, place, told, cpu) for place, (_, told) in enumerate(outcomes, at)]
            self._send(b"".join(replies))
            at += len(outcomes)

        while at < job.calls:
            asked = job.cover and code is None
            task = self.child.Task(job, at, job.calls, code, asked, False, None, self.limits["result_bytes"])
            heard = self.forker.fork(task, pass_on)
            if asked and heard.code is not None:
                code = heard.code
                self.probed = job.source, code
            if heard.failure is None or (heard.outcomes and heard.failure.status in _INHERITED):
                continue
            pass_on([(b"R", heard.failure)], heard.cpu)

    def _probed(self, job: Any) -> bytes | None:
        """The compiled program of a job with probes, where the latest batch was of the same one."""
        return self.probed[1] if job.cover and job.source == self.probed[0] else None

    def _reply(self, job: Any, call: int, outcome: Any, cpu: float, trace: bytes = b"{}") -> bytes:
        """One frame. `outcome` is what a child wrote, or the zygote's own word of what became of it."""
        forged = b"false"
        if type(outcome) is not bytes:
            forged = b"true" if outcome.status == "forged" else b"false"
            outcome = outcome.bytes()
        if len(outcome) > self.limits["reply_bytes"]:
            outcome = self.child.failure("overflow", f"reply of {len(outcome)} bytes").bytes()
        header = b'{"id":%d,"call":%d,"cpu":%.6f,"forged":%s}' % (job.number, call, cpu, forged)
        return self.frames.pack(b"%b\n%b\n%b" % (header, outcome, trace))  # type: ignore[no-any-return]

    def _send(self, data: bytes) -> None:
        self.frames.write_all(self.replies, data)


def main() -> None:
    """Take the channel away from stdin and stdout, then serve."""
    requests, replies = os.dup(0), os.dup(1)
    os.environ.pop("LD_BIND_NOW", None)
    nothing, write = os.pipe()
    os.close(write)
    os.dup2(nothing, 0)
    os.close(nothing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    zygote = Zygote((requests, replies), _import_harness())
    zygote.start()
    zygote.serve()


if __name__ == "__main__":
    main()
