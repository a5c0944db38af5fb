"""What the zygote makes of a child: its frames, its death, its processor time."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

NONCE = 16  # bytes
_HEADER = NONCE + 1 + 4
_GRACE = 0.05  # seconds for a child that has reported to end by itself


def parse(data: bytes, nonce: bytes) -> dict[Any, Any] | None:
    """The frames of a child by kind; None when the stream is not C? (V | R | T), each with the nonce."""
    found: dict[Any, Any] = {}
    at = 0
    while at < len(data):
        if data[at : at + NONCE] != nonce or at + _HEADER > len(data):
            return None
        kind = data[at + NONCE : at + NONCE + 1]
        end = at + _HEADER + int.from_bytes(data[at + NONCE + 1 : at + _HEADER], "big")
        if end > len(data) or kind in found or final(found):
            return None
        if kind not in (b"C", b"V", b"R", b"T") or (b"\n" in data[at + _HEADER : end] and kind != b"C"):
            return None
        found[kind] = data[at + _HEADER : end]
        at = end
    return found


def final(found: dict[Any, Any] | None) -> bool:
    """Whether the frames end in one that a child writes last."""
    return found is not None and any(kind in found for kind in (b"V", b"R", b"T"))


def code_only(found: dict[Any, Any] | None) -> dict[Any, Any]:
    """The compiled program alone, of a child whose outcome is not to be had."""
    return {b"C": found[b"C"]} if found and b"C" in found else {}


def ended(status: int, cpu: float, cpu_limit: float) -> tuple[str, str] | None:
    """What a death by signal means; None when the process ended by itself."""
    if not os.WIFSIGNALED(status):
        return None
    number = os.WTERMSIG(status)
    if number in (signal.SIGPROF, signal.SIGXCPU):
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


def reap(pid: int, *, kill: bool, reported: bool) -> tuple[int, float, bool]:
    """End a child and all that it may have left: its status, CPU seconds, whether it lingered after closing its pipe.

    One that has `reported` is about to end: only our own code knows the nonce, and ends the process after its report.
    """
    if kill:
        os.kill(pid, signal.SIGKILL)
    limit = time.monotonic() + _GRACE
    lingered = False
    found = 0
    while not found:
        found, status, usage = os.wait4(pid, 0 if kill or reported or lingered else os.WNOHANG)
        if not found and time.monotonic() > limit:
            lingered = True
            os.kill(pid, signal.SIGKILL)
        elif not found:
            time.sleep(0.0001)
    cpu = usage.ru_utime + usage.ru_stime
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            continue
    return status, cpu, lingered


def cpu_clock(pid: int) -> float:
    """CPU seconds that a process has used so far; 0 where the system does not tell."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the process's clock id, as clock_getcpuclockid(3) makes it
    except (OSError, OverflowError):
        return 0.0
