"""Originals: what is installed for a set is what the set locked, whatever the index has by then."""

from __future__ import annotations

from pathlib import Path

import pytest

from exe import build, taskset
from exe.records import Json, Manifest, Package
from exe.sources import scrape
from exe.verify import originals
from exe.verify.originals import Original, Unavailable
from tests.unit.sources.test_environment import index, only, requiring, wheel
from tests.unit.sources.test_files import lay
from tests.unit.sources.test_installed import install

__all__ = ["index"]


def manifest(*rows: dict[str, Json], specs: tuple[str, ...] = ()) -> Manifest:
    return Manifest(
        name="trial",
        format=taskset.FORMAT,
        builder="0",
        python="3.11.7",
        generator="offline",
        seed=0,
        sources=rows,
        counts={},
        files={},
        canary="",
        settings={"sources": list(specs)},
    )


def row(package: Package) -> dict[str, Json]:
    return build.source_row(package)


def test_exactly_the_locked_versions_are_installed(index: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    wheel(index, "exe-trial", requires=("exe-help",))
    wheel(index, "exe-help", "1.0")
    package = only(scrape("pypi:exe-trial==1.0", cache=cache))
    wheel(index, "exe-help", "2.0")

    found = originals(manifest(row(package)), cache)[("exe-trial", "1.0")]

    assert isinstance(found, Original)
    (folder,) = found.folders
    assert (folder / "exe_trial.py").is_file()
    assert (folder / "exe_help.py").read_text() == "X = '1.0'\n"
    assert row(package)["environment"] == [
        {"name": "exe-help", "version": "1.0", "sha256": package.environment[0].sha256, "license": "MIT"}
    ]


def test_another_lock_is_another_folder(index: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    wheel(index, "exe-trial", requires=("exe-help",))
    wheel(index, "exe-help", "1.0")
    package = only(scrape("pypi:exe-trial==1.0", cache=cache))
    locked, bare = row(package), {**row(package), "environment": []}

    first, second = (originals(manifest(one), cache)[("exe-trial", "1.0")] for one in (locked, bare))

    assert isinstance(first, Original)
    assert isinstance(second, Original)
    assert first.folders != second.folders
    assert not (second.folders[0] / "exe_help.py").exists()


def test_a_locked_file_that_changed_is_not_installed(index: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    wheel(index, "exe-trial", requires=("exe-help",))
    wheel(index, "exe-help", "1.0")
    package = only(scrape("pypi:exe-trial==1.0", cache=cache))
    changed = row(package)
    changed["environment"][0]["sha256"] = "0" * 64

    found = originals(manifest(changed), cache)[("exe-trial", "1.0")]

    assert isinstance(found, Unavailable)
    assert found.reason == "not-installable"


@pytest.mark.parametrize("change", [False, True])
def test_what_is_installed_has_to_be_what_was_locked(
    change: bool, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    install(site, "own", {"own.py": ""}, requiring("own", "near"))
    install(site, "near", {"near.py": "X = 1\n"})
    monkeypatch.syspath_prepend(str(site))
    package = only(scrape("installed:own", cache=tmp_path / "cache"))
    if change:
        lay(site, {"near.py": "X = 2\n"})

    found = originals(manifest(row(package), specs=("installed:own",)), tmp_path / "cache")[("own", "1.0")]

    if change:
        assert isinstance(found, Unavailable)
        assert found.reason == "source-changed"
    else:
        assert isinstance(found, Original)
        assert found.folders == (site.resolve(),)
