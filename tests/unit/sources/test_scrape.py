"""The forms of SOURCE, and one clear line for each that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from exe.errors import UsageError
from exe.records import Package, Rejection
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
