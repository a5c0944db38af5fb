"""A program shown with its provenance: the program behind a margin, and above each block where it was written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from exe.analysis import functions, read_project, signatures
from exe.chain import to_program
from exe.cli.show import _with_places
from exe.inline import Inlined, inline
from exe.records import Candidate, Program
from tests.inlining import write_package

FILES = {
    "pk/__init__.py": "",
    "pk/main.py": '''\
import math
from decimal import Decimal

from pk.shapes import SIDES, area


def total(size: int, price: Decimal) -> float:
    """Of all."""
    return math.sqrt(area(size)) * SIDES
''',
    "pk/shapes.py": """\
# nothing
SIDES = 4


def unused() -> int:
    return 1


# squares only
def area(size: int) -> int:
    return size**2
""",
}


def program(root: Path) -> Program:
    package = write_package(root, FILES)
    project = read_project(package)
    function = next(one for one in functions(project) if one.qualname == "total")
    candidate = signatures.candidate(project, function, package)
    assert isinstance(candidate, Candidate)
    made = inline(project, candidate)
    assert isinstance(made, Inlined), made
    return to_program(made, candidate)


def test_places_of_blocks(tmp_path: Path) -> None:
    found = program(tmp_path)
    lines = found.source.split("\n")
    places = {lines[int(line) - 1]: place for line, place in found.places.items()}
    assert places == {
        "# nothing": "sample 1 pk/shapes.py:2",
        "# squares only": "sample 1 pk/shapes.py:10",
        "def total(size: int, price: Decimal) -> float:": "sample 1 pk/main.py:7",
    }
    assert "import decimal" in found.source or "from decimal import Decimal" in found.source


def test_shown_with_places(tmp_path: Path) -> None:
    found = program(tmp_path)
    shown = _with_places(found).split("\n")
    margin = [line.partition("│ ")[2] if "│ " in line else "" for line in shown if "│" in line]
    assert margin == found.source.rstrip().split("\n")
    above = [line for line in shown if "│" not in line]
    assert [line.partition("┌ ")[2] for line in above] == ["imports from the standard library", *found.places.values()]
    place = shown.index(next(line for line in shown if line.endswith("pk/main.py:7")))
    assert shown[place + 1].endswith("│ def total(size: int, price: Decimal) -> float:")


def test_a_set_without_places_tells_names(tmp_path: Path) -> None:
    found = replace(program(tmp_path), places={}, source="import math\n\nSIDES = 4\n\n\n@f\ndef area(): pass\n")
    above = [line.strip() for line in _with_places(found).split("\n") if "│" not in line]
    assert above == ["┌ imports from the standard library", "┌ pk.shapes:SIDES", "┌ pk.shapes:area"]


def test_text_that_would_steer_the_terminal_is_escaped(tmp_path: Path) -> None:
    found = replace(program(tmp_path), places={"1": "a 1 \x1b[2J:1"}, source="x = '\x1b[2J'\n")
    assert "\x1b" not in _with_places(found)
