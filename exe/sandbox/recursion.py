"""Recursion depth as a program sees it: counted from its own top level, however deep the harness stands.

CPython counts frames, and in some versions C calls, towards `sys.getrecursionlimit()`. What our own frames take is
measured once per way of entering the program, by running into the limit, and added to the limit that is set.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

_get_limit = sys.getrecursionlimit
_set_limit = sys.setrecursionlimit
_LEAST = 30  # for what we do before the encoder takes the depth it needs
_ROOM = 4000  # for our own encoder once the program is done

_PROBE = """
reached = 0
def descend():
    global reached
    reached += 1
    descend()
"""
_LOADED_PROBE = compile(_PROBE + "try:\n    descend()\nexcept RecursionError:\n    pass\n", "<probe>", "exec")
_DEFINED_PROBE = compile(_PROBE, "<probe>", "exec")
_CALLED_PROBE = compile("descend()", "<probe>", "eval")

_SHADOWS = compile(
    """
def getrecursionlimit():
    return get() - shift
def setrecursionlimit(limit, /):
    set(limit + shift if type(limit) is int and limit > 0 else limit)
""",
    "<limits>",
    "exec",
)


def _load(code: CodeType, namespace: dict[str, Any]) -> None:
    exec(code, namespace)  # noqa: S102 - inside the walls


def _evaluate(code: CodeType, namespace: dict[str, Any]) -> Any:
    return eval(code, namespace)  # noqa: S307 - inside the walls


def _call(function: Callable[..., Any], positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    return function(*positional, **keywords)


def _frames() -> int:
    """Python frames on the stack, the caller's included."""
    frame, count = sys._getframe(1), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1  # type: ignore[assignment]
    return count


_overheads: dict[str, int] = {}
_scope: dict[str, Any] = {"get": _get_limit, "set": _set_limit, "shift": 0}
exec(_SHADOWS, _scope)  # noqa: S102 - our own text, in a namespace that leads nowhere
_get_shadow, _set_shadow = _scope["getrecursionlimit"], _scope["setrecursionlimit"]


def calibrate() -> None:
    """Measure what each way of entering a program costs, beyond the Python frames below it. In the zygote."""
    before = _get_limit()
    for way, measure in (("load", _measure_load), ("evaluate", _measure_evaluate), ("call", _measure_call)):
        frames = _frames()
        limit = frames + 200
        _set_limit(limit)
        try:
            reached = measure()
        finally:
            _set_limit(before)
        # at a module's top level `limit` frames hold the module's own and `limit - 1` of the probe
        _overheads[way] = (limit - 1) - reached - frames


def slacken(frames: int) -> None:
    """Leave a program so many frames more (or fewer) than its limit says. In a child, before it enters the program."""
    for way in _overheads:
        _overheads[way] += frames


def _measure_load() -> int:
    namespace: dict[str, Any] = {}
    _load(_LOADED_PROBE, namespace)
    return int(namespace["reached"])


def _measure_evaluate() -> int:
    namespace: dict[str, Any] = {}
    _load(_DEFINED_PROBE, namespace)
    try:
        _evaluate(_CALLED_PROBE, namespace)
    except RecursionError:
        return int(namespace["reached"])
    raise AssertionError("the probe did not reach the recursion limit")


def _measure_call() -> int:
    namespace: dict[str, Any] = {}
    _load(_DEFINED_PROBE, namespace)
    try:
        _call(namespace["descend"], (), {})
    except RecursionError:
        return int(namespace["reached"])
    raise AssertionError("the probe did not reach the recursion limit")


class Depth:
    """Enters the program by its three ways, each under a limit of `limit` frames as counted from its top level.

    A limit that the program sets itself, while it loads or later, stays in force until `release`. Made `below` frames
    under the function that will use it.
    """

    __slots__ = ("_frames", "_seen", "limit")

    def __init__(self, limit: int, below: int) -> None:
        self.limit = self._seen = limit
        self._frames = _frames() + below

    def begin(self) -> None:
        """The program is about to load: it sees a limit that nobody has changed."""
        self._seen = self.limit
        sys.getrecursionlimit = _get_shadow
        sys.setrecursionlimit = _set_shadow

    def load(self, code: CodeType, namespace: dict[str, Any]) -> None:
        """Execute the program's top level."""
        self._enter("load")
        _load(code, namespace)
        self._leave()

    def evaluate(self, code: CodeType, namespace: dict[str, Any]) -> Any:
        """Evaluate an expression in the program's namespace."""
        self._enter("evaluate")
        value = _evaluate(code, namespace)
        self._leave()
        return value

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Call a function of the program."""
        self._enter("call")
        value = _call(function, positional, keywords)
        self._leave()
        return value

    def relax(self) -> None:
        """Make sure of a little depth for our own code, however low the program has set its limit."""
        _set_limit(max(_get_limit(), _scope["shift"] + _LEAST))

    def release(self) -> None:
        """Give the harness all the depth that it needs."""
        _set_limit(self.limit + _ROOM)

    def _enter(self, way: str) -> None:
        shift = self._frames - 1 + _overheads[way]
        _scope["shift"] = shift
        _set_limit(self._seen + shift)

    def _leave(self) -> None:
        self._seen = max(1, _get_limit() - _scope["shift"])
        self.relax()
