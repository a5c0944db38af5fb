"""Metadata in its three forms, and the repository address among the URLs."""

from __future__ import annotations

import pytest

from exe.sources.metadata import from_core, from_pyproject, from_setup_cfg, merge, repository

CORE = b"""\
Metadata-Version: 2.4
Name: Some.Package
Version: 1.2
License-Expression: MIT
Classifier: Typing :: Typed
Project-URL: Docs, https://docs.example
Project-URL: Source Code, https://github.com/some/package.git
Home-page: https://example.org

A README with Name: Other in it
"""


def test_core() -> None:
    told = from_core(CORE)

    assert (told.name, told.version, told.license_expression) == ("Some.Package", "1.2", "MIT")
    assert told.classifiers == ("Typing :: Typed",)
    assert told.urls[-1] == ("homepage", "https://example.org")
    assert repository(told.urls) == "https://github.com/some/package"


def test_core_that_is_no_metadata_says_nothing() -> None:
    assert from_core(b"\xff\xfe\x00 nothing of the kind").name is None


def test_pyproject() -> None:
    told = from_pyproject(
        b'[project]\nname = "a"\ndynamic = ["version"]\nlicense = "MIT"\n[project.urls]\nRepository = "https://gitlab.com/g/sub/a"\n'
    )

    assert told is not None
    assert (told.name, told.version, told.license_expression, told.license) == ("a", None, "MIT", None)
    assert repository(told.urls) == "https://gitlab.com/g/sub/a"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b'[project]\nname = "a"\nlicense = {text = "BSD"}\n', "BSD"),
        (b'[project]\nname = "a"\nlicense = {file = "LICENSE"}\n', None),
        (b'[tool.poetry]\nname = "a"\nversion = "2"\nlicense = "Apache-2.0"\nhomepage = "https://x.example"\n', "Apache-2.0"),
    ],
)  # fmt: skip
def test_license_in_pyproject(source: bytes, expected: str | None) -> None:
    told = from_pyproject(source)

    assert told is not None
    assert told.license == expected
    assert told.license_expression is None


@pytest.mark.parametrize("source", [b"", b"[tool.black]\n", b"not toml", b"\xff", b"a = " + b"[" * 50_000])
def test_no_project_in_pyproject(source: bytes) -> None:
    assert from_pyproject(source) is None


def test_setup_cfg() -> None:
    told = from_setup_cfg(
        b"[metadata]\nname = a\nversion = attr: a.__version__\nlicense = MIT\nclassifiers =\n  Typing :: Typed\n"
        b"project_urls =\n  Source = https://github.com/a/a\nurl = https://a.example\n"
    )

    assert told is not None
    assert (told.name, told.version, told.license) == ("a", None, "MIT")
    assert told.classifiers == ("Typing :: Typed",)
    assert told.urls == (("Source", "https://github.com/a/a"), ("homepage", "https://a.example"))
    assert from_setup_cfg(b"[tool]\n") is None
    assert from_setup_cfg(b"no section") is None


def test_merge_takes_the_licence_fields_from_one_source() -> None:
    core = from_core(b"Metadata-Version: 2.1\nName: a\nVersion: 1\n")
    project = from_pyproject(b'[project]\nname = "b"\nversion = "2"\nlicense = "MIT"\n')
    setup = from_setup_cfg(b"[metadata]\nlicense = GPL\nclassifiers =\n  License :: OSI Approved :: MIT License\n")

    merged = merge([core, None, project, setup])

    assert (merged.name, merged.version) == ("a", "1")
    assert (merged.license_expression, merged.license, merged.classifiers) == ("MIT", None, ())


@pytest.mark.parametrize(
    ("urls", "expected"),
    [
        ([("Homepage", "https://github.com/a/home"), ("Source", "https://github.com/a/b")], "https://github.com/a/b"),
        ([("Homepage", "https://github.com/a/home"), ("Issues", "https://github.com/a/b/issues")], "https://github.com/a/b"),
        ([("Homepage", "http://www.github.com/a/b/tree/main/sub?x=1#y")], "https://github.com/a/b"),
        ([("Code", "git+ssh://git@github.com/a/b.git")], "https://github.com/a/b"),
        ([("Code", "git@gitlab.com:group/sub/b.git")], "https://gitlab.com/group/sub/b"),
        ([("Code", "https://gitlab.com/group/b/-/issues")], "https://gitlab.com/group/b"),
        ([("Code", "https://user:secret@github.com/a/b")], "https://github.com/a/b"),
        ([("Funding", "https://github.com/sponsors/a")], None),
        ([("Home", "https://github.com/a")], None),
        ([("Home", "https://a.github.io/b")], None),
        ([("Source", "https://evil.example/github.com/a/b")], None),
        ([("Source", "https://[bad/a/b")], None),
        ([], None),
    ],
)  # fmt: skip
def test_repository(urls: list[tuple[str, str]], expected: str | None) -> None:
    assert repository(urls) == expected
