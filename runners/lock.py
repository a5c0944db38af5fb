"""One writer at a time: an advisory lock on a file, freed by the kernel when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exe.errors import StorageError


class Locked(Exception):
    """Another process holds the lock."""


@contextmanager
def exclusive(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock file `path` (made where it is missing, left in place).

    Raises Locked at once when another process holds it and `wait` is false; StorageError where no lock can be had.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StorageError(f"cannot make the lock {path}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise Locked(str(path)) from None
            raise StorageError(f"cannot lock {path}: {error.strerror}") from None
        yield
    finally:
        os.close(handle)
