"""Runs inside the sandbox: a zygote that forks one process for each call. This docstring is the wire protocol.

Every frame is four bytes of length, big-endian, and that many bytes. The host writes to stdin, reads from stdout.

host → zygote, first: one JSON object
    {"limits": {…}, "seccomp": bool, "landlock": [readable paths] or null, "drop_root": bool, "attack": bool,
     "preload": {"folders": [path, …], "source": str} or null}
zygote → host, first: one JSON object
    {"ready": true, "python": "3.11.7", "seccomp": bool, "landlock": ABI version or 0, "holes": [attack, …],
     "preload": "" or what the preload raised}
    `holes` names the attacks that went through; it is empty unless `attack` was asked for, or a wall is missing.
host → zygote, then: one JSON object a job
    {"id": int, "source": str, "calls": [str, …], "trace": bool}
zygote → host: one frame for each call, in order, of three lines
    {"id": int, "call": int, "cpu": seconds, "forged": bool}     written by the zygote
    {"status", "plain", "typed", "detail", "unstable", "mutates_arguments"}     written by the child, or for it
    {"metrics": {…}, "lines": […]} or {}     of the traced run
    Only the first line is the zygote's word. The others may be any bytes; the host checks them.
child → zygote, over a pipe of its own: nonce (16 bytes), kind (one byte), length (four bytes), payload
    C the compiled program, for the next children; V an outcome that is a value or an error; R any other outcome;
    T what a traced run counted. Exactly one of V, R, T ends the stream; anything else is `forged`.
End of stdin ends the zygote and with it the sandbox.
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

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PRIVATE = "exe"
_WARM = ("collections", "dataclasses", "datetime", "enum", "functools", "itertools", "math", "re",
         "string", "typing")  # fmt: skip
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_STARVED = 0.05  # a process that used this part of its time is busy on a busy machine, not asleep
_PATIENCE = 4  # times its wall-clock limit that a busy process gets, at most


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
    names = ("battery", "child", "frames", "landlock", "recursion", "seccomp", "supervise", "tripwire")
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
    """One worker: reads jobs, forks a child for each call, watches it, forwards its frame."""

    def __init__(self, channel: tuple[int, int], modules: dict[str, Any]) -> None:
        self.requests, self.replies = channel
        self.battery, self.child, self.frames = modules["battery"], modules["child"], modules["frames"]
        self.landlock, self.seccomp, self.recursion = modules["landlock"], modules["seccomp"], modules["recursion"]
        self.supervise = modules["supervise"]
        self.tripwire = modules["tripwire"].Tripwire()
        self.confine: Callable[[], None] = lambda: None
        self.limits: dict[str, Any] = {}

    def start(self) -> None:
        """Read the hello frame, raise the walls, warm up, say ready."""
        payload = self.frames.read_frame(self.requests, 1 << 20)
        if payload is None:
            raise SystemExit(0)
        hello = self.frames.load(payload)
        self.limits = hello["limits"]
        landlock_abi = self._raise_walls(hello)
        self.tripwire.install()
        self.recursion.calibrate()
        failure = self._preload(hello["preload"])
        _warm_up(self.child)
        holes = self._attack() if hello["attack"] else []
        version = "{}.{}.{}".format(*sys.version_info[:3])
        ready = {
            "ready": True,
            "python": version,
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

    def _raise_walls(self, hello: dict[str, Any]) -> int:
        import resource

        for which, amount in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, 64),
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_STACK, self.limits["stack_bytes"]),
        ):
            self.child.lower(which, amount, amount)
        if hello["drop_root"]:
            _drop_root([os.__file__, __file__, *(hello["preload"] or {}).get("folders", ())])
        libc = _die_with_parent()
        if not hello["seccomp"] and libc is not None:
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        abi = 0
        if hello["landlock"] is not None:
            abi = self.landlock.restrict(hello["landlock"])
            if abi == 0:
                raise OSError("this kernel has no Landlock")
        zygote_pid = os.getpid()
        tighten = self.seccomp.Loader(self.seccomp.assemble(zygote=False)) if hello["seccomp"] else None

        def confine() -> None:
            if libc is not None:
                libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
                if os.getppid() != zygote_pid:
                    os._exit(71)
            if tighten is not None:
                tighten()

        self.confine = confine
        if hello["seccomp"]:
            self.seccomp.Loader(self.seccomp.assemble(zygote=True))()
        return int(abi)

    def _attack(self) -> list[str]:
        """Fork a child for each attack, behind all walls but without the tripwire; the attacks that went through."""
        holes = []
        for name, attack in self.battery.attacks():
            pid = os.fork()
            if pid == 0:
                try:
                    self.child.set_limits(self.limits)
                    self.confine()
                    attack()
                    os._exit(0)
                finally:
                    os._exit(1)
            if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
                holes.append(name)
        return holes

    def serve(self) -> None:
        """Work until stdin ends."""
        while (payload := self.frames.read_frame(self.requests, self.limits["request_bytes"])) is not None:
            job = self.frames.load(payload)
            code: bytes | None = None
            for index, call in enumerate(job["calls"]):
                task = self._task(job, call, code, want=code is None and len(job["calls"]) > index + 1)
                cpu, forged, found = self.fork(task)
                code = found.get(b"C", code)
                outcome = found.get(b"V") or found.get(b"R") or self.child.dumps(found["outcome"])
                if len(outcome) > self.limits["reply_bytes"]:
                    outcome = self.child.dumps(self.child.failure("overflow", f"reply of {len(outcome)} bytes"))
                trace = b"{}"
                if job["trace"] and b"V" in found:
                    traced = self._task(job, call, code, want=False, trace=True)
                    trace = self.fork(traced)[2].get(b"T", b"{}")
                header = self.child.dumps({"id": job["id"], "call": index, "cpu": round(cpu, 6), "forged": forged})
                reply = self.frames.pack(b"\n".join((header, outcome, trace)))
                self.frames.write_all(self.replies, reply)

    def _task(self, job: dict[str, Any], call: str, code: bytes | None, *, want: bool, trace: bool = False) -> Any:
        return self.child.Task(
            source=job["source"], call=call, code=code, want_code=want, trace=trace, limits=self.limits
        )

    def fork(self, task: Any) -> tuple[float, bool, dict[Any, Any]]:
        """Run one task in a child: CPU seconds, whether its reply is forged, and its frames by kind.

        Where there is no reply, the key "outcome" holds what became of the child.
        """
        nonce = os.urandom(self.supervise.NONCE)
        read, write = os.pipe()
        output = _sink()
        pid = os.fork()
        if pid == 0:
            try:
                os.setpgid(0, 0)
                os.dup2(output, 1)
                os.dup2(output, 2)
                for descriptor in (read, output, self.requests, self.replies):
                    os.close(descriptor)
                self.child.run(task, self.child.Reporter(write, nonce), self.tripwire, self.confine)
            finally:
                os._exit(72)
        os.close(write)
        os.close(output)
        data, verdict = self._listen(pid, read)
        os.close(read)
        found = self.supervise.parse(data, nonce)
        reported = verdict is None and self.supervise.final(found)
        status, cpu, lingered = self.supervise.reap(pid, kill=verdict is not None, reported=reported)
        if reported and os.WIFEXITED(status):
            return cpu, False, found
        if lingered:
            verdict = "crashed", "closed its channel and went on"
        verdict = verdict or self.supervise.ended(status, cpu, self.limits["cpu_seconds"])
        if verdict is None and found is None:
            return cpu, True, {"outcome": self.child.failure("forged", "bytes that our worker does not write")}
        if verdict is None:
            verdict = "crashed", f"ended with status {os.WEXITSTATUS(status)} and no result"
        return cpu, False, {**self.supervise.code_only(found), "outcome": self.child.failure(*verdict)}

    def _listen(self, pid: int, read: int) -> tuple[bytes, tuple[str, str] | None]:
        """All that the child writes until it ends, within its time; the second item is why it must be killed."""
        wall = self.limits["wall_seconds"]
        started = time.monotonic()
        deadline, consumed = started + wall, 0.0
        ceiling = self.limits["reply_bytes"] + 3 * self.limits["request_bytes"]  # an outcome and a compiled program
        poll = select.poll()
        poll.register(read, select.POLLIN)
        poll.register(self.requests, 0)  # only that the host hung up
        parts = bytearray()
        while True:
            left = deadline - time.monotonic()
            events = poll.poll(int(left * 1000) + 1) if left > 0 else []
            if not events:
                used = self.supervise.cpu_clock(pid)
                starved = used - consumed > _STARVED * wall and time.monotonic() - started < (_PATIENCE - 0.5) * wall
                if not starved:
                    return bytes(parts), ("timeout", f"more than {wall} s of wall clock")
                deadline, consumed = deadline + wall, used
                continue
            if any(descriptor == self.requests for descriptor, _ in events):
                os.kill(pid, signal.SIGKILL)
                os._exit(0)
            data = os.read(read, 1 << 18)
            if not data:
                return bytes(parts), None
            parts += data
            if len(parts) > ceiling:
                return b"", ("overflow", f"reply of more than {ceiling} bytes")


def _sink() -> int:
    """Where a program's output goes: memory, bounded by the file-size limit, never read."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("output")
    return os.open(os.devnull, os.O_WRONLY)


