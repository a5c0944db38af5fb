"""Look at a class and at the state of an instance without running any code of theirs.

Everything goes through C-level descriptors taken at import: `type.__dict__['__mro__']` rather than `cls.__mro__`,
which a metaclass could answer; slot and `__dict__` descriptors rather than `getattr`, which a class could.
"""

from __future__ import annotations

import builtins
import enum
import sys
import types
from collections.abc import Iterator
from typing import Any

globals()["__builtins__"] = dict(vars(builtins))

_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_name = type.__dict__["__name__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_flags = type.__dict__["__flags__"].__get__
_basicsize = type.__dict__["__basicsize__"].__get__
_stdlib = frozenset(sys.stdlib_module_names)
_Enum = enum.Enum
_GetSet = types.GetSetDescriptorType
_Member = types.MemberDescriptorType

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE
_OBJECT_SIZE = object.__basicsize__
_POINTER = tuple.__itemsize__

MISSING = object()


def mro(cls: type) -> tuple[type, ...]:
    """Return the classes of `cls` in resolution order."""
    return _mro(cls)  # type: ignore[no-any-return]


def bare_name(cls: type) -> str:
    """Return `__name__`, as a traceback's last line begins with."""
    return str.__str__(_name(cls))


def class_name(cls: type) -> str:
    """Return the qualified name, with its module before it where that is the standard library's.

    The program's own module has a neutral name on which nothing may depend, so it is left out.
    """
    qualname = str.__str__(_qualname(cls))
    module = _namespace(cls).get("__module__")
    if type(module) is not str and not _flags(cls) & _HEAP:
        module = type.__dict__["__module__"].__get__(cls)
    if type(module) is str and module != "builtins" and module.partition(".")[0] in _stdlib:
        return f"{module}.{qualname}"
    return qualname


def is_enum(cls: type) -> bool:
    """Tell an enumeration's class."""
    return any(base is _Enum for base in _mro(cls))


def class_attribute(cls: type, name: str) -> Any:
    """Return what the class namespaces hold under `name`, unbound; MISSING where none does."""
    for base in _mro(cls):
        found = _namespace(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def instance_dict(value: object) -> dict[Any, Any] | None:
    """Return the instance's own `__dict__`, None where it has none."""
    for base in _mro(type(value)):
        descriptor = _namespace(base).get("__dict__")
        if type(descriptor) is _GetSet or type(descriptor) is _Member:
            found = descriptor.__get__(value)
            return found if type(found) is dict else None
    return None


def slots(value: object) -> Iterator[tuple[str, Any]]:
    """Yield the slots that are set, base classes first; C types' members are no slots."""
    for base in reversed(_mro(type(value))):
        if "__slots__" not in _namespace(base):
            continue
        for name, descriptor in _namespace(base).items():
            if type(descriptor) is _Member and type(name) is str and name != "__dict__":
                try:
                    yield name, descriptor.__get__(value)
                except AttributeError:
                    continue


def attribute(value: object, name: str) -> Any:
    """Return a slot, an instance attribute or a plain class attribute; MISSING where there is none."""
    cls = type(value)
    descriptor = class_attribute(cls, name)
    if type(descriptor) is _Member:
        try:
            return descriptor.__get__(value)
        except AttributeError:
            return MISSING
    own = instance_dict(value)
    if own is not None and name in own:
        return own[name]
    return MISSING if descriptor is MISSING or _is_descriptor(descriptor) else descriptor


def _is_descriptor(found: object) -> bool:
    return any("__get__" in _namespace(base) for base in _mro(type(found)))


def is_transparent(cls: type) -> bool:
    """Tell whether all state of an instance can be seen from Python.

    True for classes that Python code made from `object`; false for C types (files, locks, hashes, generators) and
    their subclasses, which keep state where no descriptor reaches. A C type declares itself static or immutable, or
    its instances are larger than their slots account for.
    """
    members = 0
    visible = False
    for base in _mro(cls):
        if base is object:
            continue
        if not _flags(base) & _HEAP or _flags(base) & _IMMUTABLE:
            return False
        for name, found in _namespace(base).items():
            members += type(found) is _Member
            visible = visible or type(found) is _Member or name in ("__dict__", "__slots__")
    return visible and _basicsize(cls) <= _OBJECT_SIZE + _POINTER * (members + 2)


def fields(value: object) -> list[tuple[Any, Any]]:
    """Return the declared state of an instance as (name, value) pairs.

    Dataclass and attrs fields where the class declares them; else slots and instance attributes, less caches (an
    instance attribute over a class-level descriptor such as `functools.cached_property`).
    """
    declared = _declared(type(value))
    if declared is not None:
        found = [(name, attribute(value, name)) for name in declared]
        return [(name, item) for name, item in found if item is not MISSING]
    return attributes(value)


def attributes(value: object) -> list[tuple[Any, Any]]:
    """Return all slots and instance attributes that are not caches, as (name, value) pairs."""
    out: list[tuple[Any, Any]] = list(slots(value))
    cls = type(value)
    for name, item in (instance_dict(value) or {}).items():
        over = class_attribute(cls, name) if type(name) is str else MISSING
        if over is MISSING or not _is_descriptor(over):
            out.append((name, item))
    return out


def _declared(cls: type) -> list[str] | None:
    table = class_attribute(cls, "__dataclass_fields__")
    if type(table) is dict:
        return [name for name, entry in table.items() if _is_field(entry)]
    table = class_attribute(cls, "__attrs_attrs__")
    if table is not MISSING and tuple in _mro(type(table)):
        names = [attribute(entry, "name") for entry in tuple.__iter__(table)]
        return names if all(type(name) is str for name in names) else None
    return None


def _is_field(entry: object) -> bool:
    """Tell a dataclass field from the `ClassVar` and `InitVar` entries beside it."""
    kind = attribute(entry, "_field_type")
    return kind is not MISSING and attribute(kind, "name") == "_FIELD"


def namedtuple_fields(cls: type) -> tuple[str, ...] | None:
    """Return the field names of a NamedTuple class, None for any other class."""
    names = class_attribute(cls, "_fields")
    if type(names) is tuple and tuple in _mro(cls) and all(type(name) is str for name in names):
        return names
    return None
