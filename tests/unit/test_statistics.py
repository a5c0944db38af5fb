"""docs/STATISTICS.md: every statistic is defined there in one sentence, and its example gives exactly the figures in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exe.analysis.metrics import static_metrics
from exe.errors import IsolationError
from exe.records import Job, Outcome
from exe.sandbox.host import Sandbox

PAGE = (Path(__file__).parents[2] / "docs" / "STATISTICS.md").read_text("utf-8")
(SOURCE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(CALL,) = re.findall(r"the call `(.*?)`", PAGE)
ROWS = re.findall(r"^\| `([\w.]+)` \| (.+?) \| ?(\S*) ?\|$", PAGE, re.MULTILINE)
RUNTIME, STATIC = PAGE.split("## Of a program")


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    try:
        sandbox = Sandbox(workers=1)
    except IsolationError as error:
        pytest.skip(str(error))
    with sandbox:
        ((found,),) = sandbox.execute([Job(source=SOURCE, calls=(CALL,), trace=True)])
    return found


def stated(part: str) -> dict[str, float]:
    return {name: float(figure) for name, _, figure in ROWS if f"| `{name}` |" in part and figure}


def names(part: str) -> set[str]:
    return {name for name, _, _ in ROWS if f"| `{name}` |" in part}


def test_the_figures_of_the_call(outcome: Outcome) -> None:
    assert outcome.plain == {"value": [1]}
    measured = {name: outcome.runtime.get(name, 0) for name in stated(RUNTIME)}
    assert measured == stated(RUNTIME)
    assert outcome.runtime["calls_total"] == sum(
        outcome.runtime[f"calls_{kind}"] for kind in ("user", "builtin", "library")
    )
    assert outcome.runtime["library_lines"] > outcome.runtime["calls_library"] > 0
    assert outcome.cpu_seconds is not None


def test_the_figures_of_the_program() -> None:
    found = static_metrics(SOURCE, "table")
    assert {name: found[name] for name in stated(STATIC)} == stated(STATIC)
    assert 0 < found["maintainability_index"] < 100


def test_every_statistic_is_defined_in_one_sentence(outcome: Outcome) -> None:
    assert set(outcome.runtime) | {"cpu_seconds"} == names(RUNTIME)
    found = static_metrics(SOURCE, "table")
    assert {name for name in found if not name.startswith("ast.")} <= names(STATIC)
    for name, definition, _ in ROWS:
        assert definition.endswith("."), name
        assert len(re.findall(r"\.(?:\s|$)", definition)) == 1, name
