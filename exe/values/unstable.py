"""Text in a result that cannot be the same in the next run: object addresses and temporary paths."""

from __future__ import annotations

import re
from typing import Any

Json = Any

# A default repr: "<", a name of a class or function, " at 0x", an address of a real heap (seven digits and more), and
# the end of the repr. "value at 0x10" is no such thing: no bracket, and no heap begins so low.
# Names in it may hold "<locals>", "<lambda>" or "<genexpr>".
_ADDRESS = re.compile(
    r"<[A-Za-z_](?:[^<>\n]|<(?:locals|lambda|\w{1,20}comp|genexpr|unknown|module|string|stdin)>){0,300}?"
    r"\s(0x[0-9a-fA-F]{7,16})(?=[>;, ])"
)
_TEMPORARY = re.compile(
    r"(?<![\w.-])(?:/private)?(?:/var)?/(?:tmp|folders/\w\w/\w+/T)/(?:[\w.-]+/)*?(tmp[a-z0-9_]{8})(?![a-z0-9_])"
)
_PROCESS = re.compile(r"/proc/(\d+)/")
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("address", _ADDRESS),
    ("temporary path", _TEMPORARY),
    ("process id", _PROCESS),
)


def unstable_text(plain: Json) -> str | None:
    """Return what is unstable in the strings and keys of a plain form, None where nothing is.

    The returned text reads "address: <A object at …>": its changing part is left out, so that it may itself be stored.
    """
    stack = [plain]
    while stack:
        node = stack.pop()
        if type(node) is str:
            found = _unstable(node)
            if found:
                return found
        elif type(node) is list:
            stack.extend(reversed(node))
        elif type(node) is dict:
            for key, item in reversed(node.items()):
                stack.append(item)
                stack.append(key)
    return None


def _unstable(text: str) -> str | None:
    if "0x" not in text and "/" not in text:
        return None
    for name, pattern in _RULES:
        match = pattern.search(text)
        if match:
            start, end = match.start(), match.end()
            shown = text[start : match.start(1)] + "…" + text[match.end(1) : end]
            return f"{name}: {shown[-120:]}"
    return None
