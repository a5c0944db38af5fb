"""The program's text: the units as written, renamed by position, in one namespace."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from exe.analysis.scopes import Reading
from exe.analysis.stdlib import BUILTINS, load
from exe.analysis.targets import Foreign, ModuleRef, Slot, Target
from exe.inline.annotations import FIELD_MARKERS
from exe.inline.atonce import binding, needed_at_once
from exe.inline.dynamic import piece_key
from exe.inline.effects import Effects
from exe.inline.lost import later
from exe.inline.making import together
from exe.inline.namespaces import filled, made, made_early
from exe.inline.naming import ForeignName, Naming, assign_names
from exe.inline.reading import UnitReading, reads_annotations
from exe.inline.result import Block, Hazard, Refused
from exe.inline.slice import Slice
from exe.inline.writing import BLOCKS, UnitWriter, import_lines


@dataclass(frozen=True, slots=True)
class Merged:
    """A program's text, the pieces that it is joined from, those that stand in some module apart, its names, and the hazards by block."""

    source: str
    pieces: tuple[str, ...]
    blocks: tuple[Block, ...]
    naming: Naming
    hazards: tuple[tuple[int, Hazard], ...]


def merge(slice_: Slice) -> Merged:
    """The program for a slice. Raises Refused."""
    naming = assign_names(slice_)
    writers = [UnitWriter(reading, slice_, naming) for reading in slice_.readings]
    pieces = [(writer.text(), writer.reading) for writer in writers]
    head = [*_imports(slice_, naming), *_shadowed_later(slice_, naming)]
    if slice_.namespaces:
        pieces, lines = _with_namespaces(pieces, slice_, naming)
        head += lines
    if slice_.shows_modules:
        pieces = [*_named(pieces, slice_)]
        if slice_.assumed.read or slice_.looks_up:
            head += _registration(pieces, slice_, naming)
    blocks = tuple(Block(text, _origin(reading)) for text, reading in pieces if text)
    texts = ("\n".join(head), *(block.text for block in blocks))
    if _postponed(slice_):
        head.insert(0, "from __future__ import annotations\n")
    readings = [reading for text, reading in pieces if text]
    blocks_of = {reading: at for at, reading in reversed([*enumerate(readings)])}  # the first: what is behind is ours
    hazards = [(at, one) for reading, at in blocks_of.items() for one in _hazards(reading, slice_, naming)]
    hazards += [(blocks_of[reading], one) for reading, one in _readers_of_mixed(slice_)]
    return Merged(_join(head, pieces), texts, blocks, naming, tuple(hazards))


def _hazards(reading: UnitReading, slice_: Slice, naming: Naming) -> Iterator[Hazard]:
    yield from slice_.hazards.get(reading, ())
    if slice_.lost:
        yield from later(reading, slice_.lost, slice_.assumed, naming.of)


def _origin(reading: UnitReading) -> str:
    module = reading.unit.module
    package = module.package
    return f"{package.name} {package.version} {module.path}:{reading.unit.node.lineno}"


def _with_namespaces(
    pieces: list[tuple[str, UnitReading]], slice_: Slice, naming: Naming
) -> tuple[list[tuple[str, UnitReading]], list[str]]:
    """The pieces with the object for each module used as a value behind its last one, and the lines that go before all."""
    maker = naming.fresh("ModuleType", "types") if "ModuleType" in naming.avoid else "ModuleType"
    head = ["from types import ModuleType" + ("" if maker == "ModuleType" else f" as {maker}")]
    last, position = slice_.timeline.last, slice_.timeline.position
    order = sorted((module.name for module in slice_.namespaces), key=lambda name: last.get(name, -1))
    inner = {
        module.name: [target.name for target in members.values() if isinstance(target, ModuleRef)]
        for module, members in slice_.namespaces.items()
    }
    places = {
        module: max((at for at, (_, one) in enumerate(pieces) if position[one.unit] <= last.get(module, -1)), default=0)
        for module in order
    }
    early = sorted({*made_early(order, inner), *_bound_before(pieces, slice_, places)})
    if early:
        head += ["", *(made(naming.of(ModuleRef(module)), module, maker) for module in early)]
    texts = dict(enumerate(text for text, _ in pieces))
    for module, place in places.items():
        name = naming.of(ModuleRef(module))
        members = {
            attribute: _named_member(naming, target, attribute) for attribute, target in _members(slice_, module)
        }
        text = filled(name, members) if module in early else f"{made(name, module, maker)}\n{filled(name, members)}"
        texts[place] = f"{texts[place]}\n\n\n{text}" if texts[place] else text
    for index, (_, reading) in enumerate(pieces):
        own = reading.unit.module.name
        soon = early if own in early and index < places[own] else ()  # others may look before it is filled
        bound = [Slot(own, name) for name in reading.unit.binds if soon and (name in dict(_members(slice_, own)))]
        later = [one for one in _stored(reading) if places.get(one.module, index) < index]  # it was filled before
        for target in (*bound, *later):
            if target in naming.emitted:
                line = f"{naming.of(ModuleRef(target.module))}.{target.name} = {naming.of(target, target.name)}"
                texts[index] = f"{texts[index]}\n{line}" if texts[index] else line
        for used in reading.modules_at_once:
            if places.get(used, -1) >= index:
                raise Refused("definition-order", f"{used} is used as a value before it is loaded")
    return [(texts[index], reading) for index, (_, reading) in enumerate(pieces)], head


