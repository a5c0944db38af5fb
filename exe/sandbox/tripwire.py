"""An audit hook that names what a pure function has no business doing. It classifies; the walls are elsewhere.

The hook ends the process at the first forbidden event, after one frame that names it, so that nothing the program does
afterwards (catching the error, carrying on) can make the outcome look like a value. What the standard library does on
the program's behalf while importing, or for `namedtuple`, `enum`, `typing`, `logging` and `traceback`, is let pass.
Events: https://docs.python.org/3/library/audit_events.html.
"""

from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

FORBIDDEN_PREFIXES = (
    "ctypes.", "socket.", "subprocess.", "os.", "pty.", "shutil.", "tempfile.", "glob.", "pathlib.", "sqlite3.",
    "ftplib.", "http.client.", "trap.", "imaplib.", "nntplib.", "poplib.", "smtplib.", "telnetlib.", "urllib.", "webbrowser.",
    "syslog.", "resource.", "fcntl.", "mmap.", "msvcrt.", "winreg.", "ensurepip.", "cpython.run_",
)  # fmt: skip
FORBIDDEN_EVENTS = frozenset({
    "gc.get_objects", "gc.get_referrers", "gc.get_referents", "signal.pthread_kill", "_thread.start_new_thread",
    "_thread.start_joinable_thread", "sys.settrace", "sys.setprofile", "sys.addaudithook", "sys._current_frames",
    "sys._current_exceptions", "sys.remote_exec", "sys.monitoring.register_callback", "builtins.input",
    "builtins.breakpoint", "code.__new__", "marshal.loads", "marshal.load",
})  # fmt: skip
FORBIDDEN_IMPORTS = frozenset({"ctypes", "_ctypes", "_posixsubprocess", "_xxsubinterpreters", "_interpreters"})
FRAME_ATTRIBUTES = frozenset({"tb_frame", "gi_frame", "cr_frame", "ag_frame"})
FRAME_GIVERS = frozenset({"walk_tb", "walk_stack", "currentframe", "<lambda>", "_getframe"})
_LISTING = frozenset({"os.listdir", "os.scandir"})
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_STANDARD = os.path.dirname(os.__file__) + os.sep
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_readable: tuple[str, ...] = (_STANDARD,)


class Tripwire:
    """The hook's state. Installed once in the zygote, armed in each child with what to do when it trips."""

    def __init__(self) -> None:
        self._report: Callable[[str], None] | None = None
        self._busy = False

    def install(self) -> None:
        """Add the hook to this interpreter; it stays for good, and in every process forked from this one."""
        sys.addaudithook(self._hook)
        if sys.version_info < (3, 12):
            _announce_threads()

    def allow_reading(self, folders: Sequence[str]) -> None:
        """Let the importer, and everyone else, read below these folders too: those of a preloaded package."""
        global _readable  # noqa: PLW0603 - the hook is one a process, and so is this
        _readable = (_STANDARD, *(folder.rstrip(os.sep) + os.sep for folder in folders))

    def arm(self, report: Callable[[str], None]) -> None:
        """From now on a forbidden event calls `report` with its name; `report` must not return."""
        self._report = report

    def disarm(self) -> None:
        """Let everything pass: the program's part is over."""
        self._report = None

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        report = self._report
        if report is None or self._busy:
            return
        self._busy = True
        try:
            if _forbidden(event, arguments):
                report(event)
        finally:
            self._busy = False


def _forbidden(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether the program, and not the standard library in a harmless way, raised a forbidden event."""
    if event == "import":
        return arguments[0] in FORBIDDEN_IMPORTS and not _trusted(_importing().f_code.co_filename)
    if event == "open":
        return _open_forbidden(arguments)
    if event in _LISTING:
        return not _standard_path(arguments[0])
    if event == "object.__getattr__":
        return arguments[1] in FRAME_ATTRIBUTES and _reaches_program(_caller())
    if event == "sys._getframe":
        return _reaches_program(_caller())
    if event == "compile":
        return _trusted(arguments[1]) and not _trusted(_caller().f_code.co_filename)
    if event in ("sys.settrace", "sys.setprofile"):
        return not _caller().f_code.co_filename.startswith(_OWN)
    if event in ("marshal.loads", "code.__new__"):
        return not _trusted(_caller().f_code.co_filename)
    return event in FORBIDDEN_EVENTS or event.startswith(FORBIDDEN_PREFIXES)


def _open_forbidden(arguments: tuple[Any, ...]) -> bool:
    path, mode, flags = arguments
    if isinstance(flags, int) and flags & _WRITE_FLAGS:
        return True
    if isinstance(mode, str) and set(mode) & set("wax+"):
        return True
    return not _standard_path(path)


def _standard_path(path: Any) -> bool:
    """Below a folder that modules are imported from. `path` is exactly str or bytes in calls that the importer makes."""
    if type(path) is not str:
        return False
    return (path + os.sep).startswith(_readable) and ".." not in path


def _caller() -> FrameType:
    """The Python frame that raised the event: the one below this module's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    if frame is None:
        raise RuntimeError("an audit event without a caller")
    return frame


def _importing() -> FrameType:
    """The frame whose import statement is being executed."""
    frame: FrameType | None = _caller()
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame if frame is not None else _caller()


def _announce_threads() -> None:
    """Raise the event of a started thread, which CPython does only from 3.12 on."""
    start, audit = _thread.start_new_thread, sys.audit

    def start_new_thread(*arguments: Any) -> int:
        audit("_thread.start_new_thread")
        return start(*arguments)

    _thread.start_new_thread = start_new_thread
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._start_new_thread = start_new_thread  # type: ignore[attr-defined]


def _trusted(filename: Any) -> bool:
    return type(filename) is str and filename.startswith((_STANDARD, _OWN, "<frozen "))


def _reaches_program(frame: FrameType) -> bool:
    """Whether a frame object is about to be handed to the program.

    The standard library may look at frames for itself. The function by which the program entered it decides: those in
    FRAME_GIVERS, and everything in `inspect`, hand frames on.
    """
    entry: FrameType | None = None
    current: FrameType | None = frame
    while current is not None and _trusted(current.f_code.co_filename):
        entry, current = current, current.f_back
    if entry is None:
        return True
    code = entry.f_code
    return code.co_name in FRAME_GIVERS or code.co_filename.endswith("/inspect.py")
