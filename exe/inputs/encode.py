"""Literal Python values → the OData JSON that `decode` turns back into them: for examples and defaults in the code."""

from __future__ import annotations

import ast
import base64
import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from exe.analysis.kinds import DICTS, LISTS
from exe.inputs.decode import ArgumentError, call_text, source
from exe.inputs.mine import Example
from exe.inputs.schema import Signature, arms, key_form, literal_json, tag
from exe.records import Json, Type


def to_json(found: Type, value: Any, names: Mapping[str, str]) -> Json:
    """The JSON form of a literal value (None, bool, number, text, bytes, list, tuple, set, dict) as this type.

    Raises ArgumentError where the value is none of the type.
    """
    match found.kind, value:
        case "float", float():
            return "NaN" if math.isnan(value) else value if math.isfinite(value) else "INF" if value > 0 else "-INF"
        case (("bytes" | "bytearray"), bytes()):
            return base64.urlsafe_b64encode(value).decode()
        case "literal", bytes():
            return literal_json(value)
        case "complex", complex():
            return str(value).strip("()")
        case "union", _:
            return wrap(found, _arm(found, value, names), names)
        case "tuple", tuple() if len(value) == len(found.args):
            return [to_json(arg, item, names) for arg, item in zip(found.args, value, strict=True)]
        case kind, list() | tuple() | set() | frozenset() if kind in LISTS and _fits(kind, value):
            return [to_json(found.args[0], item, names) for item in _stable(value)]
        case "typeddict", dict():
            types = {field.name: field.type for field in found.fields}
            if value.keys() <= types.keys():
                return {name: to_json(types[name], item, names) for name, item in value.items()}
        case kind, dict() if kind in DICTS and kind != "collections.ChainMap":
            return _dict(found, value, names)
        case "float", str():
            pass  # the names of NaN and the infinities are JSON, not Python
        case (("any" | "hashable" | "none" | "bool" | "int" | "float" | "str" | "literal"), _):
            source(found, value, names)  # raises where it does not conform
            return value
    raise ArgumentError(f"{value!r} is no {found.text}")


def _fits(kind: str, value: Any) -> bool:
    match kind:
        case "list":
            return isinstance(value, list)
        case "vartuple":
            return isinstance(value, tuple)
        case "set" | "frozenset":
            return isinstance(value, set | frozenset)
        case _:
            return isinstance(value, list)


def _stable(value: Any) -> list[Any]:
    return (
        sorted(value, key=lambda item: (type(item).__name__, repr(item)))
        if isinstance(value, set | frozenset)
        else list(value)
    )


def _dict(found: Type, value: dict[Any, Any], names: Mapping[str, str]) -> Json:
    key_type, value_type = found.args
    pairs = [[to_json(key_type, key, names), to_json(value_type, item, names)] for key, item in value.items()]
    match key_form(key_type):
        case "pairs":
            return pairs
        case "integer":
            return {str(key): item for key, item in pairs}
        case _:
            return dict(pairs)


def _arm(union: Type, value: Any, names: Mapping[str, str]) -> tuple[Type, Json]:
    for arm in arms(union):
        try:
            return arm, to_json(arm, value, names)
        except ArgumentError:
            continue
    raise ArgumentError(f"{value!r} is no {union.text}")


def arm_of(union: Type, value: Json, names: Mapping[str, str]) -> tuple[Type, Json] | None:
    """The arm of a union that a JSON value is read as, and the value without its annotation; None where it fits none."""
    annotated = isinstance(value, dict) and value.keys() == {"@odata.type", "value"}
    options = [(arm, value["value"]) for arm in union.args if tag(arm) == value["@odata.type"]] if annotated else []
    for arm, bare in [*options[:1], *((arm, value) for arm in arms(union))]:
        if not (isinstance(bare, float) and arm.kind == "int"):
            with contextlib.suppress(ArgumentError):
                source(arm, bare, names)
                return arm, bare
    return None


def wrap(union: Type, chosen: tuple[Type, Json], names: Mapping[str, str]) -> Json:
    """The JSON value of one arm, annotated with its type where a bare value would be read as another arm."""
    arm, value = chosen
    wanted = source(arm, value, names)
    wrapped = {"@odata.type": tag(arm), "value": value}
    try:
        if source(union, value, names) == wanted:
            return value
    except ArgumentError:
        return wrapped
    return wrapped


def example_arguments(entry: str, signature: Signature, examples: tuple[Example, ...]) -> Iterator[dict[str, Json]]:
    """The arguments objects of examples found in the code; what does not fit the signature is passed over.

    A method's examples are none: their instance is not known.
    """
    if signature.self_type is not None:
        return
    for example in examples:
        try:
            arguments = _bound(signature, example)
            call_text(entry, signature, arguments)
        except ArgumentError:
            continue
        yield arguments


def _bound(signature: Signature, example: Example) -> dict[str, Json]:
    arguments: dict[str, Json] = {}
    rest = list(example.positional)
    keywords = dict(example.keywords)
    for parameter in signature.parameters:
        name, names = parameter.name, signature.names
        match parameter.kind:
            case "positional" | "normal" if rest:
                arguments[name] = to_json(parameter.type, rest.pop(0), names)
            case "normal" | "keyword" if name in keywords:
                arguments[name] = to_json(parameter.type, keywords.pop(name), names)
            case "args" if rest:
                arguments[name] = [to_json(parameter.type, item, names) for item in rest]
                rest = []
            case "kwargs" if keywords:
                arguments[name] = {key: to_json(parameter.type, item, names) for key, item in keywords.items()}
                keywords = {}
    if rest or keywords:
        raise ArgumentError("more arguments than parameters")
    return arguments


def default_json(found: Type, default: str | None, names: Mapping[str, str]) -> tuple[Json, ...]:
    """The JSON form of a parameter's default, () where it has none or it is no literal of the type."""
    if default is None:
        return ()
    try:
        return (to_json(found, ast.literal_eval(default), names),)
    except (ArgumentError, ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ()
