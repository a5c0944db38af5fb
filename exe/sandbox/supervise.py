"""What the zygote makes of a child: its frames, its death, its processor time."""

from __future__ import annotations

import contextlib
import os
import signal
import time

NONCE = 16  # bytes
_HEADER = NONCE + 1 + 4
_GRACE = 0.05  # seconds for a child that has reported to end by itself
_STARVED = 0.05  # a process that used this part of its time is busy on a busy machine, not asleep
PATIENCE = 4  # times its wall-clock limit that a busy process gets, at most
_KINDS = (b"V", b"R", b"T")


def whole(data: bytes, nonce: bytes) -> tuple[bytes, bytes] | None:
    """Kind and payload where `data` is one report and nothing else; None leaves it to `Stream` to say what it is."""
    if data[:NONCE] != nonce or int.from_bytes(data[_HEADER - 4 : _HEADER], "big") != len(data) - _HEADER:
        return None
    kind, payload = data[NONCE : NONCE + 1], data[_HEADER:]
    return (kind, payload) if kind in _KINDS and b"\n" not in payload else None


class Stream:
    """What a child has written so far: C? (V | R | T)*, each with the nonce, as many as there are calls.

    `forged` is set at the first byte that our worker does not write.
    """

    __slots__ = ("_at", "_calls", "_data", "_nonce", "code", "forged", "outcomes")

    def __init__(self, nonce: bytes, calls: int) -> None:
        self._data = bytearray()
        self._at = 0
        self._nonce = nonce
        self._calls = calls
        self.code: bytes | None = None
        self.outcomes: list[tuple[bytes, bytes]] = []  # kind, payload
        self.forged = False

    @property
    def complete(self) -> bool:
        """Whether every call has its frame, and nothing stands after the last one."""
        return len(self.outcomes) == self._calls and not self.forged

    @property
    def pending(self) -> int:
        """Bytes of the frame that is not complete."""
        return len(self._data) - self._at

    def feed(self, data: bytes) -> None:
        """Take over bytes that arrived."""
        self._data += data
        while len(self._data) >= self._at + _HEADER and not self.forged:
            start = self._at + _HEADER
            end = start + int.from_bytes(self._data[start - 4 : start], "big")
            if self._data[self._at : self._at + NONCE] != self._nonce:
                self.forged = True
                return
            if end > len(self._data):
                return
            self._take(bytes(self._data[start - 5 : start - 4]), bytes(self._data[start:end]))
            if end == len(self._data):
                self._data.clear()
                end = 0
            self._at = end
        if self.pending and len(self.outcomes) == self._calls:
            self.forged = True

    def close(self) -> None:
        """There will be no more: a frame that has begun is not one of ours."""
        self.forged = self.forged or self.pending > 0

    def _take(self, kind: bytes, payload: bytes) -> None:
        if kind == b"C" and self.code is None and not self.outcomes:
            self.code = payload
        elif kind in _KINDS and b"\n" not in payload and len(self.outcomes) < self._calls:
            self.outcomes.append((kind, payload))
        else:
            self.forged = True


def ended(status: int, cpu: float, cpu_limit: float) -> tuple[str, str] | None:
    """What a death by signal means; None when the process ended by itself."""
    if not os.WIFSIGNALED(status):
        return None
    number = os.WTERMSIG(status)
    if number == signal.SIGXCPU:
        return "timeout", "more CPU time than the limit"
    if number == signal.SIGKILL and cpu >= cpu_limit:
        return "timeout", "killed: more CPU time than the limit, its warning ignored"
    if number == signal.SIGKILL:
        return "memory", "killed by the kernel"
    if number == signal.SIGXFSZ:
        return "overflow", "more output than the limit"
    if number == signal.SIGSYS:
        return "impure", "a forbidden system call"
    return "crashed", signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


class Allowance:
    """The time that a child still has for the call it is at, the first of which `began` with the child.

    A child that is kept from the processor by others, not asleep, gets up to PATIENCE times its wall-clock time. The
    kernel's own limit of CPU time, in whole seconds, stands behind this one, which is to the point.
    """

    __slots__ = ("_began", "_cpu", "_deadline", "_looked", "_pid", "_spent", "_wall")

    def __init__(self, pid: int, began: float, wall: float, cpu: float) -> None:
        self._pid, self._wall, self._cpu = pid, wall, cpu
        self._begin(began, 0.0)

    def _begin(self, now: float, spent: float) -> None:
        self._spent = self._looked = spent
        self._began = now
        self._deadline = now + self._wall

    def next_call(self) -> float:
        """The child is at its next call: the CPU seconds that it took for what came before."""
        used = cpu_clock(self._pid)
        cost = used - self._spent
        self._begin(time.monotonic(), used)
        return max(cost, 0.0)

    def left(self) -> float:
        """Seconds until `verdict` is worth asking for."""
        return min(self._deadline - time.monotonic(), self._cpu - (cpu_clock(self._pid) - self._spent))

    def verdict(self) -> tuple[str, str] | None:
        """Why the child must be killed, None where it may go on."""
        used, now = cpu_clock(self._pid), time.monotonic()
        if used - self._spent >= self._cpu:
            return "timeout", "more CPU time than the limit"
        if now < self._deadline:
            return None
        starved = used - self._looked > _STARVED * self._wall and now - self._began < (PATIENCE - 0.5) * self._wall
        if not starved:
            return "timeout", f"more than {self._wall} s of wall clock"
        self._deadline, self._looked = self._deadline + self._wall, used
        return None


def reap(pid: int, *, kill: bool, reported: bool) -> tuple[int, float, bool]:
    """End a child: its status, CPU seconds, whether it lingered after closing its pipe.

    One that has `reported` is about to end: only our own code knows the nonce, and ends the process after its report.
    """
    if kill:
        os.kill(pid, signal.SIGKILL)
    if kill or reported:
        _, status, usage = os.wait4(pid, 0)
        return status, usage.ru_utime + usage.ru_stime, False
    limit = time.monotonic() + _GRACE
    lingered = False
    found = 0
    while not found:
        found, status, usage = os.wait4(pid, 0 if lingered else os.WNOHANG)
        if not found and time.monotonic() > limit:
            lingered = True
            os.kill(pid, signal.SIGKILL)
        elif not found:
            time.sleep(0.0001)
    return status, usage.ru_utime + usage.ru_stime, lingered


def sweep(pid: int) -> None:
    """End all that a child may have left behind where no filter has kept it from making processes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            continue


def cpu_clock(pid: int) -> float:
    """CPU seconds that a process has used so far; 0 where the system does not tell."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the process's clock id, as clock_getcpuclockid(3) makes it
    except (OSError, OverflowError):
        return 0.0
