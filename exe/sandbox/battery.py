"""The attacks by which a level of isolation is proved: plain system calls, with nothing but the walls in the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

Attack = tuple[str, Callable[[], Any]]


def attacks() -> tuple[Attack, ...]:
    """Attempts at harm by plain system calls; one that returns has gone through."""
    import socket

    folder = f"/tmp/hole-{os.getpid()}"
    file = f"{folder}-file"
    return (
        ("write a file", lambda: (os.open(file, os.O_CREAT), os.unlink(file))),  # type: ignore[func-returns-value]
        ("write a file in the root", lambda: (os.open("/hole", os.O_CREAT), os.unlink("/hole"))),  # type: ignore[func-returns-value]
        ("make a folder", lambda: (os.mkdir(folder), os.rmdir(folder))),  # type: ignore[func-returns-value]
        ("open a socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)),
        ("open a unix socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)),
        ("fork", lambda: os.fork() or os._exit(0)),
        ("run a program", lambda: os.execv("/bin/true", ["true"])),
        ("signal the parent", lambda: os.kill(os.getppid(), 0)),
        ("read the parent's environment", lambda: os.open(f"/proc/{os.getppid()}/environ", os.O_RDONLY)),
        ("read the password file", lambda: os.open("/etc/passwd", os.O_RDONLY)),
    )
