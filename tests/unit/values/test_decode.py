"""Decoding: malformed typed forms are refused with their place; program classes become records."""

from __future__ import annotations

from typing import Any

import pytest

from exe.values import DecodeError, Opaque, decode

MALFORMED: list[tuple[Any, str]] = [
    ({"@odata.type": "#nothing", "value": 1}, "/: unknown @odata.type"),
    ([1, {"@odata.type": "#set", "value": 3}], "/1/value: not an array"),
    ({"a": {"@odata.type": "#set", "value": [[1]]}}, "/a: malformed #set"),
    ({"@odata.type": "#set", "value": [1, 1]}, "duplicate elements"),
    ({"@odata.type": "#dict", "value": [[1, 2], [1, 3]]}, "duplicate keys"),
    ({"@odata.type": "#dict", "value": [[1, 2, 3]]}, "not an array of pairs"),
    ({"@odata.type": "#bytes", "value": "a+b="}, "malformed #bytes"),
    ({"@odata.type": "#float", "value": "1.5"}, "malformed #float"),
    ({"@odata.type": "#float"}, "#float has no value"),
    ({"@odata.type": "#tuple", "value": [], "more": 1}, "#tuple has no more"),
    ({"@odata.id": 1, "value": []}, "annotations without"),
    ({"@odata.type": ["#set"], "value": []}, "unknown @odata.type"),
    ({"@odata.type": "#ref", "value": 1}, "not defined"),
    ({"@odata.type": "#list", "@odata.id": 1, "value": [{"@odata.type": "#ref", "value": 1}]}, "/value/0: #ref"),
    ({"@odata.type": "#ref", "value": "1"}, "malformed #ref"),
    ({"@odata.type": "#str", "value": "a\\x"}, "malformed #str"),
    ({"@odata.type": "#Decimal", "value": "1,5"}, "malformed #Decimal"),
    ({"@odata.type": "#Fraction", "value": "1/0"}, "malformed #Fraction"),
    ({"@odata.type": "#date", "value": "2024-13-01"}, "malformed #date"),
    ({"@odata.type": "#datetime", "value": "2024-01-01T00:00:00Z"}, "malformed #datetime"),
    ({"@odata.type": "#range", "value": [0, 10**12, 1]}, "malformed #range"),
    ({"@odata.type": "#range", "value": [0, 10**40, 1]}, "malformed #range"),
    ({"@odata.type": "#Pattern", "value": "(", "flags": 0}, "malformed #Pattern"),
    ({"@odata.type": "#ZoneInfo", "value": "No/Where"}, "malformed #ZoneInfo"),
    ({"@odata.type": "#deque", "value": [1, 2], "maxlen": 1}, "malformed #deque"),
    ({"@odata.type": "#array", "value": [1], "typecode": "?"}, "malformed #array"),
    (float("nan"), "is not JSON"),
    ((1,), "tuple is not JSON"),
]


@pytest.mark.parametrize(("typed", "message"), MALFORMED)
def test_malformed(typed: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(typed)
    assert message in str(caught.value)


@pytest.mark.parametrize("depth", [600, 100_000])
def test_too_deep(depth: int) -> None:
    tree: Any = []
    for _ in range(depth):
        tree = [tree]
    with pytest.raises(DecodeError, match="nested"):
        decode(tree)


def test_program_classes_become_records() -> None:
    found = decode(
        {"@odata.type": "#object", "class": "os.system", "fields": {"x": {"@odata.type": "#tuple", "value": [1]}}}
    )
    assert isinstance(found, Opaque)
    assert (found.kind, found.name, found.fields) == ("object", "os.system", {"x": (1,)})


def test_reference_before_its_definition() -> None:
    ref = {"@odata.type": "#ref", "value": 1}
    found = decode([ref, {"@odata.type": "#list", "@odata.id": 1, "value": [5]}, ref])
    assert found == [[5], [5], [5]]
    assert found[0] is found[1] is found[2]
