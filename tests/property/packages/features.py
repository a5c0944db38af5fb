"""Features: templates of text for the modules of a package, read from the files beside this one.

    # feature: NAME            marks may follow. uncalled: its functions are not called while modules load;
                               rare, rarest: it seldom fits, and is tried two or four times as often;
                               escapes: `low` is used as a value; annotations: they are read or have effects
    # here                     text of one module
    # low                      text of a module that is executed before those that follow
    # side, high               text of modules above `low`, in that order
    # package of low           text of the package around `low`
    # top of high              text before all else of the module
    # end of low               text behind all else of the module
    # close low                nothing that comes later in the module is imported by others: it imports upwards here

A role may ask for a kind of module (`# low: vendored`), see `Layout` in `packages.py`. Placeholders:

| `$f $g $h`, `$C $D`, `$V $W`, `$T` | new functions, classes, values, tables; `$f` is the witness |
| `$m` | a name for a module that is imported |
| `$any` | something that `low` has, of whatever kind |
| `$read` | an expression that reads something known so far, each time another |
| `$n`, `$word` | a digit, a word |
| `$here $low $side $high`, `$parent`, `$last` | dotted names of modules; of the package around `low`, its last part |
| `$relative`, `$relative_parent` | `low` and the package around it, as `high` names them relatively |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

PLACEHOLDER: Final = re.compile(r"\$(?:\{(\w+)\}|([a-z_]+|[A-Z]))")
WITNESS: Final = re.compile(r"^( *)def \$f\(", re.MULTILINE)
_REBINDS: Final = re.compile(r"^ +global ", re.MULTILINE)
ROLES: Final = ("here", "low", "side", "high")


@dataclass(frozen=True, slots=True)
class Part:
    """Text for one place: `where` is head, body or tail of the module of a role; `around` means the package around it."""

    role: str
    where: str
    text: str
    around: bool = False


@dataclass(frozen=True)
class Feature:
    """One construct. `kinds` are the kinds of module that roles ask for; `closes` says that `low` imports upwards."""

    name: str
    parts: tuple[Part, ...]
    kinds: tuple[tuple[str, str], ...]
    called: bool
    weight: int
    escapes: bool
    annotations: bool
    closes: bool

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles that the feature gives text to, in the order of execution."""
        named = {part.role for part in self.parts} | {role for role in ROLES if self.uses(role)}
        if self.uses("any") or self.uses("last") or self.uses("parent") or self.uses("relative"):
            named.add("low")
        return tuple(role for role in ROLES if role in named)

    @cached_property
    def witness(self) -> str:
        """The role whose module has the witness."""
        return next(part.role for part in self.parts if WITNESS.search(part.text))

    @cached_property
    def circular(self) -> bool:
        """Whether `low` imports a module above it."""
        return any(part.role == "low" and re.search(r"\$(high|side)\b", part.text) for part in self.parts)

    def rebinds(self, role: str) -> bool:
        """Whether a function in the module of a role binds a global of it: that module is no value then."""
        return any(part.role == role and _REBINDS.search(part.text) for part in self.parts)

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """The placeholders that stand in the texts."""
        return frozenset(match[1] or match[2] for part in self.parts for match in PLACEHOLDER.finditer(part.text))

    def uses(self, placeholder: str) -> bool:
        """Whether a placeholder stands in the texts."""
        return placeholder in self.placeholders


def read(text: str) -> Iterator[Feature]:
    """The features of one file."""
    for piece in re.split(r"^# feature: ", text, flags=re.MULTILINE)[1:]:
        title, _, body = piece.partition("\n")
        name, _, marks = title.partition(", ")
        found = re.split(r"^# (.*)\n", body, flags=re.MULTILINE)
        parts: list[Part] = []
        kinds: list[tuple[str, str]] = []
        closes = False
        for heading, content in zip(found[1::2], found[2::2], strict=True):
            words, _, kind = heading.partition(": ")
            match words.split():
                case [role]:
                    parts.append(Part(role, "body", content))
                    if kind:
                        kinds.append((role, kind))
                case ["package", "of", role]:
                    parts.append(Part(role, "body", content, around=True))
                case ["top", "of", role]:
                    parts.append(Part(role, "head", content))
                case ["end", "of", role]:
                    parts.append(Part(role, "tail", content))
                case ["close", "low"]:
                    closes = True
                case _:
                    raise ValueError(f"{name}: {heading!r}")
        told = marks.split()
        yield Feature(
            name=name,
            parts=tuple(parts),
            kinds=tuple(kinds),
            called="uncalled" not in told,
            weight=4 if "rarest" in told else 2 if "rare" in told else 1,
            escapes="escapes" in told,
            annotations="annotations" in told,
            closes=closes,
        )


def _all() -> tuple[Feature, ...]:
    found = [one for path in sorted(Path(__file__).parent.glob("*.txt")) for one in read(path.read_text("utf-8"))]
    assert len({one.name for one in found}) == len(found), "two features of one name"
    return tuple(found)


FEATURES: Final = _all()
DECK: Final = tuple(one for one in FEATURES for _ in range(one.weight))
"""What packages draw from."""
