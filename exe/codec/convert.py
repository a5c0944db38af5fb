"""Records to JSON and back, strictly: each class's checks are built once from its annotations."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from exe import records
from exe.errors import InputError

Json = Any
R = TypeVar("R")

_OMITTED: dict[type, frozenset[str]] = {
    records.Case: frozenset({"question", "metric", "cluster", "language", "date", "differs"}),
}
"""Fields that are left out of the file where they are None."""


class _Mismatch(Exception):
    """A value that its field does not take: `path` from the record to it, and what was expected."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(path, message)
        self.path, self.message = path, message

    def below(self, name: str) -> _Mismatch:
        """Return the same mismatch as the one around it sees it. Paths are built on the way out: only errors pay."""
        return _Mismatch(name + ("." if self.path[:1] not in ("", "[") else "") + self.path, self.message)


Check = Callable[[Any], Any]


def to_json(record: Any) -> dict[str, Json]:
    """Return a record as a JSON object. JSON members are not copied."""
    omitted = _OMITTED.get(type(record), frozenset())
    out = {}
    for name in _names(type(record)):
        value = getattr(record, name)
        if value is None and name in omitted:
            continue
        out[name] = value if type(value) in _JSON_TYPES else _plain(value)
    return out


def _plain(value: Any) -> Json:
    cls = type(value)
    if cls in _JSON_TYPES:
        return value
    if cls is tuple:
        return [_plain(item) for item in value]
    return to_json(value) if dataclasses.is_dataclass(cls) else value


_field_names: dict[type, tuple[str, ...]] = {}


def _names(cls: type) -> tuple[str, ...]:
    names = _field_names.get(cls)
    if names is None:
        names = _field_names[cls] = tuple(field.name for field in dataclasses.fields(cls))
    return names


def from_json(cls: type[R], data: Json, where: str) -> R:
    """Return the record that a JSON object holds.

    `where` ("cases.jsonl:3") begins the message of the `InputError` that any difference raises: an unknown or missing
    field, a wrong type, a word outside a closed list.
    """
    try:
        return _reader(cls)(data)  # type: ignore[no-any-return]
    except _Mismatch as exc:
        place = f"field {exc.path!r}" if exc.path else "the line"
        raise InputError(
            f"{where}: {place} {exc.message}; a {cls.__name__.lower()} is wanted, correct the line or make the file anew"
        ) from None


_readers: dict[type, Check] = {}


def _reader(cls: type) -> Check:
    found = _readers.get(cls)
    if found is None:
        found = _readers[cls] = _build_reader(cls)
    return found


def _build_reader(cls: type) -> Check:
    """Return the check and conversion for one record class."""
    hints = typing.get_type_hints(cls, vars(records))
    plan = tuple(
        (field.name, _accepts(hints[field.name]), _converter(hints[field.name])) for field in dataclasses.fields(cls)
    )
    names = frozenset(name for name, _, _ in plan)
    required = frozenset(
        field.name
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )

    def read(data: Any) -> Any:
        if type(data) is not dict:
            raise _Mismatch("", f"is {_kind(data)}, not an object")
        if data.keys() != names:
            _check_names(data, names, required)
        values = data.copy()
        for name, accepted, convert in plan:
            value = data.get(name, _ABSENT)
            if type(value) not in accepted:
                if value is _ABSENT:
                    continue
                raise _Mismatch(name, f"is {_kind(value)}, not {_words(accepted)}")
            if convert is not None and value is not None:
                try:
                    values[name] = convert(value)
                except _Mismatch as exc:
                    raise exc.below(name) from None
        return cls(**values)

    return read


_ABSENT = object()


def _check_names(data: dict[str, Any], names: frozenset[str], required: frozenset[str]) -> None:
    for name in data:
        if name not in names:
            raise _Mismatch(name, "is unknown")
    for name in sorted(required - data.keys()):
        raise _Mismatch(name, "is missing")


_JSON_TYPES = frozenset({type(None), bool, int, float, str, list, dict})
_WORDS = {type(None): "null", bool: "a boolean", int: "an integer", float: "a number", str: "a string",
          list: "an array", dict: "an object"}  # fmt: skip


def _kind(value: Any) -> str:
    return _WORDS.get(type(value), type(value).__name__)


def _words(accepted: frozenset[type]) -> str:
    found = accepted - {int} if float in accepted else accepted
    return " or ".join(sorted(_WORDS[each] for each in found))


def _members(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)


def _accepts(hint: Any) -> frozenset[type]:
    """Return the exact JSON types that a field's annotation takes. An integer is a number; a boolean is neither."""
    out: set[type] = set()
    for member in _members(hint):
        origin = typing.get_origin(member)
        if member is Any:
            return _JSON_TYPES
        if origin is typing.Literal:
            out.update(type(word) for word in typing.get_args(member))
        elif origin is tuple:
            out.add(list)
        elif origin is dict or dataclasses.is_dataclass(member):
            out.add(dict)
        elif member is float:
            out.update((float, int))
        elif member in _JSON_TYPES:
            out.add(member)
        else:
            raise TypeError(f"a record's field cannot be {member!r}")
    return frozenset(out)


def _converter(hint: Any) -> Check | None:
    """Return what turns the JSON of a field into its value, None where it already is."""
    members = _members(hint)
    if Any in members:
        return None
    checks: dict[type, Check] = {}
    for member in members:
        origin, arguments = typing.get_origin(member), typing.get_args(member)
        if origin is typing.Literal:
            checks[str] = _one_of(frozenset(arguments))
        elif origin is tuple:
            checks[list] = _items(arguments)
        elif dataclasses.is_dataclass(member):
            checks[dict] = _lazy(typing.cast(type, member))
        elif origin is dict and arguments[1] is not Any:
            checks[dict] = _values(_accepts(arguments[1]), _converter(arguments[1]))
        elif member is float and int not in members:
            checks[int] = _as_float
    if not checks:
        return None
    if len(checks) == 1 and len([member for member in members if member is not type(None)]) == 1:
        return next(iter(checks.values()))

    def convert(value: Any) -> Any:
        check = checks.get(type(value))
        return value if check is None else check(value)

    return convert


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _Mismatch("", "is too large for a number") from None


def _lazy(cls: type) -> Check:
    """Records may nest in themselves, so the inner reader is looked up when it is needed."""

    def check(value: Any) -> Any:
        return _reader(cls)(value)

    return check


def _one_of(words: frozenset[Any]) -> Check:
    def check(value: Any) -> Any:
        if value not in words:
            shown = ", ".join(sorted(map(str, words)))
            raise _Mismatch("", f"is {value[:40]!r}, not one of {shown}")
        return value

    return check


def _values(accepted: frozenset[type], convert: Check | None) -> Check:
    def check(value: Any) -> Any:
        for key, item in value.items():
            if type(item) not in accepted:
                raise _Mismatch(key, f"is {_kind(item)}, not {_words(accepted)}")
        return value if convert is None else {key: convert(item) for key, item in value.items()}

    return check


def _items(arguments: tuple[Any, ...]) -> Check:
    accepted, convert = _accepts(arguments[0]), _converter(arguments[0])

    def check(value: Any) -> Any:
        out = []
        for index, item in enumerate(value):
            if type(item) not in accepted:
                raise _Mismatch(f"[{index}]", f"is {_kind(item)}, not {_words(accepted)}")
            try:
                out.append(item if convert is None else convert(item))
            except _Mismatch as exc:
                raise exc.below(f"[{index}]") from None
        return tuple(out)

    return check
