"""Other conditions for one run of a call: what a result must not depend on is made different in this very process.

A witness of number n >= 1 differs from an ordinary run, and from every other witness, in the order of addresses
(`heap.py`), the moments of garbage collection, all clocks, entropy, the state of `random`, process numbers, processor
counts, the command line, the paths of the interpreter, the modules that are loaded, the variables of the environment,
the room on the stack, and the name under which the program is registered. 1 and 2 are poles: addresses ascend and
descend, clocks are far behind and ahead, the first random byte has no bit set and all, the garbage collector is off and eager.

A program that reads a clock, entropy or the like by itself ends at the event `trap.<name>`, since two runs may agree by
luck; what the standard library reads for it is merely different.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import importlib
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from exe.sandbox import heap, recursion

_STANDARD = os.path.dirname(os.__file__) + os.sep
_DAY = 86_400
_frame, _audit = sys._getframe, sys.audit
_modified = ctypes.pythonapi.PyType_Modified
_modified.argtypes, _modified.restype = [ctypes.py_object], None

_NOW = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
_GIVEN = {"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}  # with so many arguments, no clock
_NUMBERS = (
    "getpid",
    "getppid",
    "getpgrp",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "cpu_count",
    "process_cpu_count",
    "umask",
)
_drawn: dict[str, Iterator[int]] = {}
_SEEDS = (31, 23)  # opposite in their first number, integer, choice, bit and order of two


class Conditions(NamedTuple):
    """What one witness changes. `seconds` is how far its clocks are ahead, `slack` how many frames more fit on its stack."""

    number: int
    seconds: int
    entropy: int  # the first byte of it
    seed: int
    slack: int
    collect: int  # the first threshold of the collector; 0 is never

    @property
    def name(self) -> str:
        """What the program's module is called."""
        return f"witness_{self.number}"


def conditions(number: int) -> Conditions:
    """The conditions of a witness; the same in every run."""
    if number <= 2:
        past = number == 1
        seconds = -(14_001 * _DAY + 47_777) if past else 9_004 * _DAY + 20_202
        return Conditions(
            number, seconds, 0 if past else 255, _SEEDS[number - 1], 61 if past else -37, 0 if past else 1
        )
    return Conditions(number, number * (1_001 * _DAY + 3_723), number * 41 % 256, number, number * 7, number * 97)


def change(number: int, text: str) -> Conditions:
    """Bring the conditions about in this process, for good. `text` is all that will run. Before the tripwire is armed."""
    found = conditions(number)
    recursion.slacken(found.slack)
    _modules(number)
    _machine(found)
    _clocks(found.seconds)
    if "random" in text or "secrets" in text:
        _generators(found)
    heap.rearrange(number)
    if found.collect:
        gc.set_threshold(found.collect, 10, 10)
    else:
        gc.disable()
    return found


def again(number: int) -> None:
    """Set right what an earlier call in this process has used up."""
    heap.refresh(number)
    _drawn["bytes"] = itertools.count(conditions(number).entropy, 93)
    random = sys.modules.get("random")
    if random is not None:
        random.seed(conditions(number).seed)


def _told(name: str) -> None:
    """Raise the event for a read of the program's own, two frames up."""
    if not _frame(2).f_code.co_filename.startswith((_STANDARD, "<frozen ")):
        _audit(f"trap.{name}")


def _modules(number: int) -> None:
    """What is loaded and where from: counted, listed and shown by `sys`."""
    importlib.import_module("colorsys" if number % 2 else "sched")
    sys.argv = [f"witness_{number}", *sys.argv]
    sys.orig_argv = [f"witness_{number}", *sys.orig_argv]
    sys.path.append(f"/nowhere/{number}")
    for name in ("executable", "_base_executable", "prefix", "exec_prefix", "base_prefix", "base_exec_prefix"):
        setattr(sys, name, f"/elsewhere/{number}")
    os.environ[f"WITNESS_{number}"] = str(number)


