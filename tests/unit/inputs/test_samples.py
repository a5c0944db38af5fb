"""Text that a pattern is likely to match, made without running the pattern."""

from __future__ import annotations

import random
import re

import pytest

from exe.inputs import samples

PLAIN = [
    r"[a-z]+-\d{2}",
    r"^(foo|bar)?baz$",
    r"\w+@\w+\.(com|org)",
    r"(?:a|b){2,4}c*",
    r"[^\s,]+,\s*[A-F0-9]{1,3}",
    r"(?P<year>\d{4})-(?P<month>\d\d)",
    r"x\.y\\z",
    r"[\]\-a]b",
]


@pytest.mark.parametrize("pattern", PLAIN)
def test_matching(pattern: str) -> None:
    for seed in range(30):
        text = samples.matching(pattern, random.Random(seed).randrange)
        assert text is not None
        assert re.search(pattern, text), text


@pytest.mark.parametrize("pattern", [r"(?<=a)b", r"\p{L}", "[", "(?i)x", "a{"])
def test_beyond_plain_constructs(pattern: str) -> None:
    text = samples.matching(pattern, random.Random(0).randrange)
    assert text is None or isinstance(text, str)


def test_hostile_patterns_cost_nothing() -> None:
    assert samples.matching("(a+)+" * 200 + "$", random.Random(0).randrange) is not None
    assert samples.matching("(" * 300, random.Random(0).randrange) is None
