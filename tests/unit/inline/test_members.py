"""What the golden cases do not show of methods left out: the choice to keep them, and what becomes of their needs."""

from __future__ import annotations

from pathlib import Path

from exe.analysis import read_project
from exe.build import Recipe, settings
from exe.chain import Chain
from exe.inline import Inlined, inline
from tests.inlining import candidate, refused, write_package

SHELF = """\
import importlib


class Shelf:
    def first(self) -> int:
        return 1

    def other(self) -> int:
        return importlib.import_module(f"{self}").other
"""


def test_whole_classes_on_request(tmp_path: Path) -> None:
    text = SHELF.partition("\n\n\n")[2].replace('importlib.import_module(f"{self}").other', "2")
    package = write_package(tmp_path, {"one.py": text})
    sources: dict[bool, str] = {}
    for first in (True, False):
        project = read_project(package)
        for whole in (first, not first):  # what is known of a project from one choice does not leak into the other
            found = inline(project, candidate(package, "one:Shelf.first"), whole_class=whole)
            assert isinstance(found, Inlined)
            assert sources.setdefault(whole, found.source) == found.source
    assert sources[True] == text
    assert "other" not in sources[False]


def test_the_choice_stands_in_the_settings() -> None:
    recipe = Recipe(name="one", sources=("path:.",), chain=Chain(whole_class=True))
    assert settings(recipe)["whole_class"] is True


def test_a_method_left_out_is_no_hindrance(tmp_path: Path) -> None:
    package = write_package(tmp_path, {"one.py": SHELF})
    project = read_project(package)
    found = inline(project, candidate(package, "one:Shelf.first"))
    assert isinstance(found, Inlined)
    assert refused(project, "one:Shelf.other").reason == "dynamic-import"
    assert inline(project, candidate(package, "one:Shelf.first")) == found
