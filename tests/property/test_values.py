"""Round trips and sameness for every value of the supported builtin and standard-library types."""

from __future__ import annotations

import collections
import datetime as dt
import json
import math
import pathlib
import re
import types
import uuid
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from exe.values import (
    LiteralError,
    canonical,
    decode,
    dumps,
    encode,
    literal,
    loads,
    read_literal,
    same_json,
    same_python,
    same_typed,
    unstable_text,
)

FAST = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))

text = (
    st.text(st.characters(), max_size=6)
    | st.text("\ud83d\ude00\ud800a\\u", max_size=4)
    | st.sampled_from(["@odata.type", "@", "1", "NaN"])
)
zones = st.none() | st.timezones() | st.builds(dt.timezone, st.timedeltas(
    min_value=dt.timedelta(hours=-23), max_value=dt.timedelta(hours=23)))  # fmt: skip
decimals = st.decimals().filter(lambda number: not number.is_snan())  # those have no hash
hashable_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), text, st.binary(max_size=6), st.complex_numbers(),
    decimals, st.fractions(), st.datetimes(timezones=zones), st.dates(), st.times(), st.timedeltas(), st.uuids(),
    st.integers(min_value=10**30, max_value=10**60), st.ip_addresses(), st.just(...),
    st.builds(pathlib.PurePosixPath, st.text("ab/.", max_size=5)), st.builds(range, st.integers(-5, 5), st.integers(-5, 5), st.integers(1, 3)),
    st.sampled_from([re.compile("a"), re.compile(b"b", re.I)]),
)  # fmt: skip
hashables = st.recursive(
    hashable_scalars,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
scalars = hashable_scalars | st.binary(max_size=5).map(bytearray) | st.slices(5)


def mappings(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    plain = st.dictionaries(text, inner, max_size=4) | st.dictionaries(hashables, inner, max_size=3)
    return st.one_of(
        plain,
        plain.map(collections.OrderedDict),
        plain.map(types.MappingProxyType),
        plain.map(collections.UserDict),
        plain.map(lambda table: collections.defaultdict(list, table)),
        plain.map(lambda table: table.keys()),
        st.dictionaries(text, st.integers(-3, 3), max_size=3).map(collections.Counter),
        st.lists(st.dictionaries(text, inner, max_size=2), min_size=1, max_size=2).map(
            lambda maps: collections.ChainMap(*maps)
        ),
    )


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=4)
    return st.one_of(
        lists,
        lists.map(tuple),
        st.builds(collections.deque, lists, st.none() | st.integers(4, 9)),
        st.sets(hashables, max_size=4),
        lists.map(lambda items: [items, items]),
        mappings(inner),
    )


values = st.recursive(scalars | hashables, containers, max_leaves=12)


def exactly(one: Any, other: Any) -> bool:
    """Tell whether two values are the same in type, order, sign of zero, at every depth; NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return repr(one) == repr(other)
    if isinstance(one, complex):
        return exactly(one.real, other.real) and exactly(one.imag, other.imag)
    if isinstance(one, set | frozenset):
        return len(one) == len(other) and all(any(exactly(x, y) for y in other) for x in one)
    if isinstance(one, collections.ChainMap):
        return exactly(one.maps, other.maps)
    if isinstance(one, collections.UserDict):
        return exactly(one.data, other.data)
    if isinstance(one, types.MappingProxyType | dict):
        same_factory = getattr(one, "default_factory", None) is getattr(other, "default_factory", None)
        return same_factory and all_exactly(one.items(), other.items())
    if isinstance(one, collections.deque) and one.maxlen != other.maxlen:
        return False
    if isinstance(one, range | slice):
        return exactly((one.start, one.stop, one.step), (other.start, other.stop, other.step))
    if isinstance(one, list | tuple | collections.deque | type({}.keys())):
        return all_exactly(one, other)
    return repr(one) == repr(other)


def all_exactly(one: Iterable[Any], other: Iterable[Any]) -> bool:
    first, second = list(one), list(other)
    return len(first) == len(second) and all(exactly(x, y) for x, y in zip(first, second, strict=True))


@FAST
@given(values)
def test_typed_round_trip_is_exact(value: Any) -> None:
    _, typed = encode(value)
    back = decode(json.loads(json.dumps(typed, allow_nan=False)))
    assert exactly(back, value)
    assert dumps(encode(back)[1]) == dumps(typed)
    if type(value) is list and len(value) == 2 and type(value[0]) is list:
        assert (back[0] is back[1]) == (value[0] is value[1])


@FAST
@given(values)
def test_plain_is_strict_json(value: Any) -> None:
    plain, _ = encode(value)
    written = dumps(plain)
    assert written.isascii()
    assert loads(written) == plain
    assert json.dumps(plain, separators=(",", ":"), allow_nan=False) == written
    assert canonical(plain) == json.dumps(plain, sort_keys=True, separators=(",", ":"))
    unstable_text(plain)


@FAST
@given(values)
def test_a_value_is_the_same_as_itself(value: Any) -> None:
    plain, typed = encode(value)
    assert same_json(typed, value)
    assert same_typed(typed, value)
    assert same_python(typed, value)
    assert same_json(typed, json.loads(json.dumps(plain)))
    assert same_json(typed, typed)
    assert same_typed(typed, typed)


bare = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab1", max_size=4)
)
leafy = st.recursive(
    bare,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
        st.lists(inner, min_size=1, max_size=3).map(collections.deque),
        st.dictionaries(text | st.integers(), inner, min_size=1, max_size=3),
        st.dictionaries(hashables, inner, min_size=1, max_size=2).map(collections.OrderedDict),
        st.tuples(inner, hashables),
    ),
    max_leaves=6,
)


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of bare scalars that are values: no keys, no parts of a scalar's own form."""
    if type(tree) is dict:
        tag = tree.get("@odata.type")
        if tag in ("#tuple", "#deque"):
            return leaves(tree["value"], (*path, "value"))
        if tag in ("#dict", "#OrderedDict"):
            pairs = enumerate(tree["value"])
            return [found for index, pair in pairs for found in leaves(pair[1], (*path, "value", index, 1))]
        if tag is not None:
            return []
        return [found for key, item in tree.items() for found in leaves(item, (*path, key))]
    if type(tree) is list:
        return [found for index, item in enumerate(tree) for found in leaves(item, (*path, index))]
    return [path]


def altered(leaf: Any) -> Any:
    if leaf is None or type(leaf) is bool:
        return not leaf
    if type(leaf) is str:
        return leaf + "x"
    return leaf / 2 if type(leaf) is float and abs(leaf) > 1e15 else leaf + 1


@FAST
@given(leafy, st.data())
def test_one_altered_leaf_is_seen(value: Any, data: st.DataObject) -> None:
    _, typed = encode(value)
    place = ("root", *data.draw(st.sampled_from(leaves(typed))))
    changed = json.loads(json.dumps({"root": typed}))
    at = changed
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = altered(at[place[-1]])
    assert not same_typed(changed["root"], value)
    assert not same_json(changed["root"], value)


def test_a_dict_that_holds_an_annotation_as_its_own_key() -> None:
    value = {0: {"@odata.type": None}}
    _, typed = encode(value)
    other = json.loads(json.dumps(typed).replace("null", "true"))
    assert same_typed(typed, value)
    assert same_json(typed, value)
    assert not same_typed(other, value)
    assert not same_json(other, value)


literals = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), text, st.binary(max_size=5), st.complex_numbers(), st.decimals(), st.dates(),
              st.datetimes(), st.timedeltas(), st.fractions(), st.builds(uuid.UUID, int=st.integers(0, 2**128 - 1))),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
) | st.sets(hashables, max_size=3)  # fmt: skip


@FAST
@given(literals)
def test_literals_read_back(value: Any) -> None:
    try:
        written = literal(value)
    except LiteralError:
        assume(False)
    assert exactly(read_literal(written), value)


@FAST
@given(st.text(max_size=60) | st.text("[](){}'\"\\,:-+~1ejb_ .nota", max_size=40))
def test_any_text_is_read_or_refused(source: str) -> None:
    try:
        value = read_literal(source)
    except LiteralError:
        return
    encode(value)


@FAST
@given(
    values,
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | text,
        lambda x: st.lists(x) | st.dictionaries(text, x),
        max_leaves=8,
    ),
)
def test_any_answer_is_judged(value: Any, answer: Any) -> None:
    _, typed = encode(value)
    for rule in (same_json, same_typed, same_python):
        assert rule(typed, answer) in (True, False)
    if same_typed(typed, answer):
        assert same_json(typed, answer)


def test_not_a_number_is_not_a_number() -> None:
    assert exactly([math.nan], [math.nan])
    assert not exactly([0.0], [-0.0])
