"""What inlining gives: a program, or a refusal with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

REASONS: Final = (
    "unknown-function",  # the candidate's function is not where it is said to be
    "module-fails",  # the function's own module cannot be imported on this platform
    "unresolved-import",  # needs a library or a module that is not there
    "dependency-needed",  # needs a locked dependency: it is inlined too, this is no last word
    "dependency-license",  # needs code of a locked dependency whose licence does not let it in
    "dependency-unreadable",  # needs a locked dependency, or a part of the package, that is compiled or cannot be read
    "unbound-name",  # a name that nothing binds would be read
    "module-escapes",  # a module of the package is used as a value
    "module-getattr",  # a name that only a module's __getattr__ can tell
    "module-attribute",  # __file__, __doc__, __path__ … of a module
    "module-attribute-assigned",  # a function assigns to another module's global
    "dynamic-namespace",  # globals(), exec, eval, vars() of a module
    "dynamic-import",  # importlib.import_module, __import__, sys.modules
    "name-collision",  # two names that cannot be renamed want to be one
    "string-formatting",  # a name inside an f-string would have to be rewritten, and shows or cannot be placed
    "mixed-annotations",  # modules disagree about postponed annotations, and something reads them
    "unplaceable-import",  # an import inside a function whose names cannot be told from others
    "definition-order",  # something is needed before it is defined
    "too-large",  # over the limits
    "too-deep",  # nesting over what the parser or we can walk
    "invalid-program",  # the merged text does not compile
)
"""The closed list of reasons of Rejections with stage `inline`."""


class Refused(Exception):
    """Why a function cannot be inlined soundly. `reason` is one of REASONS; becomes a Rejection."""

    def __init__(self, reason: str, detail: str) -> None:
        assert reason in REASONS, reason
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a program may become."""

    characters: int = 1_200_000  # about 300,000 tokens
    statements: int = 20_000


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a program's text as it stands there, and where it was written: "attrs 25.3.0 attr/_make.py:120"."""

    text: str
    place: str


@dataclass(frozen=True, slots=True, order=True)
class Hazard:
    """A use, in a body that only a call runs, that cannot be relied on to do here what it did in the package.

    `module` is where it was written, `key` the function or method as it is called there ("f", "C.m"), `at` the name that marks the place in it, "" where none does.
    `name` is a global that stays as written there, bound or not. `reason` is one of REASONS.
    """

    reason: str
    detail: str
    module: str
    key: str
    name: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inlined:
    """A self-contained program.

    `entry` is the expression that names the function in it. `names` maps "module:qualname" of everything emitted, and of
    the candidate's origins, to its name in the program; `provenance` maps emitted names back, to
    "dependency/module:qualname" for what comes from a locked dependency. `blocks` are the parts that stand in the source
    one after the other, behind the imports. `hazards` stand in the block of that number.
    """

    source: str
    entry: str
    names: Mapping[str, str]
    provenance: Mapping[str, str]
    blocks: tuple[Block, ...]
    hazards: tuple[tuple[int, Hazard], ...] = ()
