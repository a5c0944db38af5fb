"""What the screen finds in a program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something in reach of the entry that may make its outcome depend on the world. `piece` is where ("f", "C.m").

    `line` is 0 for a name that every module has. `deferred`: in the body of a function or method. `called`: not merely named.
    `name`: the constant in whose making it was found, "" where it stands there itself; `line` is then where the piece begins.
    """

    rule: str
    detail: str
    line: int
    piece: str
    deferred: bool
    called: bool = False
    name: str = ""
