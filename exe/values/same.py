"""Is an answer the truth? Three rules, each directed by the type of the truth.

The answer is a tree as JSON or a Python literal reads (None, bool, int, float, str, bytes, complex, list, tuple, set,
frozenset, dict, and what the allowed constructors of `read_literal` make), or any part of it in the typed form.

| truth | json accepts | typed accepts |
|---|---|---|
| None, bool, str | itself only (`true` is never `1`, `"null"` never `null`) | the same |
| int | the same number, also as `3.0` | an int |
| float | the same number, also as an int; NaN and infinities as token or word; -0.0 is 0.0 | a float, words for NaN and infinities; -0.0 is not 0.0 |
| list, tuple, deque, range, array, views, drained iterators | a sequence, elementwise | the same type (an iterator: a list) |
| set, frozenset | any sequence or set, as a multiset | the same type |
| dict and its kin | an object by key, in any order; keys as JSON writes them or as they are | the same type, keys the same in type; OrderedDict in order |
| dict with keys that no object can hold | [key, value] pairs in any order, or a dict | a dict |
| object, NamedTuple | an object of its fields (a NamedTuple: also a sequence) | an object of its fields, each typed |
| Enum, subclass of a builtin | as its value or payload | as its value or payload, typed |
| bytes and kin | base64url, a bytes literal, bytes | base64url, a bytes literal, or the same type |
| datetime, date, time, timedelta, UUID, addresses | any ISO or standard spelling of the same value | the same, and the same UTC offset |
| Decimal, Fraction, complex | text or number of the same value | text, or the same type |
| PurePath, Pattern, timezone, ZoneInfo | its string | its string |

A scalar that OData JSON can only spell as a string is thus accepted so under both rules; a container has no excuse under
typed, since the answer could have been annotated. Classes that only the program knows have no spelling in an answer, and
are judged by their form. `same_python` is `==` of two Python values, NaN equal to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from exe.values.decoding import DecodeError, decode
from exe.values.match import JSON, TYPED, Matcher
from exe.values.pythonic import equal
from exe.values.text import deep_stack

Json = Any


def same_json(typed: Json, answer: Any) -> bool:
    """Tell whether `answer` is the value of the typed form `typed` by the rule json. Raises `DecodeError`."""
    return _same(lambda truth, reading: Matcher(JSON).same(truth, reading), typed, answer)


def same_typed(typed: Json, answer: Any) -> bool:
    """Tell whether `answer` is the value of the typed form `typed`, the same in type too. Raises `DecodeError`."""
    return _same(lambda truth, reading: Matcher(TYPED).same(truth, reading), typed, answer)


def same_python(typed: Json, answer: Any) -> bool:
    """Tell whether the value of `typed` == `answer` as Python says, except that NaN equals NaN. Raises `DecodeError`."""
    return _same(equal, typed, answer)


def _same(rule: Callable[[Any, Any], bool], typed: Json, answer: Any) -> bool:
    """Apply a rule. Lists and dicts are walked without recursion, sets within sets are not: hence the room."""
    truth = decode(typed)
    with deep_stack():
        return any(rule(truth, reading) for reading in _readings(answer))


def _readings(answer: Any) -> Iterator[Any]:
    """Yield the answer as it stands and, where it carries annotations, as the typed form that it then may be."""
    yield answer
    stack = [answer]
    while stack:
        node = stack.pop()
        if type(node) is dict:
            if "@odata.type" in node:
                break
            stack.extend(node.values())
        elif type(node) is list:
            stack.extend(node)
    else:
        return
    try:
        yield decode(answer)
    except DecodeError:
        return
