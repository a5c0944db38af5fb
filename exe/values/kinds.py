"""Which builtin types are iterators that may be drained, and which types have no form, with the reason.

Both tables are keyed by `id(type)`: see `forms.py`.
"""

from __future__ import annotations

import itertools
import types
from array import array
from collections import OrderedDict, deque
from collections.abc import Iterable
from datetime import tzinfo
from typing import Any

_dict: dict[Any, Any] = {}
_ITERABLES: tuple[Iterable[Any], ...] = (
    [], (), "", "\xff", b"", bytearray(), set(), _dict, _dict.values(), _dict.items(), deque(), OrderedDict(),
    array("b"), memoryview(b""), range(0), range(1 << 70),
)  # fmt: skip


class _Old:
    """Iterable by index only."""

    def __getitem__(self, index: int) -> int:
        raise IndexError


ITERATOR_TYPES = frozenset(
    id(cls)
    for cls in (
        types.GeneratorType, map, filter, zip, enumerate, reversed,
        *(type(iter(each)) for each in _ITERABLES),
        type(reversed([])), type(reversed(_dict)), type(reversed(_dict.values())), type(reversed(_dict.items())),
        type(reversed(deque())), type(iter(int, 1)), type(iter(_Old())),
        *(each for each in vars(itertools).values() if isinstance(each, type)),
    )
)  # fmt: skip

REASONS: dict[int, str] = {
    id(cls): reason
    for reason, group in (
        ("callable", (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType,
                      types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
                      staticmethod, classmethod, property, types.CodeType)),
        ("class", (type, types.GenericAlias, types.UnionType)),
        ("module", (types.ModuleType,)),
        ("exception", (BaseException, types.TracebackType, types.FrameType)),
        ("coroutine", (types.CoroutineType, types.AsyncGeneratorType)),
        ("tzinfo", (tzinfo,)),
    )
    for cls in group
}  # fmt: skip