def _machine(found: Conditions) -> None:
    """Numbers that the kernel gives, and entropy."""
    for name in _NUMBERS:
        if hasattr(os, name):
            _replace(os, name, _shifted(f"os.{name}", getattr(os, name), found.number))
    threading = importlib.import_module("threading")
    for name in ("get_ident", "get_native_id"):
        _replace(threading, name, _shifted(f"threading.{name}", getattr(threading, name), 4096 * found.number))

    here = f"/elsewhere/{found.number}"
    uname = os.uname

    def getcwd() -> str:
        return here

    def getcwdb() -> bytes:
        return here.encode()

    def named() -> os.uname_result:
        known = uname()
        return os.uname_result(
            (known.sysname, here[1:], f"{known.release}.{found.number}", known.version, known.machine)
        )

    os.getcwd, os.getcwdb, os.uname = getcwd, getcwdb, named

    _drawn["bytes"] = itertools.count(found.entropy, 93)

    def urandom(size: int, /) -> bytes:
        _told("os.urandom")
        return bytes(next(_drawn["bytes"]) % 256 for _ in range(size))

    def getrandom(size: int, flags: int = 0) -> bytes:  # noqa: ARG001 - as the one it stands for
        _told("os.getrandom")
        return bytes(next(_drawn["bytes"]) % 256 for _ in range(size))

    os.urandom = urandom
    if hasattr(os, "getrandom"):
        os.getrandom = getrandom


def _replace(module: Any, name: str, value: Any) -> None:
    """Put a value in place of another in a module, and in the module of C that it comes from."""
    origin = sys.modules.get(getattr(getattr(module, name), "__module__", None) or "")
    for place in (module, origin):
        if place is not None and hasattr(place, name):
            setattr(place, name, value)


def _shifted(name: str, read: Callable[..., Any], by: int) -> Callable[..., Any]:
    """A function that gives so much more."""

    def shifted(*arguments: Any) -> Any:
        _told(name)
        return read(*arguments) + by

    shifted.__name__ = shifted.__qualname__ = name.rpartition(".")[2]
    return shifted


def _clocks(seconds: int) -> None:
    """Every clock that Python code can read, that of `datetime` included."""
    wall, local = time.time, time.localtime
    for name in _NOW:
        ahead = seconds if name == "time" else abs(seconds)  # those that run since a start are not below zero
        _replace_clock(name, ahead)
        _replace_clock(f"{name}_ns", ahead * 1_000_000_000)
    _replace_clock("clock_gettime", abs(seconds))
    _replace_clock("clock_gettime_ns", abs(seconds) * 1_000_000_000)
    for name, given in _GIVEN.items():
        shown: Callable[[], Any] = lambda: wall() + seconds  # noqa: E731
        if name in ("asctime", "strftime"):
            shown = lambda: local(wall() + seconds)  # noqa: E731
        setattr(time, name, _dated(f"time.{name}", getattr(time, name), given, shown))
    delta = datetime.timedelta(seconds=seconds)
    for kind, names in ((datetime.datetime, ("now", "utcnow", "today")), (datetime.date, ("today",))):
        (members,) = (one for one in gc.get_referents(kind.__dict__) if type(one) is dict)
        for name in names:
            if name in members:
                members[name] = classmethod(_dated_class(f"datetime.{kind.__name__}.{name}", members[name], delta))
        _modified(kind)


def _replace_clock(name: str, by: int) -> None:
    read = getattr(time, name, None)
    if read is not None:
        setattr(time, name, _shifted(f"time.{name}", read, by))


def _dated(name: str, read: Callable[..., Any], given: int, moment: Callable[[], Any]) -> Callable[..., Any]:
    """A function of `time` that takes a clock's word for an argument that is not there."""

    def dated(*arguments: Any) -> Any:
        if len(arguments) >= given and arguments[given - 1] is not None:
            return read(*arguments)
        _told(name)
        return read(*arguments[: given - 1], moment())

    dated.__name__ = dated.__qualname__ = name.rpartition(".")[2]
    return dated


def _dated_class(name: str, member: Any, ahead: datetime.timedelta) -> Callable[..., Any]:
    """A class method of `datetime` whose clock is ahead."""

    def dated(cls: type, *arguments: Any, **named: Any) -> Any:
        _told(name)
        return member.__get__(None, cls)(*arguments, **named) + ahead

    dated.__name__ = name.rpartition(".")[2]
    return dated


def _generators(found: Conditions) -> None:
    """The shared generator of `random`, and those that are made without a seed."""
    random = importlib.import_module("random")
    seed = random.Random.seed

    def seeded(self: Any, a: Any = None, version: int = 2) -> None:
        seed(self, found.seed if a is None else a, version)

    random.Random.seed = seeded
    random.seed(found.seed)
