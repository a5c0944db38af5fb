"""The walls that a worker raises around itself once, and those that each of its children adds. Runs inside the sandbox."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from exe.sandbox import battery, landlock, seccomp

BASE_MEMORY = 128 << 20  # address space of the interpreter itself
_NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

_set_limit = resource.setrlimit
_parent = os.getppid
_exit = os._exit

Confine = Callable[[int], None]
"""To be called by a child before anything of a program: confines it for that many calls."""


def raise_walls(hello: Mapping[str, Any]) -> tuple[Confine, int]:
    """Confine this process for good: what a child must call, and the Landlock ABI in force (0 for none).

    Raises OSError where a wall that was asked for cannot be had.
    """
    limits = hello["limits"]
    for which, amount in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_STACK, limits["stack_bytes"]),
        (resource.RLIMIT_FSIZE, limits["output_bytes"]),
    ):
        _set_limit(which, _below_ceiling(which, amount, amount))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # too much output ends the process, by a signal we can name
    if hello["drop_root"]:
        _drop_root([os.__file__, __file__, *(hello["preload"] or {}).get("folders", ())])
    libc = ctypes.CDLL(None, use_errno=True)
    die_with_parent = _parent_death(libc)
    if die_with_parent is not None:
        die_with_parent()
    if not hello["seccomp"] and hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    abi = 0
    if hello["landlock"] is not None:
        abi = landlock.restrict(hello["landlock"])
        if abi == 0:
            raise OSError("this kernel has no Landlock")
    tighten: Callable[[], None] = lambda: None  # noqa: E731 - replaced where there is a filter
    if hello["seccomp"]:
        tighten = seccomp.Loader(seccomp.assemble(zygote=False))
        first = seccomp.Loader(seccomp.assemble(zygote=True))
        first.give_up_privileges()
        first()
    if os.getpid() == 1:
        die_with_parent = None  # the kernel ends a namespace with its first process
    return _confinement(limits, die_with_parent, tighten), abi


def _confinement(
    limits: Mapping[str, Any], die_with_parent: Callable[[], None] | None, tighten: Callable[[], None]
) -> Confine:
    """What each child does to itself. Everything that can be worked out beforehand is."""
    zygote = os.getpid()
    seconds = max(1, -int(-limits["cpu_seconds"] // 1))
    processor, processes, space = resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_AS
    memory = _below_ceiling(space, *[BASE_MEMORY + limits["memory_bytes"]] * 2)
    once, none = _below_ceiling(processor, seconds, seconds + 1), _below_ceiling(processes, 0, 0)

    def confine(calls: int) -> None:
        # behind the time that the zygote allows for each call
        _set_limit(processor, once if calls == 1 else _below_ceiling(processor, calls * seconds, calls * seconds + 1))
        _set_limit(processes, none)
        _set_limit(space, memory)  # here, so that a long request does not take the zygote down
        if die_with_parent is not None:
            die_with_parent()
            if _parent() != zygote:
                _exit(71)
        tighten()

    return confine


def _below_ceiling(which: int, soft: int, hard: int) -> tuple[int, int]:
    """A pair of limits, never above what is in force already."""
    _, ceiling = resource.getrlimit(which)
    if ceiling == resource.RLIM_INFINITY:
        return soft, hard
    return min(soft, ceiling), min(hard, ceiling)


def _parent_death(libc: Any) -> Callable[[], None] | None:
    """Asks the kernel to kill the calling process with its parent; None where there is no prctl."""
    if not hasattr(libc, "prctl"):
        return None
    prctl, which, number = libc.prctl, _PR_SET_PDEATHSIG, int(signal.SIGKILL)
    return lambda: prctl(which, number, 0, 0, 0)


def _drop_root(needed: Sequence[str]) -> None:
    """Become nobody, where root can and nobody could still read what is needed, the standard library first of all."""
    if os.geteuid() != 0:
        return
    os.setgroups([])
    os.setegid(_NOBODY)
    os.seteuid(_NOBODY)
    effective = os.access in os.supports_effective_ids
    readable = all(os.access(path, os.R_OK, effective_ids=effective) for path in needed)
    os.seteuid(0)
    os.setegid(0)
    if readable:
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)


def attack(confine: Confine) -> list[str]:
    """Fork a child for each attack of the battery, behind all walls; the attacks that went through."""
    holes = []
    for name, attempt in battery.attacks():
        pid = os.fork()
        if pid == 0:
            try:
                confine(1)
                attempt()
                _exit(0)
            finally:
                _exit(1)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
            holes.append(name)
    return holes
