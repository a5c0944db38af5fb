"""The system calls that code in the sandbox may make: an allow-list, assembled to BPF and loaded by ctypes.

Two filters stack, and the kernel takes the stricter answer of the two. The first holds for the process that forks and
for all that come from it: what is not listed fails with EPERM, a call through another architecture's entry kills. The
second is loaded by each process that runs a program and holds only what it takes away: what the forking process alone
needs fails with EPERM, and a call that only harm has a use for kills. It is short because it is loaded for every call.
Numbers: the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import NamedTuple

# name: (x86_64, aarch64); None where the architecture has no such call
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "open": (2, None),
    "close": (3, 57),
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "poll": (7, None),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "ioctl": (16, 29),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "access": (21, None),
    "select": (23, None),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "dup": (32, 23),
    "dup2": (33, None),
    "nanosleep": (35, 101),
    "setitimer": (38, 103),
    "getpid": (39, 172),
    "clone": (56, 220),
    "pipe": (22, None),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "execveat": (322, 281),
    "exit": (60, 93),
    "wait4": (61, 260),
    "kill": (62, 129),
    "uname": (63, 160),
    "fcntl": (72, 25),
    "getcwd": (79, 17),
    "readlink": (89, None),
    "gettimeofday": (96, 169),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "setpgid": (109, 154),
    "getppid": (110, 173),
    "getpgrp": (111, None),
    "sigaltstack": (131, 132),
    "prctl": (157, 167),
    "setrlimit": (160, 164),
    "gettid": (186, 178),
    "time": (201, None),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "getdents64": (217, 61),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "openat": (257, 56),
    "newfstatat": (262, 79),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "pselect6": (270, 72),
    "ppoll": (271, 73),
    "set_robust_list": (273, 99),
    "dup3": (292, 24),
    "pipe2": (293, 59),
    "prlimit64": (302, 261),
    "getrandom": (318, 278),
    "memfd_create": (319, 279),
    "membarrier": (324, 283),
    "statx": (332, 291),
    "rseq": (334, 293),
    "clone3": (435, 435),
    "close_range": (436, 436),
    "faccessat2": (439, 439),
}

# audit architecture, index in NUMBERS, lowest number that belongs to another ABI (x32)
ARCHITECTURES = {"x86_64": (0xC000003E, 0, 0x40000000), "aarch64": (0xC00000B7, 1, None)}

_ONLY_ZYGOTE = (
    "setitimer",
    "clone",
    "wait4",
    "kill",
    "setpgid",
    "prctl",
    "setrlimit",
    "pipe2",
    "memfd_create",
    "dup2",
    "dup3",
)
# no harmless code makes these by way of trying: the death by SIGSYS that they bring cannot be swallowed
_TELLING = ("clone", "fork", "vfork", "execve", "execveat", "socket", "socketpair", "pipe", "pipe2", "memfd_create",
            "mknod", "mknodat", "kill")  # fmt: skip
_CHECKED = ("open", "openat", "fcntl", "prlimit64", "ioctl", "clone3", "clone")
_REFUSED = tuple(name for name in _TELLING if name not in _ONLY_ZYGOTE)  # to the zygote too
_PLAIN = tuple(name for name in NUMBERS if name not in _CHECKED + _REFUSED)

_WRITE_FLAGS = 0x3 | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FCNTL_COMMANDS = (0, 1, 2, 3, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
_CLONE_MORE_THAN_FORK = 0x7E020000 | 0x10000 | 0x100  # new namespaces, CLONE_THREAD, CLONE_VM

_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _JUMP, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x05, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def _argument(index: int, high: bool = False) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index + (4 if high else 0))


def _refuse(code: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


_PASS: Instruction = (_RETURN, 0, 0, _ALLOW)
_DEATH: Instruction = (_RETURN, 0, 0, _KILL)


def _without_bits(index: int, bits: int) -> list[Instruction]:
    """Allow when none of `bits` is set in the argument's low half."""
    return [_argument(index), (_ANY_BIT, 0, 1, bits), _refuse(errno.EPERM), _PASS]


