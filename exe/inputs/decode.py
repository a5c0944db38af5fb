"""OData JSON arguments → the call as a person would write it, and the key under which two inputs are the same."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, assert_never

from exe.analysis.kinds import LISTS
from exe.errors import InputError
from exe.inputs.schema import NUMBER_NAMES, Signature, arms, key_form, literal_json, tag
from exe.inputs.standard import MAX_DIGITS, SOURCES, Names, float_source, name_of
from exe.records import Json, Parameter, Type

MAX_CALL = 200_000  # characters of a call
MAX_LEVELS = 60  # of nested JSON

_FACTORIES = frozenset(("int", "str", "float", "bool", "list", "dict", "set"))


class ArgumentError(InputError):
    """Arguments that do not fit their signature; the message says which part and why."""


class OmissionError(ArgumentError):
    """An argument left out that a later positional one needs; each of the two alone is fine."""


def call_text(entry: str, signature: Signature, arguments: Mapping[str, Json]) -> str:
    """The Python expression that calls `entry` with these arguments, in the program's namespace.

    Positional for normal and positional-only parameters, by keyword after an omitted one and for keyword-only ones.
    Raises ArgumentError where the arguments do not conform.
    """
    return _call(entry, signature, _written(signature, arguments), _instance(signature, arguments))


def canonical_key(signature: Signature, arguments: Mapping[str, Json]) -> str:
    """Equal for two inputs exactly where they are the same: `1`, `True` and `1.0` are three; a default written out is
    the default. Raises ArgumentError where the arguments do not conform."""
    return _key(signature, _written(signature, arguments), _instance(signature, arguments))


def call_and_key(entry: str, signature: Signature, arguments: Mapping[str, Json]) -> tuple[str, str]:
    """`call_text` and `canonical_key` at the price of one."""
    written, instance = _written(signature, arguments), _instance(signature, arguments)
    return _call(entry, signature, written, instance), _key(signature, written, instance)


def _instance(signature: Signature, arguments: Mapping[str, Json]) -> str:
    """The expression for the instance whose method is called, "" where there is none."""
    if signature.self_type is None:
        return ""
    if "self" not in arguments:
        raise ArgumentError("self: the constructor arguments are missing")
    return source(signature.self_type, arguments["self"], signature.names, "self")


def _call(entry: str, signature: Signature, written: Mapping[str, list[str]], instance: str) -> str:
    target = f"{instance}.{entry.rpartition('.')[2]}" if instance else entry
    text = f"{target}({', '.join(_ordered(signature.parameters, written))})"
    if len(text) > MAX_CALL:
        raise ArgumentError(f"a call of {len(text)} characters; at most {MAX_CALL} are allowed")
    return text


def _key(signature: Signature, written: Mapping[str, list[str]], instance: str) -> str:
    parts = [instance] if instance else []
    for parameter in signature.parameters:
        texts = written.get(parameter.name, [])
        if texts and not (parameter.default is not None and texts == [_normal(parameter.default)]):
            parts.append(f"{parameter.name}={', '.join(texts)}")
    return "; ".join(parts)


@lru_cache(maxsize=1024)
def _normal(expression: str) -> str:
    """An expression in the spelling of `source`, so far as it is a literal."""
    try:
        return repr(ast.literal_eval(expression))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return expression


def _written(signature: Signature, arguments: Mapping[str, Json]) -> dict[str, list[str]]:
    """Source text of each argument given, by parameter; several for `*args` and `**kwargs`."""
    known = {parameter.name for parameter in signature.parameters}
    if signature.self_type is not None:
        known.add("self")
    unknown = [name for name in arguments if name not in known]
    if unknown:
        raise ArgumentError(f"{unknown[0]}: there is no such parameter; known are {', '.join(sorted(known))}")
    written: dict[str, list[str]] = {}
    for parameter in signature.parameters:
        if parameter.name not in arguments:
            if parameter.default is None and parameter.kind not in ("args", "kwargs"):
                raise ArgumentError(f"{parameter.name}: missing, and it has no default")
            continue
        written[parameter.name] = _argument(parameter, arguments[parameter.name], signature)
    return written


def _argument(parameter: Parameter, value: Json, signature: Signature) -> list[str]:
    name, names = parameter.name, signature.names
    match parameter.kind:
        case "positional" | "normal" | "keyword":
            return [source(parameter.type, value, names, name)]
        case "args":
            items = _expect(value, list, name, "an array")
            return [source(parameter.type, item, names, f"{name}[{index}]") for index, item in enumerate(items)]
        case "kwargs":
            extra = _expect(value, dict, name, "an object")
            taken = {other.name for other in signature.parameters if other.kind in ("normal", "keyword")}
            for key in extra:
                if key in taken:
                    raise ArgumentError(f"{name}.{key}: there is a parameter of that name")
            texts = {key: source(parameter.type, item, names, f"{name}.{key}") for key, item in extra.items()}
            plain = [f"{key}={text}" for key, text in texts.items() if is_name(key)]
            other = [f"{key!r}: {text}" for key, text in texts.items() if not is_name(key)]
            return [*plain, f"**{{{', '.join(other)}}}"] if other else plain
        case _:
            assert_never(parameter.kind)


def is_name(text: str) -> bool:
    """Whether a keyword argument can be written with this name."""
    return text.isidentifier() and text.isascii() and not keyword.iskeyword(text)


def _ordered(parameters: tuple[Parameter, ...], written: Mapping[str, list[str]]) -> list[str]:
    positional: list[str] = []
    by_keyword: list[str] = []
    omitted = ""
    for parameter in parameters:
        name, texts = parameter.name, written.get(parameter.name, [])
        match parameter.kind:
            case "positional" | "args" if texts and omitted:
                raise OmissionError(f"{omitted}: cannot be left out where {name} is given")
            case "positional" | "args":
                positional += texts
            case "normal" if omitted:
                by_keyword += [f"{name}={text}" for text in texts]
            case "normal":
                positional += texts
            case "keyword":
                by_keyword += [f"{name}={text}" for text in texts]
            case "kwargs":
                by_keyword += texts
        if parameter.kind in ("positional", "normal") and not texts:
            omitted = omitted or name
    return positional + by_keyword


def source(found: Type, value: Json, names: Names, where: str = "value", level: int = 0) -> str:
    """Python source of one OData JSON value of a type. `where` names the part in errors. Raises ArgumentError."""
    if level > MAX_LEVELS:
        raise ArgumentError(f"{where}: nested more than {MAX_LEVELS} levels deep")
    level += 1
    match found.kind:
        case "none" | "bool" | "int" | "str" | "hashable" | "any":
            return _natural(found, value, names, where, level)
        case "float":
            return _float(value, names, where)
        case "literal":
            for option in found.values:
                shown = literal_json(option)
                if shown == value and type(shown) is type(value):
                    return repr(option)
            raise _mismatch(where, found, value)
        case "enum":
            if value not in found.values:
                raise _mismatch(where, found, value, f"one of {', '.join(found.values)}")
            return f"{_class_name(found, names, where)}.{value}"
        case "builtin":
            if value not in found.values:
                raise _mismatch(where, found, value, f"one of {', '.join(found.values)}")
            root, dot, rest = str(value).partition(".")
            return name_of(f"builtins:{root}", names) + dot + rest
        case "exception":
            text = _expect(value, str, where, f"the message of {found.text}")
            return f"{name_of(f'builtins:{found.values[0]}', names)}({text!r})"
        case "union":
            return _union(found, value, names, where, level)
        case "tuple":
            items = _expect(value, list, where, found.text)
            if len(items) != len(found.args):
                raise ArgumentError(f"{where}: expected {found.text}, an array of {len(found.args)}, got {len(items)}")
            pairs = enumerate(zip(found.args, items, strict=True))
            return _tuple([source(arg, item, names, f"{where}[{index}]", level) for index, (arg, item) in pairs])
        case "range":
            return _range(value, names, where)
        case kind if kind in LISTS:
            return _list(found, value, names, where, level)
        case kind if kind in SOURCES:
            text = _expect(value, str, where, found.text)
            try:
                return SOURCES[kind](text, names)
            except ValueError as error:
                raise ArgumentError(f"{where}: expected {found.text}, got {_shown(value)}: {error}") from error
        case "typeddict":
            fields = _fields(found, value, names, where, level)
            return f"{{{', '.join(f'{name!r}: {text}' for name, text in fields)}}}"
        case "dataclass" | "namedtuple" | "object":
            fields = _fields(found, value, names, where, level)
            return f"{_class_name(found, names, where)}({', '.join(f'{name}={text}' for name, text in fields)})"
        case "never" | "opaque":
            raise ArgumentError(f"{where}: no value of {found.text} can be built")
        case _:
            return _dict(found, value, names, where, level)


def _natural(found: Type, value: Json, names: Names, where: str, level: int) -> str:
    """JSON values that are their own Python value: by the kind asked for, or any of them."""
    if level > MAX_LEVELS:
        raise ArgumentError(f"{where}: nested more than {MAX_LEVELS} levels deep")
    wide, deep = found.kind in ("any", "hashable"), found.kind == "any"
    match value:
        case None if wide or found.kind == "none":
            return "None"
        case bool() if wide or found.kind == "bool":
            return repr(value)
        case int() if not isinstance(value, bool) and (wide or found.kind == "int"):
            return _int(value, where)
        case float() if wide:
            return float_source(value, names)
        case str() if wide or found.kind == "str":
            return repr(value)
        case list() if deep:
            return f"[{', '.join(_natural(found, v, names, f'{where}[{i}]', level + 1) for i, v in enumerate(value))}]"
        case dict() if deep:
            items = (f"{k!r}: {_natural(found, v, names, f'{where}.{k}', level + 1)}" for k, v in value.items())
            return f"{{{', '.join(items)}}}"
    raise _mismatch(where, found, value)


def _int(value: int, where: str) -> str:
    if value.bit_length() > MAX_DIGITS * 3:
        raise ArgumentError(f"{where}: an int of more than {MAX_DIGITS} digits cannot be written as a literal")
    return repr(value)


def _float(value: Json, names: Names, where: str) -> str:
    match value:
        case float():
            return float_source(value, names)
        case int() if not isinstance(value, bool):
            try:
                return float_source(float(value), names)
            except OverflowError as error:
                raise ArgumentError(f"{where}: {error}") from error
        case str() if value in NUMBER_NAMES:
            return float_source(float(value), names)
    raise ArgumentError(f"{where}: expected float, got {_shown(value)}")


def _union(found: Type, value: Json, names: Names, where: str, level: int) -> str:
    if isinstance(value, dict) and value.keys() == {"@odata.type", "value"}:
        for arm in found.args:
            if tag(arm) == value["@odata.type"]:
                return source(arm, value["value"], names, where, level)
    reasons = []
    for arm in arms(found):
        if isinstance(value, float) and arm.kind == "int":
            continue
        try:
            return source(arm, value, names, where, level)
        except ArgumentError as error:
            reasons.append(str(error))
    raise ArgumentError(f"{where}: expected {found.text}, got {_shown(value)}; {'; '.join(reasons)[:500]}")


def _list(found: Type, value: Json, names: Names, where: str, level: int) -> str:
    items = _expect(value, list, where, found.text)
    if found.kind in ("set", "frozenset"):
        items = _in_order(items)
    texts = [source(found.args[0], item, names, f"{where}[{i}]", level) for i, item in enumerate(items)]
    inner = ", ".join(texts)
    match found.kind:
        case "list":
            return f"[{inner}]"
        case "vartuple":
            return _tuple(texts)
        case "set" | "frozenset":
            if len(set(texts)) != len(texts):
                raise ArgumentError(f"{where}: an element is there twice")
            maker = name_of(f"builtins:{found.kind}", names)
            if found.kind == "set":
                return f"{{{inner}}}" if texts else f"{maker}()"
            return f"{maker}({{{inner}}})" if texts else f"{maker}()"
        case "iterator":
            return f"{name_of('builtins:iter', names)}([{inner}])"
        case "generator":
            return f"(item for item in [{inner}])"
        case _:
            return f"{name_of('collections:deque', names)}([{inner}])"


def _in_order(items: list[Json]) -> list[Json]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=lambda item: (type(item).__name__, repr(item)))


def _tuple(texts: list[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _range(value: Json, names: Names, where: str) -> str:
    parts = _expect(value, dict, where, "range")
    if "stop" not in parts or not parts.keys() <= {"start", "stop", "step"}:
        raise ArgumentError(f"{where}: expected an object of start, stop and step, got {_shown(value)}")
    whole = Type(kind="int", text="int")
    start, stop, step = (
        source(whole, parts.get(name, default), names, f"{where}.{name}")
        for name, default in (("start", 0), ("stop", 0), ("step", 1))
    )
    if step == "0":
        raise ArgumentError(f"{where}.step: must not be zero")
    shown = [stop] if start == "0" and step == "1" else [start, stop] if step == "1" else [start, stop, step]
    return f"{name_of('builtins:range', names)}({', '.join(shown)})"


def _dict(found: Type, value: Json, names: Names, where: str, level: int) -> str:
    maker = "" if found.kind == "dict" else name_of(found.kind.replace(".", ":"), names)
    if found.kind == "collections.ChainMap":
        maps = _expect(value, list, where, found.text)
        return f"{maker}({', '.join(_display(found, item, names, where, level) for item in maps)})"
    shown = _display(found, value, names, where, level)
    if found.kind == "collections.defaultdict":
        kind = found.args[1].kind
        factory = name_of(f"builtins:{kind}", names) if kind in _FACTORIES else "None"
        return f"{maker}({factory}, {shown})"
    return f"{maker}({shown})" if maker else shown


def _display(found: Type, value: Json, names: Names, where: str, level: int) -> str:
    key_type, value_type = found.args
    form = key_form(key_type)
    if form == "pairs":
        pairs = [_pair(pair, where) for pair in _expect(value, list, where, f"{found.text} as an array of pairs")]
    else:
        pairs = list(_expect(value, dict, where, found.text).items())
    texts = {}
    for key, item in pairs:
        part = f"{where}[{key!r}]"
        if form == "integer":
            key = _integer_key(key, part)
        shown = source(key_type, key, names, part, level)
        if shown in texts:
            raise ArgumentError(f"{part}: the key is there twice")
        texts[shown] = source(value_type, item, names, part, level)
    return f"{{{', '.join(f'{key}: {text}' for key, text in texts.items())}}}"


def _pair(pair: Json, where: str) -> tuple[Json, Json]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise ArgumentError(f"{where}: expected [key, value], got {_shown(pair)}")
    return pair[0], pair[1]


def _integer_key(key: str, where: str) -> int:
    digits = key.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > MAX_DIGITS or str(int(key)) != key:
        raise ArgumentError(f"{where}: expected an integer key, got {key!r}")
    return int(key)


def _fields(found: Type, value: Json, names: Names, where: str, level: int) -> list[tuple[str, str]]:
    given = _expect(value, dict, where, found.text)
    unknown = given.keys() - {field.name for field in found.fields}
    if unknown:
        raise ArgumentError(f"{where}.{min(unknown)}: {found.text} takes no such argument")
    missing = [field.name for field in found.fields if field.required and field.name not in given]
    if missing:
        raise ArgumentError(f"{where}.{missing[0]}: missing; {found.text} needs it")
    return [
        (field.name, source(field.type, given[field.name], names, f"{where}.{field.name}", level))
        for field in found.fields
        if field.name in given
    ]


def _class_name(found: Type, names: Names, where: str) -> str:
    if found.origin not in names:
        raise ArgumentError(f"{where}: the program binds no name for {found.origin}")
    return names[found.origin]


def _expect(value: Json, kind: type[Any], where: str, wanted: str) -> Any:
    if not isinstance(value, kind):
        raise ArgumentError(f"{where}: expected {wanted}, got {_shown(value)}")
    return value


def _mismatch(where: str, found: Type, value: Json, wanted: str = "") -> ArgumentError:
    return ArgumentError(f"{where}: expected {found.text}{wanted and ', ' + wanted}, got {_shown(value)}")


def _shown(value: Json) -> str:
    if isinstance(value, int) and value.bit_length() > 300:
        return "a very large int"
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"
