"""An exception as an outcome: its two forms, and whether an answered exception name is the same."""

from __future__ import annotations

import builtins
from typing import Any

from exe.values import classes
from exe.values.limits import DEFAULT_LIMITS, Limits, Unrepresentable
from exe.values.scalars import escape_surrogates, merge_surrogates

globals()["__builtins__"] = dict(vars(builtins))

Json = Any


def encode_error(exc: BaseException, *, limits: Limits = DEFAULT_LIMITS) -> tuple[Json, Json]:
    """Return (plain, typed) for an exception: `{"error": {"code", "message"}}`.

    Plain: `code` is the bare class name, `message` is `str(exc)`. Typed: `code` is the qualified name with the
    module of a standard-library class before it, `message` in typed form; "unprintable" names the exception that
    `str(exc)` raised itself, its message then being "". `str` runs the program's code, under the program's limits.
    Raises `Unrepresentable("large")` for a message longer than `limits.characters`.
    """
    cls = type(exc)
    extra: dict[str, Json] = {}
    try:
        message = str.__str__(str(exc))
    except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as failure:  # noqa: BLE001 - noted in the result
        message = ""
        extra = {"unprintable": classes.bare_name(type(failure))}
    if len(message) > limits.characters:
        raise Unrepresentable("large", f"a message of more than {limits.characters} characters")
    escaped = escape_surrogates(message)
    typed = message if escaped is None else {"@odata.type": "#str", "value": escaped}
    plain = {"code": classes.bare_name(cls), "message": merge_surrogates(message)}
    return {"error": plain}, {"error": {"code": classes.class_name(cls), "message": typed, **extra}}


_ALIASES = {
    "IOError": "OSError",
    "EnvironmentError": "OSError",
    "WindowsError": "OSError",
    "socket.error": "OSError",
    "select.error": "OSError",
    "os.error": "OSError",
    "mmap.error": "OSError",
    "socket.timeout": "TimeoutError",
    "asyncio.TimeoutError": "TimeoutError",
    "asyncio.exceptions.TimeoutError": "TimeoutError",
    "concurrent.futures.TimeoutError": "TimeoutError",
    "concurrent.futures._base.TimeoutError": "TimeoutError",
    "asyncio.exceptions.CancelledError": "asyncio.CancelledError",
    "concurrent.futures._base.CancelledError": "concurrent.futures.CancelledError",
    "xml.parsers.expat.error": "xml.parsers.expat.ExpatError",
    "zipfile.error": "zipfile.BadZipFile",
    "zipfile.BadZipfile": "zipfile.BadZipFile",
    "getopt.error": "getopt.GetoptError",
    "re.PatternError": "re.error",
    "sre_constants.error": "re.error",
    "re._constants.error": "re.error",
    "BadZipfile": "BadZipFile",
    "PatternError": "error",
}
"""Names of one class: what Python itself made equal (PEP 3151 and later), standard library only."""


def same_exception(expected: str, answered: str) -> bool:
    """Tell whether two names are of one exception class.

    A bare name equals a dotted one that ends in it ("JSONDecodeError", "json.decoder.JSONDecodeError"); two dotted
    ones must also begin with the same package, a private one counting as its public twin ("_queue", "queue"). Aliases are
    equal (`IOError`, `socket.error` and `OSError`). Case counts.
    """
    one, other = _canonical(expected), _canonical(answered)
    if one == other:
        return bool(one)
    if "." in one and "." in other and _package(one) != _package(other):
        return False
    return bool(one) and one.rpartition(".")[2] == other.rpartition(".")[2]


def _canonical(name: str) -> str:
    name = name.strip().removeprefix("builtins.").rpartition("<locals>.")[2]
    return _ALIASES.get(name, name)


def _package(dotted: str) -> str:
    return dotted.partition(".")[0].lstrip("_")