def _one_of(index: int, values: tuple[int, ...]) -> list[Instruction]:
    code: list[Instruction] = [_argument(index)]
    for value in values:
        code += [(_EQUAL, 0, 1, value), _PASS]
    return [*code, _refuse(errno.EPERM)]


def _only_reading_own_limits() -> list[Instruction]:
    """prlimit64(0, any, NULL, any)."""
    code: list[Instruction] = []
    for index, high in ((0, False), (2, False), (2, True)):
        code += [_argument(index, high), (_EQUAL, 1, 0, 0), _refuse(errno.EPERM)]
    return [*code, _PASS]


def _first() -> dict[str, list[Instruction]]:
    """What the filter of the zygote, and so of everything, answers by name of the call."""
    return {
        **{name: [_PASS] for name in _PLAIN},
        "openat": _without_bits(2, _WRITE_FLAGS),
        "open": _without_bits(1, _WRITE_FLAGS),
        "fcntl": _one_of(1, _FCNTL_COMMANDS),
        "prlimit64": [_PASS],
        "ioctl": [_refuse(errno.ENOTTY)],
        "clone3": [_refuse(errno.ENOSYS)],
        "clone": _without_bits(0, _CLONE_MORE_THAN_FORK),
    }


def _second() -> dict[str, list[Instruction]]:
    """What a child's filter answers by name of the call; it lets everything else through to the first one."""
    return {
        **{name: [_refuse(errno.EPERM)] for name in _ONLY_ZYGOTE},
        **{name: [_DEATH] for name in _TELLING},
        "prlimit64": _only_reading_own_limits(),
    }


class Filter(NamedTuple):
    """A BPF program, ready to load."""

    code: tuple[Instruction, ...]

    @property
    def bytes(self) -> bytes:
        """The program as the kernel's array of struct sock_filter."""
        return b"".join(struct.pack("=HBBI", *instruction) for instruction in self.code)


def assemble(zygote: bool, machine: str | None = None) -> Filter:
    """The first filter, or the one that a child adds to it, on `machine` (default: this one).

    Raises KeyError for an unknown machine.
    """
    arch, column, foreign = ARCHITECTURES[machine or os.uname().machine]
    code: list[Instruction] = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if foreign is not None:
        code += [(_AT_LEAST, 0, 1, foreign), (_RETURN, 0, 0, _KILL)]
    answers: dict[int, list[Instruction]] = {}
    for name, answer in (_first() if zygote else _second()).items():
        number = NUMBERS[name][column]
        if number is not None:
            answers[number] = answer
    return Filter((*code, *_search(sorted(answers.items()), _refuse(errno.EPERM) if zygote else _PASS)))


def _search(answers: list[tuple[int, list[Instruction]]], otherwise: Instruction) -> list[Instruction]:
    """A binary search for the call's number: the kernel walks the filter once for every number when it is loaded."""
    if len(answers) == 1:
        number, answer = answers[0]
        return [(_EQUAL, 0, len(answer), number), *answer, otherwise]
    middle = len(answers) // 2
    low, high = _search(answers[:middle], otherwise), _search(answers[middle:], otherwise)
    # a conditional jump spans at most 255 instructions, an unconditional one any number
    return [(_AT_LEAST, 0, 1, answers[middle][0]), (_JUMP, 0, 0, len(low)), *low, *high]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class Loader:
    """Loads one filter into the calling process; everything that needs memory is prepared beforehand."""

    def __init__(self, filter_: Filter) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._buffer = ctypes.create_string_buffer(filter_.bytes, len(filter_.bytes))
        self._program = _Program(len(filter_.code), ctypes.addressof(self._buffer))
        self._pointer = ctypes.byref(self._program)
        self._prctl = self._libc.prctl
        self._prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)

    def give_up_privileges(self) -> None:
        """Once, before the first filter, and inherited: no program run from here on gains rights by its file."""
        if self._prctl(_PR_SET_NO_NEW_PRIVS, 1, None, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs refused")

    def __call__(self) -> None:
        """Raises OSError where the kernel refuses: there the caller must not go on."""
        if self._prctl(_PR_SET_SECCOMP, _MODE_FILTER, self._pointer, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp filter refused")
