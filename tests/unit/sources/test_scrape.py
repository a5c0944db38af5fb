"""The forms of SOURCE, and one clear line for each that is wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from exe.errors import UsageError
from exe.records import Package, Rejection
from exe.screen import purity
from exe.sources import scrape

from .test_files import lay


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("idna", "'idna' is not a source"),
        ("conda:idna", "'conda:idna' is not a source"),
        ("", "'' is not a source"),
        ("pypi:", "'' is not a package name"),
        ("pypi:a b", "'a b' is not a package name"),
        ("pypi:../x", "'../x' is not a package name"),
        ("pypi:--index-url", "'--index-url' is not a package name"),
        ("pypi:idna[extra]", "not a package name"),
        ("pypi:idna==", "'' is not a version"),
        ("pypi:idna==latest", "'latest' is not a version"),
        ("pypi:idna>=3", "not a package name"),
        ("installed:a/b", "'a/b' is not a package name"),
        ("path:", "names no folder"),
    ],
)
def test_wrong_sources(spec: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        scrape(spec, cache=tmp_path, offline=True)

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("spec", ["git:https://example.org/x.git@v1", "github:owner/name"])
def test_sources_that_cannot_be_read_yet(spec: str, tmp_path: Path) -> None:
    (only,) = scrape(spec, cache=tmp_path)

    assert isinstance(only, Rejection)
    assert (only.subject, only.stage, only.reason) == (spec, "scrape", "unsupported-source")
    assert "path:DIR" in only.detail


def test_a_path(tmp_path: Path) -> None:
    lay(tmp_path, {"pyproject.toml": '[project]\nname = "a"\nlicense = "MIT"\n', "a.py": ""})

    (package,) = scrape(f"path:{tmp_path}", cache=tmp_path / "cache")

    assert isinstance(package, Package)
    assert package.name == "a"
    assert not (tmp_path / "cache").exists()


def fault_rows() -> list[dict[str, dict[str, str]]]:
    """Rows of the collected fault cases that are about reading files; [] where the collection is not at hand."""
    shared = Path(os.environ.get("EXE_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data")
    try:
        lines = (shared / "fault_cases.jsonl").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [row for row in map(json.loads, lines) if row["stage"] == "scrape"]


def test_files_that_trip_readers_are_passed_on_as_they_are(tmp_path: Path) -> None:
    rows = fault_rows()
    if not rows:
        pytest.skip("fault_cases.jsonl is not at hand (EXE_SHARED_DATA)")
    contents = {
        f"m{number}.py": bytes.fromhex(row["input"]["file_bytes_hex"])
        for number, row in enumerate(rows)
        if "file_bytes_hex" in row["input"]
    }
    contents["deep.py"] = b"def f(x: int) -> int:\n    return " + b"+".join([b"x"] * 20_000) + b"\n"
    lay(tmp_path, {"pyproject.toml": '[project]\nname = "a"\nlicense = "MIT"\n'})
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)

    (package,) = scrape(f"path:{tmp_path}", cache=tmp_path / "cache")

    assert isinstance(package, Package)
    assert list(package.files) == sorted(contents)
    assert all((Path(package.root) / name).read_bytes() == data for name, data in contents.items())
    deep = purity(contents["deep.py"].decode(), "f")
    assert deep is not None
    assert deep.reason == "too-deep"
