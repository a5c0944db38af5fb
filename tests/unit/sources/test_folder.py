"""`path:DIR`: layouts and metadata of project folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from exe.errors import SourceError
from exe.records import Package, Rejection
from exe.sources.files import Options
from exe.sources.folder import from_path

from .test_files import lay

PROJECT = '[project]\nname = "My.Pkg"\nversion = "1.5"\nlicense = "MIT"\n[project.urls]\nSource = "https://github.com/me/pkg"\n'


def read(folder: Path) -> Package:
    result = from_path(folder, Options())[0]
    assert isinstance(result, Package)
    return result


@pytest.mark.parametrize(
    ("files", "root", "expected"),
    [
        (["src/pkg/__init__.py", "src/pkg/a.py", "setup.py", "docs/conf.py"], "src", ["pkg/__init__.py", "pkg/a.py"]),
        (["src/ns/inner/a.py", "tests/test_a.py"], "src", ["ns/inner/a.py"]),  # a namespace package
        (["pkg/__init__.py", "pkg/sub/a.py", "setup.py", "docs/__init__.py", "tasks.py"], "", ["pkg/__init__.py", "pkg/sub/a.py"]),
        (["ns/inner/__init__.py", "scripts/run.py"], "", ["ns/inner/__init__.py"]),
        (["one.py", "setup.py", "conftest.py"], "", ["one.py"]),
        (["lib/pkg/__init__.py", "setup.py"], "lib", ["pkg/__init__.py"]),
        (["my_pkg/__init__.py", "build/my_pkg/__init__.py", ".venv/lib/x.py"], "", ["my_pkg/__init__.py"]),
    ],
)  # fmt: skip
def test_layouts(files: list[str], root: str, expected: list[str], tmp_path: Path) -> None:
    lay(tmp_path, {"pyproject.toml": PROJECT, **dict.fromkeys(files, "X = 1\n")})

    package = read(tmp_path)

    assert list(package.files) == expected
    assert package.root == str((tmp_path / root).resolve())


def test_a_project_called_like_a_folder_that_is_left_aside(tmp_path: Path) -> None:
    lay(tmp_path, {"pyproject.toml": PROJECT.replace("My.Pkg", "build"), "build/__init__.py": ""})

    assert read(tmp_path).files == ("build/__init__.py",)


@pytest.mark.parametrize(
    "settings",
    [
        '[tool.setuptools.packages.find]\nwhere = ["code"]\n',
        '[tool.setuptools.package-dir]\n"" = "code"\n',
        '[tool.poetry]\npackages = [{include = "pkg", from = "code"}]\n',
        '[tool.hatch.build.targets.wheel]\npackages = ["code/pkg"]\n',
    ],
)
def test_a_declared_source_folder(settings: str, tmp_path: Path) -> None:
    lay(tmp_path, {"pyproject.toml": PROJECT + settings, "code/pkg/__init__.py": "", "other/__init__.py": ""})

    assert read(tmp_path).files == ("pkg/__init__.py",)


@pytest.mark.parametrize("where", ["../outside", "/etc", "a/../../outside"])
def test_a_declared_folder_never_leads_out(where: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    lay(tmp_path, {"outside/evil.py": ""})
    lay(project, {"pyproject.toml": PROJECT + f'[tool.setuptools.packages.find]\nwhere = ["{where}"]\n', "a.py": ""})

    assert read(project).files == ("a.py",)


def test_a_folder_that_is_a_package(tmp_path: Path) -> None:
    lay(tmp_path, {"pkg/__init__.py": "", "pkg/sub/a.py": "", "pkg/PKG-INFO": "Name: pkg\nLicense: MIT\n"})

    package = read(tmp_path / "pkg")

    assert package.files == ("pkg/__init__.py", "pkg/sub/a.py")
    assert package.root == str(tmp_path.resolve())


def test_metadata_of_pyproject(tmp_path: Path) -> None:
    lay(tmp_path, {"pyproject.toml": PROJECT, "a.py": ""})

    package = read(tmp_path)

    assert (package.name, package.version, package.license) == ("my-pkg", "1.5", "MIT")
    assert package.repository == "https://github.com/me/pkg"
    assert package.spec == f"path:{tmp_path.name}"  # no path of this machine
    assert (package.url, package.released) == (None, None)


def test_without_a_name_and_a_version(tmp_path: Path) -> None:
    lay(tmp_path, {"setup.cfg": "[metadata]\nlicense = MIT\n", "a.py": ""})

    package = read(tmp_path)

    assert package.version == "0"
    assert package.name == tmp_path.name.replace("_", "-").lower()


def test_a_licence_that_is_not_permissive(tmp_path: Path) -> None:
    lay(tmp_path, {"pyproject.toml": PROJECT.replace("MIT", "GPL-3.0-only"), "a.py": ""})

    assert from_path(tmp_path, Options()) == [
        Rejection(
            subject="my-pkg",
            stage="scrape",
            reason="license",
            detail="GPL-3.0-only is not permissive (License-Expression)",
        )
    ]
    for allowed in ("GPL-3.0-only", "my-pkg"):
        assert isinstance(from_path(tmp_path, Options(allow_licenses=frozenset({allowed})))[0], Package)


def test_no_python(tmp_path: Path) -> None:
    lay(tmp_path, {"pyproject.toml": PROJECT, "README": ""})

    (only,) = from_path(tmp_path, Options())

    assert isinstance(only, Rejection)
    assert only.reason == "no-python-files"


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such folder"):
        from_path(tmp_path / "nowhere", Options())


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    lay(tmp_path, {"outside/secret.py": "", "project/pyproject.toml": PROJECT, "project/a.py": ""})
    (tmp_path / "project/linked").symlink_to(tmp_path / "outside")
    (tmp_path / "project/src").symlink_to(tmp_path / "outside")

    assert read(tmp_path / "project").files == ("a.py",)
