"""A signature as JSON Schema (2020-12) and back: the schema alone is enough to rebuild every type."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from exe.analysis.kinds import KINDS, LISTS
from exe.errors import InputError
from exe.inputs.names import candidate_types, required_names
from exe.inputs.standard import INTEGER_TEXT, PATTERNS
from exe.records import Candidate, Field, Json, Parameter, Type

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NUMBER_NAMES = ("NaN", "INF", "-INF")
How = Literal["function", "static", "class", "method"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What `arguments_schema` holds: parameters, the instance's type for a method, and emitted names.

    `names` maps "module:qualname" of a class that a call must name to the expression that names it in the program.
    """

    parameters: tuple[Parameter, ...]
    how: How = "function"
    self_type: Type | None = None
    names: Mapping[str, str]


def arguments_schema(candidate: Candidate, names: Mapping[str, str]) -> dict[str, Json]:
    """The schema of the arguments object of a candidate.

    `names` maps "module:qualname" of package classes, and of standard ones bound under another name than their dotted
    one (see `exe.inputs.names`), to the expression that names them in the program; what calls do not need is left out.
    Raises InputError where the program binds no name for a class that calls need.
    """
    missing = [origin for origin in candidate.origins if origin not in names]
    if missing:
        raise InputError(f"{candidate.module}:{candidate.qualname}: the program binds no name for {missing[0]}")
    needed = {*candidate.origins, *required_names(candidate_types(candidate))}
    return signature_schema(
        Signature(
            parameters=candidate.parameters,
            how=candidate.how,
            self_type=candidate.self_type,
            names={key: name for key, name in names.items() if key in needed},
        )
    )


def signature_schema(signature: Signature) -> dict[str, Json]:
    """The schema of a signature; `read_schema` is its inverse."""
    properties: dict[str, Json] = {}
    extension: dict[str, Json] = {"how": signature.how}
    required = [p.name for p in signature.parameters if p.default is None and p.kind not in ("args", "kwargs")]
    if signature.self_type is not None:
        properties["self"] = {**type_schema(signature.self_type), "x-python": _type_json(signature.self_type)}
        required.insert(0, "self")
    for parameter in signature.parameters:
        properties[parameter.name] = _parameter_schema(parameter)
    if signature.names:
        extension["names"] = dict(sorted(signature.names.items()))
    return {
        "$schema": DIALECT,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        "x-python": extension,
    }


def read_schema(schema: Mapping[str, Json]) -> Signature:
    """Rebuild the signature from its schema. Raises InputError where the schema is none of ours."""
    try:
        extension = schema["x-python"]
        parameters = []
        self_type = None
        for name, item in schema["properties"].items():
            found = _read_type(item["x-python"])
            how = item.get("x-parameter")
            if how is None:
                self_type = found
                continue
            parameters.append(Parameter(name=name, kind=how["kind"], type=found, default=how.get("default")))
        return Signature(
            parameters=tuple(parameters),
            how=cast(How, extension["how"]),
            self_type=self_type,
            names=dict(extension.get("names", {})),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"not a schema of arguments written by this tool: {type(error).__name__}: {error}") from error


def plain_schema(schema: Json) -> Json:
    """The same schema without extension keywords, as a model's function-calling interface wants it."""
    match schema:
        case dict():
            return {key: plain_schema(value) for key, value in schema.items() if not key.startswith("x-")}
        case list():
            return [plain_schema(item) for item in schema]
        case _:
            return schema


def _parameter_schema(parameter: Parameter) -> dict[str, Json]:
    own = type_schema(parameter.type)
    match parameter.kind:
        case "args":
            own = {"type": "array", "items": own, "description": f"*{parameter.name}: {parameter.type.text}"}
        case "kwargs":
            own = {
                "type": "object",
                "additionalProperties": own,
                "description": f"**{parameter.name}: {parameter.type.text}",
            }
    how: dict[str, Json] = {"kind": parameter.kind}
    if parameter.default is not None:
        how["default"] = parameter.default
    return {**own, "x-parameter": how, "x-python": _type_json(parameter.type)}


def type_schema(found: Type) -> dict[str, Json]:
    """The schema of the OData JSON form of one type; `description` is the Python type as written."""
    return {**_schema(found), "description": found.text}


def _schema(found: Type) -> dict[str, Json]:
    match found.kind:
        case "none":
            return {"type": "null"}
        case "bool":
            return {"type": "boolean"}
        case "int":
            return {"type": "integer"}
        case "float":
            return {"anyOf": [{"type": "number"}, {"enum": list(NUMBER_NAMES)}]}
        case "str":
            return {"type": "string"}
        case "exception":
            return {"type": "string"}
        case "any":
            return {}
        case "hashable":
            return {"type": ["null", "boolean", "number", "string"]}
        case "never":
            return {"not": {}}
        case "literal" | "enum" | "builtin":
            return {"enum": [literal_json(value) for value in found.values]}
        case "range":
            whole = {"type": "integer"}
            bounds = {"start": whole, "stop": whole, "step": whole}
            return {"type": "object", "properties": bounds, "required": ["stop"], "additionalProperties": False}
        case "union":
            return {"anyOf": [form for arm in found.args for form in _arm_schemas(found, arm)]}
        case "tuple":
            items = [type_schema(arg) for arg in found.args]
            size = len(items)
            fixed: dict[str, Json] = {"type": "array", "minItems": size, "maxItems": size}
            return {**fixed, "prefixItems": items, "items": False} if items else fixed
        case "collections.ChainMap":
            return {"type": "array", "items": _dict_schema(found), "minItems": 1}
        case kind if kind in LISTS:
            unique = {"uniqueItems": True} if kind in ("set", "frozenset") else {}
            return {"type": "array", "items": type_schema(found.args[0]), **unique}
        case kind if kind in PATTERNS:
            return {"type": "string", "pattern": PATTERNS[kind]}
        case "dataclass" | "namedtuple" | "object" | "typeddict":
            return {
                "type": "object",
                "properties": {field.name: type_schema(field.type) for field in found.fields},
                "required": [field.name for field in found.fields if field.required],
                "additionalProperties": False,
            }
        case "opaque":
            raise InputError(f"{found.text}: no value of this type can be built")
        case _:
            return _dict_schema(found)


