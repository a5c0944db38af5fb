"""One unit's text in the program: as written, but for names, imports below the top and branches that never run.

The source is edited by position, never unparsed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from exe.analysis.imports import Imported
from exe.analysis.scopes import Use
from exe.analysis.stdlib import BUILTINS
from exe.analysis.targets import Builtin, Foreign, Missing, ModuleRef, Slot
from exe.analysis.units import Unit
from exe.inline import fstrings
from exe.inline.naming import ForeignName, NamespaceName, Naming, foreign_name, summary
from exe.inline.reading import LocalImport, Resolved, UnitReading
from exe.inline.result import Refused
from exe.inline.slice import Slice

Edit = tuple[int, int, str]

BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def import_lines(key: ForeignName, name: str, submodules: Iterable[str], naming: Naming) -> list[str]:
    """The import statements that bind a name to a standard-library thing, and load the submodules asked for."""
    if key.module == "builtins" and key.attribute == name:
        return []  # nothing else has the name, so it is the built-in's anyway
    if key.attribute is not None:
        text = f"from {key.module} import {key.attribute}"
        return [text if name == key.attribute else f"{text} as {name}"]
    plain = name == key.module
    lines = []
    for deeper in sorted(submodules):
        top = deeper.partition(".")[0]
        free = top not in naming.avoid or naming.owners.get(top) == key
        lines.append(f"import {deeper}" if free else f"import {deeper} as {naming.fresh(deeper.replace('.', '_'))}")
    if not plain:
        return [f"import {key.module} as {name}", *lines]
    bound = any(line.startswith(f"import {key.module}.") and " as " not in line for line in lines)
    return lines if bound else [f"import {key.module}", *lines]


class UnitWriter:
    """Writes one unit."""

    def __init__(self, reading: UnitReading, slice_: Slice, naming: Naming) -> None:
        self.reading = reading
        self.slice = slice_
        self.naming = naming
        self.unit = reading.unit
        self.lines = self.unit.module.lines
        self.source = self.unit.module.source
        self.edits: list[Edit] = []
        self.removed: list[tuple[int, int]] = []

    def text(self) -> str:
        """The unit's text in the program, "" where nothing of it is left."""
        if isinstance(self.unit.node, ast.Import | ast.ImportFrom):
            return self._import_unit()
        key = self._cache_key()
        if key is None:
            return self._write()
        text = self.reading.texts.get(key)
        if text is None:
            text = self.reading.texts[key] = self._write()
        return text

    def _cache_key(self) -> tuple[str | None, ...] | None:
        """The names that decide the text; None where it depends on more: renamed definitions, qualified builtins."""
        one = summary(self.reading)
        emitted = self.naming.emitted
        if self.naming.builtins or any(emitted[key] != name for key, name in one.keys.items()):
            return None
        return tuple(emitted.get(key) for key in one.used)

    def _write(self) -> str:
        start, end = self._extent()
        first, _ = self.lines.span(self.unit.node)
        if isinstance(self.unit.node, ast.If) and self.source.startswith("elif", first):
            self.edits.append((first, first + 4, "if"))  # the branches before it are settled
        self._dead()
        self._omitted()
        self._local_imports()
        self._globals()
        for use, found in self.reading.uses:
            self._use(use, found)
        before, after = self._definitions()
        self._dedent(start, end)
        body = self._apply(start, end)
        return before + body + after

    # ---- extent -----------------------------------------------------------------------------------------------------

    def _extent(self) -> tuple[int, int]:
        """Offsets of the unit with its decorators, the comments right above it and the one behind it."""
        node = self.unit.node
        start, end = self.lines.span(node)
        if isinstance(node, BLOCKS) and node.decorator_list:
            first, _ = self.lines.span(node.decorator_list[0])
            start = self.source.rindex("@", 0, first)
        number = self.lines.number(start)
        indent = self.source[self.lines.starts[number - 1] : start]
        if not indent.strip():
            while number > 1:
                line = self.lines.line(number - 1)
                if not line.startswith(f"{indent}#") or line.startswith(("#!", "# -*-")):
                    break
                number -= 1
                start = self.lines.starts[number - 1] + len(indent)
        stop = self.source.find("\n", end)
        rest = self.source[end : stop if stop >= 0 else len(self.source)]
        if rest.strip().startswith("#"):
            end += len(rest.rstrip())
        return start, end

    def _dedent(self, start: int, end: int) -> None:
        number = self.lines.number(start)
        indent = self.source[self.lines.starts[number - 1] : start]
        if not indent or indent.strip():
            return
        inside: set[int] = set()
        for part in ast.walk(self.unit.node):
            if isinstance(part, ast.JoinedStr | ast.Constant) and part.end_lineno is not None:
                inside.update(range(part.lineno + 1, part.end_lineno + 1))
        last = self.lines.number(max(end - 1, start))
        for line in range(number + 1, last + 1):
            if line not in inside and self.lines.line(line).startswith(indent):
                first = self.lines.starts[line - 1]
                self.edits.append((first, first + len(indent), ""))

    def _apply(self, start: int, end: int) -> str:
        pieces: list[str] = []
        at = start
        kept = [edit for edit in self.edits if not self._is_removed(edit)]
        for first, last, text in sorted(set(kept), key=lambda edit: (edit[0], edit[1])):
            if first < at:
                if first == last or last <= at:
                    continue  # indentation inside something that is replaced as a whole
                raise Refused("invalid-program", f"overlapping edits in {self.unit.module.name}")
            pieces.append(self.source[at:first])
            pieces.append(text)
            at = last
        pieces.append(self.source[at:end])
        return "".join(pieces)

    def _is_removed(self, edit: Edit) -> bool:
        return any(first <= edit[0] and edit[1] <= last and edit[:2] != (first, last) for first, last in self.removed)

    def _replace(self, first: int, last: int, text: str) -> None:
        self.removed.append((first, last))
        self.edits.append((first, last, text))

    # ---- edits ------------------------------------------------------------------------------------------------------

    def _dead(self) -> None:
        for body in self.reading.dead_bodies:
            first, _ = self.lines.span(body[0])
            if isinstance(body[0], BLOCKS) and body[0].decorator_list:
                first = self.source.rindex("@", 0, self.lines.span(body[0].decorator_list[0])[0])
            _, last = self.lines.span(body[-1])
            self._replace(first, last, "pass")

    def _omitted(self) -> None:
        """Takes methods out of a class, each with its decorators, comments and the blank lines before it."""
        for node in self.unit.omitted:
            assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            number = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            indent = self.lines.line(number)[: node.col_offset]
            while self.lines.line(number - 1).startswith(f"{indent}#"):
                number -= 1
            while not self.lines.line(number - 1).strip():
                number -= 1
            end = self.lines.number(self.lines.span(node)[1])
            while re.match(rf"{indent}[ \t]+#", self.lines.line(min(end + 1, len(self.lines.starts)))):
                end += 1
            last = self.lines.starts[end - 1] + len(self.lines.line(end))
            empty = node is self.unit.omitted[0] and self._is_empty()
            self._replace(self.lines.starts[number - 1] - 1, last, f"\n{indent}pass" if empty else "")

    def _is_empty(self) -> bool:
        """Whether a class has lost all that was in it."""
        node = self.unit.node
        return (
            isinstance(node, ast.ClassDef)
            and isinstance(node.body[0], ast.Pass)
            and not hasattr(node.body[0], "lineno")
        )

    def _use(self, use: Use, found: Resolved) -> None:
        text = self._replacement(use, found)
        if text is None:
            return
        node: ast.expr = use.attributes[found.used - 1] if found.used else use.node
        if use.fstring is not None:
            place = fstrings.positions(use.fstring, self.lines).get(id(node))
            if place is None or place.shows:
                if not found.used and text == use.node.id:
                    return
                raise Refused("string-formatting", f"{use.name} in an f-string of {self.unit.module.name}")
            first, last = place.start, place.end
            if text[0] in "'\"" and place.quote == text[0]:
                text = {"'": '"', '"': "'"}[text[0]].join(["", text[1:-1], ""])
        else:
            first, last = self.lines.span(node)
        if self.source[first:last] != text:
            self.edits.append((first, last, text))

    def _replacement(self, use: Use, found: Resolved) -> str | None:
        """The text that stands for a use, None where it stays as written."""
        target = found.target
        match target:
            case Slot():
                name = self.naming.emitted.get(target)
                return None if name is None or use.ambiguous or use.name != use.node.id else name
            case Foreign(known=True):
                return self.naming.emitted.get(foreign_name(use, found))
            case ModuleRef(name=name):
                return self.naming.emitted.get(NamespaceName(name))
            case Builtin(name=name):
                return f"builtins.{name}" if name in self.naming.builtins else None
            case Missing(name="__name__", reason="module-attribute"):
                return repr(self._module_of(found))
            case Missing(name="__package__", reason="module-attribute"):
                return repr(self.unit.module.parent)
            case _:
                return None

    def _module_of(self, found: Resolved) -> str:
        if not found.used:
            return self.unit.module.name
        raise Refused("module-attribute", f"__name__ of another module in {self.unit.module.name}")

    def _globals(self) -> None:
        for statement, _ in self.unit.names.globals:
            names = [self.naming.emitted.get(Slot(self.unit.module.name, name), name) for name in statement.names]
            if names != statement.names:
                first, last = self.lines.span(statement)
                self.edits.append((first, last, "global " + ", ".join(names)))

    def _definitions(self) -> tuple[str, str]:
        """Renamed functions and classes keep the name of their definition and get their other name behind it."""
        before, after = "", ""
        for node, scope in self.unit.names.definitions:
            if scope.kind != "module" and scope.outside.get(node.name) != "global":
                continue
            name = self.naming.emitted.get(Slot(self.unit.module.name, node.name), node.name)
            if name == node.name:
                continue
            if scope.kind != "module":
                raise Refused("name-collision", f"{node.name} is defined by a function of {self.unit.module.name}")
            kept = self._keep(node.name)
            if node is self.unit.node:
                before += f"{kept} = {node.name}\n" if kept else ""
                after += f"\n\n{self._alias(name, node.name, kept, chr(10))}"
            else:
                self._inner_alias(node, name, kept)
        return before, after

    def _alias(self, name: str, written: str, kept: str | None, separator: str) -> str:
        if kept:
            return f"{name}, {written} = {written}, {kept}"
        if written in self.naming.owners or (written not in BUILTINS and written not in self.naming.unbound):
            return f"{name} = {written}"
        return f"{name} = {written}{separator}del {written}"

    def _inner_alias(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, name: str, kept: str | None
    ) -> None:
        start, end = self.lines.span(node)
        if node.decorator_list:
            start = self.source.rindex("@", 0, self.lines.span(node.decorator_list[0])[0])
        indent = self.source[self.lines.starts[self.lines.number(start) - 1] : start]
        if indent.strip():
            raise Refused("name-collision", f"{node.name} of {self.unit.module.name} shares its line")
        if kept:
            self.edits.append((start, start, f"{kept} = {node.name}\n{indent}"))
        self.edits.append((end, end, f"\n{indent}{self._alias(name, node.name, kept, f'{chr(10)}{indent}')}"))

    def _keep(self, name: str) -> str | None:
        """A name to keep the owner's object under while another definition passes through, None where it is not there."""
        owner = self.naming.owners.get(name)
        if owner is None:
            return None
        if not isinstance(owner, Slot):
            return self.naming.fresh(name, "kept")
        here = self.slice.timeline.position[self.unit]
        for reading in self.slice.readings:
            if self.slice.timeline.position[reading.unit] >= here:
                break
            if reading.unit.module.name == owner.module and owner.name in reading.unit.binds:
                imported = reading.unit.binds[owner.name]
                if imported is None or self._gives(reading.unit, owner.name, imported):
                    return self.naming.fresh(name, "kept")
        return None

    # ---- imports ----------------------------------------------------------------------------------------------------

    def _import_unit(self) -> str:
        """An import whose name is a variable of its own becomes an assignment at its place."""
        lines: list[str] = []
        module = self.unit.module.name
        for bound, imported in self.unit.binds.items():
            name = self.naming.emitted.get(Slot(module, bound))
            if name is None or imported is None or not self._gives(self.unit, bound, imported):
                continue
            target = self.slice.resolve_import(imported)
            if isinstance(target, Foreign):
                lines += import_lines(ForeignName(target.module, target.attribute, name), name, (), self.naming)
            else:
                lines.append(f"{name} = {self.naming.of(target)}")
        return "\n".join(lines)

    def _gives(self, unit: Unit, bound: str, imported: Imported) -> bool:
        """Whether an import assigns a name in the program: that is there, and not for another statement that binds it."""
        target = self.slice.resolve_import(imported)
        return self.slice.star_gives(unit, bound) and (not isinstance(target, Slot) or target in self.naming.emitted)

    def _local_imports(self) -> None:
        statements: dict[int, list[LocalImport]] = {}
        for entry in self.reading.imports:
            statements.setdefault(id(entry.node), []).append(entry)
        gone: set[int] = set()
        for entries in statements.values():
            node = entries[0].node
            parts = [self._import_text(entry) for entry in entries]
            written = [part for part in parts if part]
            first, last = self.lines.span(node)
            if all(
                entry.how == "keep" and part == _as_written(entry) for entry, part in zip(entries, parts, strict=True)
            ):
                continue
            if written:
                self._replace(first, last, "; ".join(written))
            else:
                gone.add(id(node))
        if gone:
            self._remove(gone)

    def _import_text(self, entry: LocalImport) -> str:
        module_level = entry.scope.kind == "module" or entry.scope.outside.get(entry.bound) == "global"
        slot = Slot(self.unit.module.name, entry.bound)
        bound = self.naming.emitted.get(slot, entry.bound) if module_level else entry.bound
        match entry.how:
            case "drop":
                return ""
            case "assign":
                return f"{bound} = {self.naming.of(entry.target)}"
            case "fail":
                name = entry.missing
                # the assignment is never reached: it keeps the name in the scope that it has
                return f"raise ModuleNotFoundError({f'No module named {name!r}'!r}); {bound} = None"
            case _:
                if isinstance(entry.target, Foreign) and not _direct(entry, entry.target):
                    return _from_library(entry.target, bound)
                if bound == entry.bound:
                    return _as_written(entry)
                source = entry.alias.name
                if isinstance(entry.node, ast.ImportFrom):
                    return f"from {entry.node.module} import {source} as {bound}"
                return f"import {source if entry.alias.asname else source.partition('.')[0]} as {bound}"

    def _remove(self, gone: set[int]) -> None:
        """Takes statements out; a body that would be empty keeps a `pass`."""
        for parent in ast.walk(self.unit.node):
            for name in ("body", "orelse", "finalbody"):
                body = getattr(parent, name, None)
                if not isinstance(body, list) or not any(id(child) in gone for child in body):
                    continue
                left = [child for child in body if id(child) not in gone]
                for index, child in enumerate(body):
                    if id(child) in gone:
                        self._take_out(child, leave_pass=not left and index == 0)

    def _take_out(self, node: ast.stmt, *, leave_pass: bool) -> None:
        first, last = self.lines.span(node)
        line_start = self.lines.starts[self.lines.number(first) - 1]
        line_end = self.source.find("\n", last)
        line_end = len(self.source) if line_end < 0 else line_end
        rest = self.source[last:line_end].strip()
        alone = not self.source[line_start:first].strip() and (not rest or rest.startswith("#"))
        if leave_pass or not alone:
            self._replace(first, last, "pass")
        else:
            self._replace(line_start, min(line_end + 1, len(self.source)), "")


def _direct(entry: LocalImport, target: Foreign) -> bool:
    """Whether an import names the library itself, not a module of the project that has it from there."""
    if isinstance(entry.node, ast.Import):
        return True
    written = f"{'.' * entry.node.level}{entry.node.module or ''}.{entry.alias.name}"
    return written == target.dotted


def _from_library(target: Foreign, bound: str) -> str:
    if target.attribute is None:
        return f"import {target.module} as {bound}"
    return f"from {target.module} import {target.attribute} as {bound}"


def _as_written(entry: LocalImport) -> str:
    renamed = f" as {entry.alias.asname}" if entry.alias.asname else ""
    if isinstance(entry.node, ast.ImportFrom):
        return f"from {entry.node.module} import {entry.alias.name}{renamed}"
    return f"import {entry.alias.name}{renamed}"
