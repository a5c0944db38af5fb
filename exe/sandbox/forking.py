"""The zygote's side of a child: forks it behind its walls, hears it to its end, tells what became of it.

Zygote and child share all memory until one of them writes, and a page that either writes to while both are there is
copied. So the zygote sleeps until the child has ended, unless that takes long, and does little before and after.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from exe.sandbox import child, recursion, supervise
from exe.sandbox.tripwire import Tripwire

_fork, _close, _dup2, _read, _exit, _wait, _seek = os.fork, os.close, os.dup2, os.read, os._exit, os.wait4, os.lseek
_close_range, _pipe, _random, _clock = os.closerange, os.pipe, os.urandom, time.monotonic
_PIPE = 1 << 16  # bytes that a pipe holds: a child that writes more waits for the zygote to read
_SOON = 20  # milliseconds in which most children end
_FORGED = ("forged", "bytes that our worker does not write")

PassOn = Callable[[list[tuple[bytes, bytes]], float], None]
"""Takes outcomes of a batch as they come, and the CPU seconds of each."""


class Heard(NamedTuple):
    """What a child wrote, what became of the call at which it ended (None: all have outcomes), CPU seconds."""

    outcomes: list[tuple[bytes, bytes]]  # kind, payload
    code: bytes | None
    failure: child.Found | None
    cpu: float


class Forker:
    """Makes one child at a time. Keeps descriptor 1 for what programs print: memory, bounded, never read."""

    def __init__(
        self,
        channel: tuple[int, int],
        limits: Mapping[str, Any],
        tripwire: Tripwire,
        confine: Callable[[int], None],
        depth: recursion.Depth,
        *,
        filtered: bool,
    ) -> None:
        """`channel` are the two neighbouring descriptors that lead to the host."""
        self.depth = depth
        self._limits = limits
        self._confine, self._tripwire, self._filtered = confine, tripwire, filtered
        self._first, self._behind = channel[0], channel[1] + 1
        if self._behind - self._first != 2:
            raise ValueError("the host's descriptors are no neighbours")
        self._soon = int(min(limits["cpu_seconds"] * 500, limits["wall_seconds"] * 500, _SOON))
        self._end, self._news = select.poll(), select.poll()
        for poll in (self._end, self._news):
            poll.register(channel[0], 0)  # only that the host hung up
        self._read = -1  # the descriptor that the polls know; it is the same for every child
        self._ended: list[tuple[int, int]] = []
        self._renew_output()

    def fork(self, task: child.Task, pass_on: PassOn | None = None) -> Heard:
        """Run a task in a child. With `pass_on`, outcomes are handed on as they come."""
        calls = task.stop - task.start
        nonce = _random(supervise.NONCE)
        read, write = _pipe()
        if read != self._read:
            self._watch(read)
        began = _clock()
        pid = _fork()
        if pid == 0:
            try:
                if not self._filtered:
                    os.setpgid(0, 0)  # so that what it leaves behind can be found
                _dup2(1, 2)
                _close_range(self._first, self._behind)
                _close(read)
                self._confine(calls)
                child.run(task, child.Reporter(write, nonce), self._tripwire, self.depth)
            finally:
                _exit(72)
        _close(write)
        data = _read(read, _PIPE) if self._end.poll(self._soon) == self._ended else b""
        report = supervise.whole(data, nonce) if calls == 1 else None
        if report is not None:
            _, _, usage = _wait(pid, 0)
            heard = Heard([report], None, None, usage.ru_utime + usage.ru_stime)
            if pass_on is not None:
                pass_on(heard.outcomes, heard.cpu)
        else:
            heard = self._hear(
                pid, read, supervise.Stream(nonce, calls), data, self._allowance(pid, began, task), pass_on
            )
        _close(read)
        if not self._filtered:
            supervise.sweep(pid)
        if _seek(1, 0, os.SEEK_END):
            self._renew_output()
        return heard

    def _watch(self, read: int) -> None:
        if self._read >= 0:
            self._end.unregister(self._read)
            self._news.unregister(self._read)
        self._end.register(read, 0)
        self._news.register(read, select.POLLIN)
        self._read, self._ended = read, [(read, select.POLLHUP)]

    def _renew_output(self) -> None:
        """Give programs an empty file to print to."""
        new = os.memfd_create("output") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_WRONLY)
        _dup2(new, 1)
        _close(new)

    def _allowance(self, pid: int, began: float, task: child.Task) -> supervise.Allowance:
        """The time of each of its calls: the limits, or that part of both which a job asks for."""
        wall, cpu = self._limits["wall_seconds"], self._limits["cpu_seconds"]
        part = min(task.job.cpu / cpu, 1.0) if task.job.cpu else 1.0
        return supervise.Allowance(pid, began, wall * part, cpu * part)

    def _hear(
        self,
        pid: int,
        read: int,
        stream: supervise.Stream,
        data: bytes,
        allowance: supervise.Allowance,
        pass_on: PassOn | None,
    ) -> Heard:
        """Whatever a child writes and however it ends. `data` is what has been read already, to the end or nothing."""
        stream.feed(data)
        verdict = None
        passed = 0
        if not (stream.complete and data):
            verdict, passed = self._follow(pid, read, stream, allowance, pass_on)
        status, cpu, lingered = supervise.reap(pid, kill=verdict is not None, reported=stream.complete)
        if pass_on is not None and len(stream.outcomes) > passed:
            pass_on(stream.outcomes[passed:], cpu / (len(stream.outcomes) - passed))
        if stream.complete:
            return Heard(stream.outcomes, stream.code, None, cpu)
        if lingered:
            verdict = "crashed", "closed its channel and went on"
        verdict = verdict or supervise.ended(status, cpu, self._limits["cpu_seconds"])
        if verdict is None and stream.forged:
            verdict = _FORGED
        if verdict is None:
            verdict = "crashed", f"ended with status {os.WEXITSTATUS(status)} and no result"
        return Heard(stream.outcomes, stream.code, child.failure(*verdict), cpu)

    def _follow(
        self, pid: int, read: int, stream: supervise.Stream, allowance: supervise.Allowance, pass_on: PassOn | None
    ) -> tuple[tuple[str, str] | None, int]:
        """Read with an eye on the clock and on every frame: why the child must be killed, outcomes passed on so far."""
        limits = self._limits
        ceiling = limits["reply_bytes"] + 3 * limits["request_bytes"]  # an outcome and a compiled program
        passed = 0
        while not stream.complete and not stream.forged:
            left = allowance.left()
            events = self._news.poll(int(left * 1000) + 1) if left > 0 else []
            if not events:
                if (verdict := allowance.verdict()) is not None:
                    return verdict, passed
                continue
            if len(events) > 1 or events[0][0] != read:
                os.kill(pid, signal.SIGKILL)
                _exit(0)
            data = _read(read, _PIPE)
            if not data:
                stream.close()
                return None, passed
            stream.feed(data)
            new = stream.outcomes[passed:]
            if pass_on is not None and new:
                pass_on(new, allowance.next_call() / len(new))
                passed += len(new)
            if stream.pending > ceiling:
                return ("overflow", f"reply of more than {ceiling} bytes"), passed
        return (_FORGED if stream.forged else None), passed
