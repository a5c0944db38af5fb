"""What a name can stand for: inside the project, outside of it, or nothing.

The three that closures are made of are named tuples, of different lengths: they are made, hashed and compared by the hundred thousand.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import NamedTuple


class Slot(NamedTuple):
    """A global variable of a project module."""

    module: str
    name: str


class ModuleRef(NamedTuple):
    """A module of the project."""

    name: str


class Foreign(NamedTuple):
    """A module outside the project, or a member of one. `known`: the standard library has it on this interpreter."""

    module: str
    attribute: str | None
    known: bool

    @property
    def dotted(self) -> str:
        """The canonical dotted name."""
        return self.module if self.attribute is None else f"{self.module}.{self.attribute}"


@dataclass(frozen=True, slots=True)
class Builtin:
    """A name of the builtins module."""

    name: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A name that stands for nothing that we can see; `reason` is a slug, `name` what is missing."""

    name: str
    reason: str


Target = Slot | ModuleRef | Foreign | Builtin | Missing


@dataclass(frozen=True, slots=True)
class Defined:
    """A definition in the project. `node` is the class, function or other statement that binds the name."""

    module: str
    qualname: str
    node: ast.stmt


@dataclass(frozen=True, slots=True)
class External:
    """Something outside the project by its canonical dotted name. Builtins are `builtins.int`.

    `stdlib` is False for libraries that are not part of the standard library.
    """

    name: str
    stdlib: bool = True


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A name that nothing binds, and why."""

    name: str
    reason: str
