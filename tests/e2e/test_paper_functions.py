"""Functions of the packages that the paper studied: each inlines at its version and gives the recorded result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from exe.analysis import Project, read_project
from exe.cli.options import cache_folder
from exe.inline import Inlined, inline
from exe.records import Job, Package
from exe.sandbox.host import Sandbox
from exe.sources import scrape
from exe.sources.files import Options
from tests.inlining import candidate
from tests.support.shared import find

CACHE = cache_folder()


MOVED = {"nltk.translate.lepor": "3.9.2"}
"""Modules that the version in the row does not have yet, and the first one that does."""


def rows() -> list[dict[str, Any]]:
    path = find("paper_functions.jsonl")
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path else []
    return [row for row in found if row["inlining"].startswith("yes")]


@pytest.fixture(scope="module")
def projects() -> dict[str, Project]:
    """Projects that are read already, by requirement."""
    return {}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1) as box:
        yield box


def project_of(requirement: str, known: dict[str, Project]) -> Project:
    if requirement not in known:
        alone = Options(environment=False)  # none of them needs a library, and some packages require very large ones
        found = scrape(f"pypi:{requirement}", cache=CACHE, options=alone)
        (package,) = (item for item in found if isinstance(item, Package))
        known[requirement] = read_project(package)
    return known[requirement]


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("row", rows() or [None], ids=lambda row: row["qualname"] if row else "no shared data")
def test_a_function_of_the_paper(row: dict[str, Any] | None, projects: dict[str, Project], sandbox: Sandbox) -> None:
    if row is None:
        pytest.skip("paper_functions.jsonl is not on this machine (EXE_SHARED_DATA)")
    version = MOVED.get(row["module"], row["version"])
    project = project_of(f"{row['package']}=={version}", projects)
    found = inline(project, candidate(project.package, f"{row['module']}:{row['qualname']}"))
    assert isinstance(found, Inlined), found
    call = f"{found.entry}({row['example_args']})"
    [[outcome, shown]] = sandbox.execute([Job(source=found.source, calls=(call, f"repr({call})"))])
    assert outcome.status == "value", outcome
    recorded = row["original_result"]
    if "repr" in recorded:  # others could not be imported where the results were recorded
        assert shown.plain == {"value": recorded["repr"]}
