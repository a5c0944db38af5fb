"""Golden programs: one file a case holds the modules, the calls, and the program or the reason there is none.

`EXE_UPDATE_GOLDEN=1` writes the program part anew. Whatever the file says, a program must do what its package does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from exe.analysis import read_project
from exe.inline import REASONS
from tests.inlining import imported, inlined, loaded, outcome, refused, sprung, write_package

CASES = Path(__file__).parents[2] / "golden" / "inline"
SPLIT = "# program\n"


@dataclass
class Golden:
    target: str = ""
    refused: str = ""
    python: tuple[int, ...] = (3, 11)  # the first version that reads the files
    calls: list[str] = field(default_factory=list)
    hazards: list[str] = field(
        default_factory=list
    )  # the traps that the calls come to, by reason; those calls are not compared
    origins: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    program: str = ""
    given: str = ""


def read(path: Path) -> Golden:
    golden = Golden()
    golden.given, _, golden.program = path.read_text(encoding="utf-8").partition(SPLIT)
    current = ""
    for line in golden.given.splitlines(keepends=True):
        word, _, rest = line.partition(": ")
        match word:
            case "# target":
                golden.target = rest.strip()
            case "# python":
                golden.python = tuple(map(int, rest.split(".")))
            case "# refused":
                golden.refused = rest.strip()
            case "# hazard":
                golden.hazards.append(rest.strip())
            case "# call":
                golden.calls.append(rest.strip())
            case "# origin":
                golden.origins.append(rest.strip())
            case "# file":
                current = rest.strip()
                golden.files[current] = ""
            case _:
                golden.files[current] += line
    return golden


PATHS = sorted(CASES.glob("*.txt"))


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_golden(path: Path, tmp_path: Path) -> None:
    golden = read(path)
    if sys.version_info < golden.python:
        pytest.skip(f"the syntax of {path.stem} is read from Python {golden.python} on")
    project = read_project(write_package(tmp_path, golden.files))
    if golden.refused:
        rejection = refused(project, golden.target)
        assert rejection.reason == golden.refused, rejection
        assert rejection.reason in REASONS
        assert rejection.stage == "inline"
        return
    result = inlined(project, golden.target, origins=tuple(golden.origins))
    assert set(golden.origins) <= set(result.names)
    module, _, qualname = golden.target.partition(":")
    with imported(tmp_path, module) as namespace:
        expected = [outcome(call, namespace) for call in golden.calls]
    traps = [sprung(result, partial(outcome, call)) for call in golden.calls]
    assert sorted({reason for found in traps for reason in found}) == golden.hazards
    with loaded(result.source) as namespace:
        found = [outcome(call, namespace) for call in golden.calls]
    for call, ours, theirs, trap in zip(golden.calls, found, expected, traps, strict=True):
        assert trap or ours == theirs, (call, result.source)
    assert expected
    assert result.entry == qualname
    if os.environ.get("EXE_UPDATE_GOLDEN"):
        path.write_text(golden.given + SPLIT + result.source, encoding="utf-8")
    else:
        assert result.source == golden.program


def test_same_text_under_any_hash_seed(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tests.unit.inline.test_golden import *\n"
        "from exe.inline import inline; from tests.inlining import candidate\n"
        "for path in PATHS:\n"
        "    golden = read(path); root = Path(sys.argv[1]) / path.stem\n"
        "    if sys.version_info >= golden.python:\n"
        "        package = write_package(root, golden.files)\n"
        "        print(inline(read_project(package), candidate(package, golden.target)))\n"
    )
    texts = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])}
        command = [sys.executable, "-c", script, str(tmp_path)]
        texts.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(texts) == 1