def _named_member(naming: Naming, target: Target, attribute: str) -> str:
    """The program's name of a member. Raises Refused for the copy of a star import that has no variable of its own."""
    if isinstance(target, Slot) and target not in naming.emitted:
        raise Refused("module-escapes", f"{target.module}.{target.name} is a copy that a star import made")
    return naming.of(target, attribute)


def _stored(reading: UnitReading) -> Iterator[Slot]:
    """The globals of other modules that a unit assigns as attributes of them while it runs. Raises Refused where it deletes one."""
    for use, found in reading.uses:
        whole = found.used and found.used == len(use.attributes)
        if whole and use.context != "load" and isinstance(found.target, Slot) and not use.deferred:
            if use.context == "delete":
                raise Refused("module-escapes", f"{found.target.module}.{found.target.name} is deleted")
            yield found.target


def _bound_before(pieces: list[tuple[str, UnitReading]], slice_: Slice, places: dict[str, int]) -> Iterator[str]:
    """The modules that an import statement binds to a variable before their own end, in a circle."""
    for index, (_, reading) in enumerate(pieces):
        if isinstance(reading.unit.node, ast.Import | ast.ImportFrom):
            for imported in reading.unit.binds.values():
                target = slice_.resolve_import(imported) if imported is not None else None
                if isinstance(target, ModuleRef) and places.get(target.name, -1) >= index:
                    yield target.name


def _members(slice_: Slice, module: str) -> Iterator[tuple[str, Target]]:
    yield from slice_.namespaces[ModuleRef(module)].items()


def _named(pieces: list[tuple[str, UnitReading]], slice_: Slice) -> Iterator[tuple[str, UnitReading]]:
    """The pieces with `__name__` set to each module's before its statements, to the entry's behind all.

    Where classes alone can show it, it is set for what makes classes.
    """
    current = ""
    anything = slice_.asks_functions
    made = together([reading.making for text, reading in pieces if text])
    for text, reading in pieces:
        module, node = reading.unit.module.name, reading.unit.node
        counts = not isinstance(node, ast.Import | ast.ImportFrom) and (
            reading.has_module if anything else made.now(reading.making)
        )
        if text and module != current and counts:
            current = module
            text = f"__name__ = {module!r}\n\n\n{text}"
        yield text, reading
    if pieces and current != slice_.entry.module and (anything or made.later):
        yield f"__name__ = {slice_.entry.module!r}", pieces[-1][1]


def _registration(pieces: list[tuple[str, UnitReading]], slice_: Slice, naming: Naming) -> list[str]:
    """Lines that register the program under the names of those of its modules that something in it can be of."""
    made = {reading.unit.module.name for text, reading in pieces if text and reading.has_module}
    modules = sorted({slice_.entry.module, *made})
    name = next((text for key, text in naming.emitted.items() if key == ForeignName("sys", None, "sys")), None)
    lines = []
    if name is None:
        name = naming.fresh("sys", "module") if "sys" in naming.avoid else "sys"
        lines.append("import sys" if name == "sys" else f"import sys as {name}")
    if len(modules) == 1:
        return [*lines, "", f"{name}.modules.setdefault({modules[0]!r}, {name}.modules[__name__])"]
    listed = "".join(f"    {one!r},\n" for one in modules)
    registered = f"[{name}.modules.setdefault(one, {name}.modules[__name__]) for one in (\n{listed})]"
    return [*lines, "", registered]


def _join(head: list[str], pieces: list[tuple[str, UnitReading]]) -> str:
    out: list[str] = ["\n".join(head)] if head else []
    before: UnitReading | None = None
    for text, reading in pieces:
        if not text:
            continue
        if out:
            block = isinstance(reading.unit.node, BLOCKS)
            after_block = before is None or isinstance(before.unit.node, BLOCKS)
            same = before is not None and before.unit.module is reading.unit.module
            out.append("\n\n\n" if block or after_block else "\n" if same else "\n\n")
        out.append(text)
        before = reading
    return "".join(out) + "\n"


