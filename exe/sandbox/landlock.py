"""Landlock by raw system calls: reading below a few folders, and nothing else of any file system.

Source: the kernel's include/uapi/linux/landlock.h; which fields and rights exist depends on the ABI version.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_READ = (1 << 2) | (1 << 3)  # files, folders
_RIGHTS_BY_ABI = ((1, 13), (2, 14), (3, 15), (5, 16))  # from this ABI on, that many file-system rights
_TCP, _SCOPES = 0b11, 0b11  # bind, connect; abstract unix sockets, signals
_PR_SET_NO_NEW_PRIVS = 38


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    version = _libc().syscall(ctypes.c_long(_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    return max(int(version), 0)


def restrict(readable: Iterable[str]) -> int:
    """Confine this process and its children to reading below `readable`; returns the ABI, 0 when there is no Landlock.

    Raises OSError when the kernel has Landlock and refuses.
    """
    version = abi()
    if version == 0:
        return 0
    libc = _libc()
    rights = max(count for since, count in _RIGHTS_BY_ABI if version >= since)
    attribute = struct.pack("=Q", (1 << rights) - 1)
    if version >= 4:
        attribute += struct.pack("=Q", _TCP)
    if version >= 6:
        attribute += struct.pack("=Q", _SCOPES)
    ruleset = libc.syscall(ctypes.c_long(_CREATE), attribute, ctypes.c_size_t(len(attribute)), ctypes.c_uint(0))
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock ruleset refused")
    try:
        for path in readable:
            _allow_reading(libc, ruleset, path)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs refused")
        if libc.syscall(ctypes.c_long(_RESTRICT), ctypes.c_int(ruleset), ctypes.c_uint(0)) != 0:
            raise OSError(ctypes.get_errno(), "Landlock restriction refused")
    finally:
        os.close(ruleset)
    return version


def _allow_reading(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rights = _READ if os.path.isdir(path) else 1 << 2
        rule = struct.pack("=Qi", rights, descriptor)
        if libc.syscall(
            ctypes.c_long(_ADD_RULE), ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0)
        ):
            raise OSError(ctypes.get_errno(), f"Landlock rule refused for {path}")
    finally:
        os.close(descriptor)