def _dict_schema(found: Type) -> dict[str, Json]:
    key, value = found.args
    match key_form(key):
        case "text":
            return {"type": "object", "additionalProperties": type_schema(value)}
        case "integer":
            names: dict[str, Json] = {"pattern": INTEGER_TEXT}
        case "named":
            names = {"enum": list(key.values)}
        case _:
            pair = {
                "type": "array",
                "prefixItems": [type_schema(key), type_schema(value)],
                "minItems": 2,
                "maxItems": 2,
            }
            return {"type": "array", "items": pair}
    return {"type": "object", "propertyNames": names, "additionalProperties": type_schema(value)}


def key_form(key: Type) -> Literal["text", "integer", "named", "pairs"]:
    """How a dict with such keys is written: an object keyed by text, by integers or by closed names, or pairs."""
    match key.kind:
        case "str":
            return "text"
        case "int":
            return "integer"
        case "enum":
            return "named"
        case "literal" if all(isinstance(value, str) for value in key.values):
            return "named"
        case _:
            return "pairs"


_RANK = {"none": 0, "bool": 1, "int": 2, "float": 3, "literal": 4, "enum": 5, "str": 6, "any": 9, "hashable": 9}


def arms(union: Type) -> list[Type]:
    """Arms of a union in the order in which a bare JSON value is tried on them."""
    return sorted(union.args, key=lambda arm: _RANK.get(arm.kind, 7))


def tag(arm: Type) -> str:
    """The `@odata.type` of a union's arm, written where the bare JSON value would be read as an earlier arm."""
    return f"#{arm.text}"


_FORMS = {
    "none": {"null"},
    "bool": {"boolean"},
    "int": {"number"},
    "float": {"number", "string"},
    "str": {"string"},
    "any": {"null", "boolean", "number", "string", "array", "object"},
    "hashable": {"null", "boolean", "number", "string"},
    "literal": {"null", "boolean", "number", "string"},
    "tuple": {"array"},
    "range": {"object"},
    "collections.ChainMap": {"array"},
}


def _forms(found: Type) -> set[str]:
    """The JSON types that values of a type may have."""
    if found.kind == "union":
        return set().union(*(_forms(arm) for arm in found.args))
    if found.kind in _FORMS:
        return _FORMS[found.kind]
    if found.kind in LISTS:
        return {"array"}
    if found.kind in PATTERNS or found.kind in ("enum", "builtin", "exception"):
        return {"string"}
    if found.fields or not found.args:
        return {"object"}
    return {"array"} if key_form(found.args[0]) == "pairs" else {"object"}


def _arm_schemas(union: Type, arm: Type) -> Iterator[dict[str, Json]]:
    yield type_schema(arm)
    ordered = arms(union)
    if any(_forms(arm) & _forms(earlier) for earlier in ordered[: ordered.index(arm)]):
        yield {
            "type": "object",
            "properties": {"@odata.type": {"const": tag(arm)}, "value": type_schema(arm)},
            "required": ["@odata.type", "value"],
            "additionalProperties": False,
        }


def literal_json(value: Any) -> Json:
    """A Literal's value as JSON: bytes as base64url."""
    return base64.urlsafe_b64encode(value).decode() if isinstance(value, bytes) else value


def _type_json(found: Type) -> dict[str, Json]:
    out: dict[str, Json] = {"kind": found.kind, "text": found.text}
    if found.args:
        out["args"] = [_type_json(arg) for arg in found.args]
    if found.values:
        out["values"] = [{"bytes": literal_json(v)} if isinstance(v, bytes) else v for v in found.values]
    if found.origin:
        out["origin"] = found.origin
    if found.fields:
        out["fields"] = [
            {"name": field.name, "type": _type_json(field.type), "required": field.required} for field in found.fields
        ]
    return out


def _read_type(data: Mapping[str, Json]) -> Type:
    if data["kind"] not in KINDS:
        raise InputError(f"unknown kind of type: {data['kind']!r}")
    return Type(
        kind=data["kind"],
        text=data["text"],
        args=tuple(_read_type(arg) for arg in data.get("args", ())),
        values=tuple(
            base64.urlsafe_b64decode(value["bytes"]) if isinstance(value, dict) else value
            for value in data.get("values", ())
        ),
        origin=data.get("origin", ""),
        fields=tuple(
            Field(name=item["name"], type=_read_type(item["type"]), required=item["required"])
            for item in data.get("fields", ())
        ),
    )
