"""Which annotations a program evaluates or reads: what only the others name is not needed."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from exe.analysis.modules import FunctionNode
from exe.analysis.scopes import Reading, Use
from exe.analysis.targets import Foreign, Missing
from exe.analysis.units import Unit
from exe.inline.making import together
from exe.inline.reading import Resolved, UnitReading

FIELD_MARKERS: Final = frozenset(
    {"typing.ClassVar", "typing_extensions.ClassVar", "dataclasses.InitVar", "dataclasses.KW_ONLY"}
)
"""What `dataclasses` looks for in annotations that are strings, in the namespace of their module."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """What decides which annotations need what they name.

    `read`: something asks for annotations. `evaluated`: something may evaluate those that are text. `postponed`: none is ever evaluated, since the program as a whole postpones
    them and nothing reads them. `dataclasses`: fields are told from class variables by the text of their annotations.
    `classes`: calls may make classes, or loading try to, in a program in which bases refuse some.
    """

    read: bool = False
    postponed: bool = False
    dataclasses: bool = False
    classes: bool = False
    evaluated: bool = False

    def __or__(self, other: Assumed) -> Assumed:
        read = self.read or other.read
        postponed = (self.postponed or other.postponed) and not read
        return Assumed(
            read,
            postponed,
            self.dataclasses or other.dataclasses,
            self.classes or other.classes,
            self.evaluated or other.evaluated,
        )

    def found(self, readings: Iterable[UnitReading], foreign: Iterable[Foreign]) -> Assumed:
        """What a program of these statements, closed under these assumptions, turns out to do with annotations."""
        units = list(readings)
        read = any(reading.reads_annotations for reading in units)
        postponed = any(reading.unit.module.postponed and reading.annotated for reading in units)
        dataclasses = any(one.module == "dataclasses" for one in foreign)
        guarded = any(reading.guards for reading in units)
        classes = guarded and (
            together([reading.making for reading in units]).later
            or any(isinstance(one.unit.node, ast.Try) and one.making.now for one in units)
        )
        evaluated = any(reading.evaluates_annotations for reading in units)
        return Assumed(
            read, (self.postponed or postponed) and not read, dataclasses, self.classes or classes, evaluated
        )

    def evaluates(self, unit: Unit, use: Use, found: Resolved) -> bool:
        """Whether a use is ever evaluated, as an annotation or otherwise."""
        if use.reading is Reading.NONE:
            return True
        if use.reading is Reading.NEVER:
            return False
        if self.evaluated or not (unit.module.postponed or self.postponed or use.quoted):
            return True
        if use.reading is Reading.BODY:
            return self.dataclasses and found.text(use) in FIELD_MARKERS
        return _registers(unit.node, use)


def names_nothing(unit: Unit, use: Use, found: Resolved) -> bool:
    """Whether a use stands in an annotation that stays text and names what its module does not have, `TYPE_CHECKING` aside.

    Nothing is needed for it; whoever has the text evaluated is told that there is no such name, here as there.
    """
    nothing = isinstance(found.target, Missing) and found.target.reason == "unbound-name" and not found.used
    return nothing and use.reading in (Reading.FUNCTION, Reading.BODY) and (unit.module.postponed or use.quoted)


def _registers(node: ast.stmt, use: Use) -> bool:
    """Whether a use stands in the annotations of a function that `register` reads: `@show.register def _(x: A)`."""
    functions = [node] if isinstance(node, FunctionNode) else node.body if isinstance(node, ast.ClassDef) else []
    return any(
        isinstance(function, FunctionNode)
        and function.lineno <= use.node.lineno <= (function.end_lineno or 0)
        and any(isinstance(one, ast.Attribute) and one.attr == "register" for one in function.decorator_list)
        for function in functions
    )
