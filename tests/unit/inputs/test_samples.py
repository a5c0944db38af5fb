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
    r"\033\[[;?0-9]*[a-zA-Z]",
    r"(?i)\x41+[\x00-\x1f\u00e9]",
    r"(?=a)a(?!b)",
    r"[\w.-]+\.[\n\t]",
]


@pytest.mark.parametrize("pattern", PLAIN)
def test_matching(pattern: str) -> None:
    for seed in range(30):
        text = samples.matching(pattern, random.Random(seed).randrange)
        assert text is not None
        assert re.search(pattern, text), text


@pytest.mark.parametrize("pattern", [r"(a)\1", r"\p{L}", "[", "a{", "(?P=x)", "*a"])
def test_beyond_plain_constructs(pattern: str) -> None:
    assert samples.matching(pattern, random.Random(0).randrange) is None


def test_hostile_patterns_cost_nothing() -> None:
    assert samples.matching("(a+)+" * 200 + "$", random.Random(0).randrange) is not None
    assert samples.matching("(" * 300, random.Random(0).randrange) is None
