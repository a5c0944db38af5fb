"""Generated packages: a function inlined does what it does in its package."""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.property.packages.compare import Tally, check
from tests.property.packages.features import FEATURES, read
from tests.property.packages.mutants import MUTANTS, Mutant, found_after
from tests.property.packages.packages import ORDER, generate

EXAMPLES = int(os.environ.get("EXE_INLINE_EXAMPLES", "25"))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.randoms(use_true_random=False), st.integers(1, 14))
def test_inlined_equals_original(random: Random, features: int) -> None:
    generated = generate(random, features)
    tally = Tally()
    check(generated, tally, random)
    for feature in tally.compared:
        event(feature)
    for _, difference in tally.differences:
        texts = "\n".join(f"# file: {path}\n{text}" for path, text in generated.files.items())
        raise AssertionError(f"{texts}\n{difference.target} differs\n{difference.source}\n{difference}")


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_faults_are_found(mutant: Mutant) -> None:
    assert found_after(mutant) is not None


def test_packages_follow_from_their_seed() -> None:
    assert generate(Random(7)) == generate(Random(7))
    assert generate(Random(7)) != generate(Random(8))


def test_every_feature_is_drawn() -> None:
    drawn: Counter[str] = Counter()
    for seed in range(300):
        drawn.update(generate(Random(seed)).witnesses.values())
    assert set(drawn) == {feature.name for feature in FEATURES}


def test_texts_are_laid_in_order() -> None:
    for seed in range(40):
        generated = generate(Random(seed))
        assert all(witness.partition(":")[0] in ORDER for witness in generated.witnesses)
        for path, text in generated.files.items():
            compile(text, path, "exec")


def test_a_feature_is_read_with_its_parts() -> None:
    text = "# feature: one, uncalled rare\n# low: vendored\n$V = 1\n# top of high\nimport $low\n# high\ndef $f(x): ...\n# close low\n"
    (feature,) = read(text)
    assert (feature.name, feature.called, feature.weight, feature.closes) == ("one", False, 2, True)
    assert [(part.role, part.where) for part in feature.parts] == [("low", "body"), ("high", "head"), ("high", "body")]
    assert (feature.roles, feature.witness, feature.kinds) == (("low", "high"), "high", (("low", "vendored"),))


def test_an_unknown_heading_is_refused() -> None:
    with pytest.raises(ValueError, match="sideways"):
        list(read("# feature: one\n# sideways of low\n$V = 1\n"))
