"""Inputs made of earlier ones: a value near another one, two of them joined."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from exe.inputs import samples, texts
from exe.inputs.encode import arm_of, wrap
from exe.inputs.schema import key_form
from exe.records import Json, Parameter, Type

if TYPE_CHECKING:
    from exe.inputs.strategies import Maker

LATEST = 8  # examples that are preferred to earlier ones
_TEXT = Type(kind="str", text="str")


def base(maker: Maker, examples: Sequence[dict[str, Json]]) -> dict[str, Json]:
    """One of the examples; every other time of the latest, which came the farthest."""
    return maker.choose(examples[-LATEST:] if maker.chance(50) else examples)


def recombined(maker: Maker, value: Json, parameter: Parameter, examples: Sequence[dict[str, Json]]) -> Json:
    """The value, or that of another example, or the beginning of the one with the end of the other."""
    other = maker.choose(examples) if maker.chance(25) else {}
    if parameter.name not in other:
        return value
    second = other[parameter.name]
    if parameter.type.kind == "str" and isinstance(value, str) and isinstance(second, str) and maker.chance(60):
        return samples.spliced(value, second, maker.below)
    if parameter.type.kind == "list" and isinstance(value, list) and isinstance(second, list) and maker.chance(60):
        return [*value[: maker.below(len(value) + 1)], *second[maker.below(len(second) + 1) :]]
    return second


def varied(maker: Maker, found: Type, value: Json, name: str = "") -> Json:
    """A value of the type near the given one; types that have no near values get another one."""
    match found.kind, value:
        case "union", _:
            arm = arm_of(found, value, maker.names)
            if arm is None or arm[0].kind == "none" or maker.chance(15):
                return maker.value(found, name)
            return wrap(found, (arm[0], varied(maker, *arm, name)), maker.names)
        case (("bytes" | "bytearray" | "io.BytesIO"), str()) if (octets := samples.octets_in(value)) is not None:
            near = str(varied(maker, _TEXT, octets.decode("latin-1"), name))
            return base64.urlsafe_b64encode(near.encode("latin-1", "replace")).decode()
        case ("int", int()) if not isinstance(value, bool):
            return (value + 1, value - 1, -value, value * 2, value // 2, value * 10)[maker.below(6)]
        case "float", int() | float():
            return maker.choose((value + 1, value - 0.5, -value, value * 2, value / 10))
        case ("str" | "any" | "hashable" | "io.StringIO", str()):
            fresh = [texts.text(maker, name) for _ in range(3)]
            pieces = (*maker.hinted_texts(name), *maker.hints.strings[:20], *samples.PIECES, *fresh * 5)
            for _ in range(maker.choose((1, 1, 1, 2, 3))):
                value = samples.mutate(value, maker.below, pieces)
            return value
        case ("list" | "vartuple" | "collections.deque" | "iterator" | "generator", list()) if value:
            return _varied_list(maker, found.args[0], value, name)
        case ("any", list()) if value:
            return _varied_list(maker, found, value, name)
        case ("tuple", list()) if value and len(value) == len(found.args):
            at = maker.below(len(value))
            return [*value[:at], varied(maker, found.args[at], value[at], name), *value[at + 1 :]]
        case ("dict", dict()) if value:
            keys, inner = found.args
            return _varied_dict(maker, keys, inner, value)
        case ("any", dict()) if value and "@odata.type" not in value:
            return _varied_dict(maker, _TEXT, found, value)
        case ("dataclass" | "namedtuple" | "object" | "typeddict", dict()) if found.fields:
            part = maker.choose(found.fields)
            if part.name not in value or (not part.required and maker.chance(30)):
                without = {key: one for key, one in value.items() if key != part.name}
                return without if part.name in value else {**value, part.name: maker.value(part.type, part.name)}
            return {**value, part.name: varied(maker, part.type, value[part.name], part.name)}
        case _:
            return maker.value(found, name)


def _varied_list(maker: Maker, element: Type, items: list[Json], name: str) -> list[Json]:
    """An element left out, put in, doubled, moved or varied."""
    at = maker.below(len(items))
    match maker.below(5):
        case 0:
            return [*items[:at], *items[at + 1 :]]
        case 1:
            return [*items[:at], maker.value(element, name, 1), *items[at:]]
        case 2:
            return [*items, items[at]]
        case 3:
            return items[::-1] if at % 2 else [items[at], *items[:at], *items[at + 1 :]]
        case _:
            return [*items[:at], varied(maker, element, items[at], name), *items[at + 1 :]]


def _varied_dict(maker: Maker, keys: Type, inner: Type, entries: dict[str, Json]) -> Json:
    """A key left out, renamed, put in, or its value varied."""
    key = maker.choose(sorted(entries))
    match maker.below(4):
        case 0:
            return {one: value for one, value in entries.items() if one != key}
        case 1:
            other = maker.key_text(key) if key_form(keys) == "text" else str(maker.value(keys, "", 1))
            return {**entries, other: maker.value(inner, key, 1)}
        case _:
            return {**entries, key: varied(maker, inner, entries[key], key)}