def _readers_of_mixed(slice_: Slice) -> Iterator[tuple[UnitReading, Hazard]]:
    """Where functions ask for annotations that some modules postpone and others do not. Raises Refused where loading asks."""
    if not slice_.assumed.read:
        return
    annotated = {
        reading.unit.module.postponed: reading.unit.module.name for reading in slice_.readings if reading.annotated
    }
    if len(annotated) < 2:
        return
    detail = f"{annotated[True]} postpones annotations, {annotated[False]} does not"
    for reading in slice_.readings:
        for use, found in reading.uses if reading.reads_annotations else ():
            if reads_annotations(use, found):
                key = piece_key(use.scope) if use.deferred else None
                if key is None:
                    raise Refused("mixed-annotations", detail)
                yield reading, Hazard("mixed-annotations", detail, reading.unit.module.name, key, at=use.name)


def _postponed(slice_: Slice) -> bool:
    """Whether annotations are postponed; they are for all as soon as one annotated unit was written for that."""
    annotated = [reading for reading in slice_.readings if reading.annotated]
    postponed = [reading for reading in annotated if reading.unit.module.postponed]
    for reading in annotated if postponed else ():
        if not reading.unit.module.postponed and _works_by_annotation(reading, slice_):
            raise Refused("mixed-annotations", f"annotations of {reading.unit.module.name} work by being evaluated")
    return bool(postponed) or slice_.assumed.postponed


def _works_by_annotation(reading: UnitReading, slice_: Slice) -> bool:
    """Whether evaluating annotations changes what others see, or a string marks the field of a dataclass."""
    if reading.works_by_annotation is None:
        reading.works_by_annotation = _evaluates(reading, slice_.slicer.effects)
    return reading.works_by_annotation


def _evaluates(reading: UnitReading, effects: Effects) -> bool:
    for use, found in reading.uses:
        target = found.target
        if use.reading not in (Reading.FUNCTION, Reading.BODY):
            continue
        if use.quoted:
            if use.reading is Reading.BODY and found.text(use) in FIELD_MARKERS:
                return True  # postponed, it would be a string in a string
        elif use.called and isinstance(target, Slot) and effects.of_function(target).touched:
            return True
    return False


def _imports(slice_: Slice, naming: Naming) -> list[str]:
    """The import lines of what the program takes from the standard library, sorted."""
    submodules: dict[str, set[str]] = {}
    for reading in slice_.readings:
        for module, deeper in _submodules(reading):
            submodules.setdefault(module, set()).add(deeper)
    lines: set[str] = set()
    for key, name in naming.emitted.items():
        if isinstance(key, ForeignName):
            lines.update(import_lines(key, name, submodules.get(key.module, set()), naming))
    if naming.builtins:
        lines.add("import builtins")
    return sorted(lines, key=lambda line: (line.startswith("from "), line))


def _shadowed_later(slice_: Slice, naming: Naming) -> list[str]:
    """Lines that give renamed globals the builtin that they shadow, where a call reads them before they are bound."""
    renamed = {
        key: name
        for key, name in naming.emitted.items()
        if isinstance(key, Slot) and key.name in BUILTINS and key.name != name
    }
    if not renamed:
        return []
    timeline, units = slice_.timeline, binding(slice_.readings)
    lines: set[str] = set()
    for reading in slice_.readings:
        for slot in needed_at_once(reading, units)[0] & renamed.keys():
            if timeline.binders.get(slot, [-1])[0] > timeline.position[reading.unit]:
                if isinstance(naming.owners.get(slot.name), ForeignName):
                    raise Refused("definition-order", f"{slot.module}.{slot.name} is read before it is bound")
                builtin = f"builtins.{slot.name}" if slot.name in naming.builtins else slot.name
                lines.add(f"{renamed[slot]} = {builtin}")
    return sorted(lines)


def _submodules(reading: UnitReading) -> frozenset[tuple[str, str]]:
    """Standard-library modules that a unit uses with the submodules of them that it names; computed once."""
    if reading.submodules is None:
        found: set[tuple[str, str]] = set()
        for use, resolved in reading.uses:
            target = resolved.target
            if isinstance(target, Foreign) and target.attribute is None and target.known:
                deeper = _submodule(target.module, [one.attr for one in use.attributes[resolved.used :]])
                if deeper is not None:
                    found.add((target.module, deeper))
        reading.submodules = frozenset(found)
    return reading.submodules


def _submodule(module: str, chain: list[str]) -> str | None:
    """The deepest module that a chain of attributes of a standard-library module names."""
    found: str | None = None
    for attribute in chain:
        owner = load(module)
        if owner is None or not (hasattr(owner, "__path__") or module == "os"):
            break
        module = f"{module}.{attribute}"
        if load(module) is None or module == "os.path":
            break
        found = module
    return found
