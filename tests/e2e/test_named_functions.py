"""Five functions that pull in much of their packages: inlined, certified on inputs written here, and verified."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from exe import build, certify, chain, inputs, taskset
from exe.analysis import functions, read_project, signatures
from exe.cli.options import cache_folder
from exe.inline import Inlined, inline
from exe.inputs.encode import example_arguments
from exe.inputs.mine import Example
from exe.records import Call, Candidate, Case, Manifest, Package, Program
from exe.sandbox.host import Sandbox
from exe.sources import scrape
from exe.verify import Bench, originals, verify

CACHE = cache_folder()
GROUPS = {
    "test": ["pytest>=7", {"include-group": "base"}],
    "base": ["idna>=3", "attrs"],
    "odd": [{"include-group": "none"}],
}
CORE = "Metadata-Version: 2.4\nName: trial\nVersion: 1.2\nRequires-Dist: idna>=2; extra == 'x'\nProvides-Extra: x\n"

NAMED: tuple[tuple[str, str, int, tuple[tuple[Any, ...], ...]], ...] = (
    (
        "packaging",
        "packaging.dependency_groups:resolve_dependency_groups",
        100,
        ((GROUPS, "test"), (GROUPS, "base"), (GROUPS, "odd"), (GROUPS, "absent"), ({"a": ["not a requirement!"]}, "a")),
    ),
    (
        "hatchling",
        "hatchling.metadata.spec:project_metadata_from_core_metadata",
        80,
        ((CORE,), ("Metadata-Version: 2.1\nName: a\nVersion: 1\n",), ("Name: a\n",), ("",)),
    ),
    (
        "tomlkit",
        "tomlkit.api:value",
        60,
        (("1",), ("'a'",), ("[1, 'b', 2.5]",), ("true",), ("1979-05-27",), ("nope",)),
    ),
    (
        "urllib3",
        "urllib3.connectionpool:_normalize_host",
        25,
        (("EXAMPLE.com", "http"), ("[::1]", "http"), (None, "https"), ("bücher.example", "https"), ("A", "other")),
    ),
    (
        "setuptools",
        "setuptools.config._validate_pyproject.formats:pep508_versionspec",
        2,
        ((">=1.0",), ("==1.*, <2",), ("1.0",), ("x",), ("",)),
    ),
)


def inlined(package: Package, target: str) -> Program:
    project = read_project(package)
    (function,) = (one for one in functions(project) if f"{one.module.name}:{one.qualname}" == target)
    candidate = signatures.candidate(project, function, package, why_not=lambda _: None)
    assert isinstance(candidate, Candidate), candidate
    made = inline(project, candidate)
    assert isinstance(made, Inlined), made
    return chain.to_program(made, candidate)


def certified(program: Program, rows: tuple[tuple[Any, ...], ...]) -> list[Case]:
    signature = inputs.read_schema(program.parameters)
    examples = tuple(Example(row, ()) for row in rows)
    calls = [
        Call(program=program.id, arguments=one, call=inputs.call_text(program.entry, signature, one))
        for one in example_arguments(program.entry, signature, examples)
    ]
    assert len(calls) == len(rows)
    with Sandbox(workers=1, hash_seed=0) as first, Sandbox(workers=1, hash_seed=1) as second:
        found = certify.certify(program, calls, first.execute, second.execute)
    assert [case for case in found if not isinstance(case, Case)] == []
    return [case for case in found if isinstance(case, Case)]


def manifest_of(package: Package) -> Manifest:
    return Manifest(
        name="named",
        format=taskset.FORMAT,
        builder="test",
        python=".".join(map(str, sys.version_info[:3])),
        generator="by hand",
        seed=0,
        sources=(build.source_row(package),),
        counts={"functions": 1},
        files={},
        canary="",
        isolation="namespaces",
        settings={"sources": [package.spec]},
    )


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize(("name", "target", "definitions", "rows"), NAMED, ids=[row[1] for row in NAMED])
def test_a_named_function(
    name: str, target: str, definitions: int, rows: tuple[tuple[Any, ...], ...], tmp_path: Path
) -> None:
    (package,) = (item for item in scrape(f"pypi:{name}", cache=CACHE) if isinstance(item, Package))
    program = inlined(package, target)
    print(target, package.version, len(program.provenance), "definitions", len(program.source), "characters")
    assert len(program.provenance) >= definitions
    cases = certified(program, rows)
    taskset.write_set(tmp_path / "named", manifest_of(package), [program], cases, [])
    tasks = taskset.read_set(tmp_path / "named")
    report = verify(tasks, originals(tasks.manifest, CACHE), Bench(workers=1))
    assert [check.reason for function in report.functions for check in function.cases] == [""] * len(rows)
    assert report.figures.faithful_functions + report.figures.constant == 1
