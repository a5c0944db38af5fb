"""`installed:`: distributions by their RECORD, in environments made for the test and in the running one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from exe.errors import SourceError
from exe.records import Package, Rejection
from exe.sources.files import Options
from exe.sources.installed import from_environment

from .test_files import lay

METADATA = "Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\nLicense-Expression: MIT\n"


def install(site: Path, name: str, files: dict[str, str], extra: dict[str, str] | None = None) -> None:
    info = f"{name}-1.0.dist-info"
    every = {
        **files,
        f"{info}/METADATA": METADATA.format(name=name),
        **{f"{info}/{k}": v for k, v in (extra or {}).items()},
    }
    lay(site, every)
    if f"{info}/RECORD" not in every:
        lay(site, {f"{info}/RECORD": "".join(f"{path},,\n" for path in every)})


def scrape(name: str, site: Path) -> list[Package | Rejection]:
    return from_environment(name, Options(), [str(site)])


def test_one_by_any_spelling(tmp_path: Path) -> None:
    install(tmp_path, "Some_Pkg", {"some/__init__.py": "X = 1\n"})

    (package,) = scrape("some.pkg", tmp_path)

    assert isinstance(package, Package)
    assert (package.name, package.version, package.spec) == ("some-pkg", "1.0", "installed:some-pkg")
    assert package.files == ("some/__init__.py",)
    assert package.root == str(tmp_path.resolve())


def test_all_sorted_with_the_rest_as_rejections(tmp_path: Path) -> None:
    install(tmp_path, "zeta", {"zeta.py": ""})
    install(tmp_path, "alpha", {"alpha.py": ""})
    install(tmp_path, "execution-eval", {"exe/__init__.py": ""})
    install(
        tmp_path,
        "copyleft",
        {"c.py": ""},
        {"METADATA": METADATA.format(name="copyleft").replace("MIT", "GPL-3.0-only")},
    )

    found = scrape("*", tmp_path)

    assert [r.name if isinstance(r, Package) else (r.subject, r.reason) for r in found] == [
        "alpha",
        ("copyleft", "license"),
        "zeta",
    ]
    assert scrape("", tmp_path) == found


def test_ourselves_by_name(tmp_path: Path) -> None:
    install(tmp_path, "execution-eval", {"exe/__init__.py": ""})

    (only,) = scrape("execution_eval", tmp_path)

    assert isinstance(only, Rejection)
    assert only.reason == "own-project"


def test_only_what_record_lists(tmp_path: Path) -> None:
    lay(tmp_path, {"stranger.py": ""})
    install(tmp_path, "pkg", {"pkg/a.py": "", "pkg/tests/test_a.py": ""}, {"METADATA": METADATA.format(name="pkg")})

    package, note = scrape("pkg", tmp_path)

    assert isinstance(package, Package)
    assert package.files == ("pkg/a.py",)
    assert isinstance(note, Rejection)
    assert note.reason == "tests"


def test_record_never_leads_out(tmp_path: Path) -> None:
    site = tmp_path / "site"
    lay(tmp_path, {"outside.py": "SECRET = 1\n"})
    install(site, "pkg", {"a.py": ""}, {"RECORD": f"a.py,,\n../outside.py,,\n{tmp_path}/outside.py,,\n"})

    (package,) = scrape("pkg", site)

    assert isinstance(package, Package)
    assert package.files == ("a.py",)


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"direct_url.json": '{"url": "file:///x", "dir_info": {"editable": true}}'}, "editable"),
        ({"METADATA": "Name: pkg\nLicense-Expression: MIT\n"}, "metadata"),
        ({"RECORD": "a" * 200_000 + ",,\n"}, "metadata"),
    ],
)
def test_what_is_not_a_plain_install(extra: dict[str, str], reason: str, tmp_path: Path) -> None:
    install(tmp_path, "pkg", {"pkg.py": ""}, extra)

    (only,) = scrape("pkg", tmp_path)

    assert isinstance(only, Rejection)
    assert only.reason == reason


def test_without_record(tmp_path: Path) -> None:
    lay(tmp_path, {"pkg-1.0.dist-info/METADATA": METADATA.format(name="pkg"), "pkg.py": ""})

    (only,) = scrape("pkg", tmp_path)

    assert isinstance(only, Rejection)
    assert only.reason == "no-record"


def test_the_first_of_a_name_on_the_path_counts(tmp_path: Path) -> None:
    for place in ("one", "two"):
        install(tmp_path / place, "pkg", {"pkg.py": place})

    found = from_environment("*", Options(), [str(tmp_path / "two"), str(tmp_path / "one")])

    assert [package.root for package in found if isinstance(package, Package)] == [str((tmp_path / "two").resolve())]


def test_not_installed(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not installed in this environment"):
        scrape("pkg", tmp_path)


def test_the_running_environment_imports_nothing() -> None:
    before = set(sys.modules)

    found = from_environment("*", Options())

    packages = [package for package in found if isinstance(package, Package)]
    assert len(packages) >= 8  # what this tool itself depends on
    assert "packaging" in {package.name for package in packages}
    assert all(package.files and package.license for package in packages)
    grown = {name.partition(".")[0] for name in set(sys.modules) - before}
    assert not {"markdown_it", "jsonschema", "typer", "radon", "pygments"} & grown