def _drop_root(needed: Sequence[str]) -> None:
    """Become nobody, where root can and nobody could still read what is needed, the standard library first of all."""
    if os.geteuid() != 0:
        return
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
    effective = os.access in os.supports_effective_ids
    readable = all(os.access(path, os.R_OK, effective_ids=effective) for path in needed)
    os.seteuid(0)
    os.setegid(0)
    if readable:
        os.setgid(65534)
        os.setuid(65534)


def _die_with_parent() -> Any:
    """Ask the kernel to kill this process with its parent; the C library, None where it has no prctl."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    _forget(("ctypes", "_ctypes"))
    if not hasattr(libc, "prctl"):
        return None
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    return libc


def _warm_up(child_module: Any) -> None:
    """Import what programs import, run the encoder once, then keep the collector off all that exists."""
    import gc

    for name in _WARM:
        importlib.import_module(name)
    digits = sys.get_int_max_str_digits()
    child_module.split_call("f(1, a=[2])")
    child_module.value_outcome([{"a": (1, 2.5, None)}, {3}], 1 << 20)
    child_module.error_outcome(ValueError("x"), 1 << 20)
    sys.set_int_max_str_digits(digits)
    gc.collect()
    gc.freeze()


def main() -> None:
    """Take the channel away from stdin and stdout, then serve."""
    requests, replies = os.dup(0), os.dup(1)
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
