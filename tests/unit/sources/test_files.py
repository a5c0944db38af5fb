"""Which files of a package are read, and that every other one leaves a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from exe.sources.files import Options, choose, is_test, vendored_copy

MIT = (
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software, as long as\n"
    "the above copyright notice and this permission notice are kept."
)


def lay(root: Path, files: dict[str, str]) -> list[str]:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return list(files)


def notes(root: Path, paths: list[str], options: Options | None = None) -> tuple[tuple[str, ...], dict[str, str]]:
    chosen = choose("pk", root, paths, options or Options())
    return chosen.files, {note.reason: f"{note.subject} {note.detail}" for note in chosen.notes}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pk/tests/a.py", True),
        ("pk/test/__init__.py", True),
        ("pk/_tests/a.py", True),
        ("pk/test_a.py", True),
        ("pk/a_test.py", True),
        ("pk/conftest.py", True),
        ("pk/testing/a.py", False),
        ("pk/contest.py", False),
        ("pk/latest_a.py", False),
    ],
)
def test_is_test(path: str, expected: bool) -> None:
    assert is_test(path) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pk/_vendor/idna/core.py", "pk/_vendor/idna"),
        ("pk/_vendor/six.py", "pk/_vendor/six.py"),
        ("pk/_vendor/__init__.py", None),  # the package's own
        ("pk/vendors/a.py", None),
        ("pk/vendor.py", None),
    ],
)
def test_vendored_copy(path: str, expected: str | None) -> None:
    assert vendored_copy(path) == expected


def test_only_importable_python_files_in_order(tmp_path: Path) -> None:
    paths = lay(tmp_path, {"b.py": "", "a/x.py": "", "a/data.json": "", "a/not-a-module.py": "", "a-b/c.py": ""})

    files, left = notes(tmp_path, [*paths, "b.py"])

    assert files == ("a/x.py", "b.py")
    assert left == {"not-importable": "pk 2 files left out, the first is a-b/c.py"}


def test_bytes_are_passed_through_whatever_their_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"# -*- coding: latin-1 -*-\nX = '\xe9'\n")
    (tmp_path / "b.py").write_bytes(b'print "two"\n')

    assert notes(tmp_path, ["a.py", "b.py"]) == (("a.py", "b.py"), {})


def test_size_links_and_missing_files_are_noted(tmp_path: Path) -> None:
    paths = lay(tmp_path, {"big.py": "x" * 101, "fits.py": "x" * 100})
    (tmp_path / "link.py").symlink_to(tmp_path / "fits.py")

    files, left = notes(tmp_path, [*paths, "link.py", "gone.py"], Options(max_file_bytes=100))

    assert files == ("fits.py",)
    assert left == {
        "too-large": "pk:big.py 101 bytes, the limit is 100",
        "not-regular": "pk:link.py a link or a special file",
        "unreadable": "pk:gone.py No such file or directory",
    }


def test_compiled_modules_are_noted(tmp_path: Path) -> None:
    paths = lay(tmp_path, {"a/x.py": "", "a/x.cpython-311.so": "", "a/y.pyd": ""})

    files, left = notes(tmp_path, paths)

    assert files == ("a/x.py",)
    assert left == {"compiled": "pk 2 files left out, the first is a/x.cpython-311.so"}


@pytest.mark.parametrize(
    ("licence", "kept"),
    [
        (("pk/_vendor/idna/LICENSE.md", MIT), True),
        (("pk/_vendor/idna-3.dist-info/METADATA", "Name: idna\nVersion: 3\nLicense-Expression: MIT\n"), True),
        (("pk-1.dist-info/licenses/src/pk/_vendor/idna/LICENSE", MIT), True),
        (("pk/_vendor/idna-3.dist-info/METADATA", "Name: idna\nVersion: 3\nLicense-Expression: MPL-2.0\n"), False),
        (("pk/_vendor/other/LICENSE", MIT), False),
        (("pk/LICENSE", MIT), False),
        (("pk/_vendor/idna/LICENSE", "All rights reserved."), False),
    ],
)
def test_vendored_projects_need_a_licence_of_their_own(licence: tuple[str, str], kept: bool, tmp_path: Path) -> None:
    paths = lay(
        tmp_path, {"pk/a.py": "", "pk/_vendor/__init__.py": "", "pk/_vendor/idna/core.py": "", licence[0]: licence[1]}
    )

    files, left = notes(tmp_path, paths)

    assert ("pk/_vendor/idna/core.py" in files) is kept
    assert ("vendored" in left) is not kept
    assert {"pk/a.py", "pk/_vendor/__init__.py"} <= set(files)


def test_the_hash_is_of_paths_and_contents(tmp_path: Path) -> None:
    lay(tmp_path, {"a.py": "1", "b.py": "2"})
    first = choose("pk", tmp_path, ["b.py", "a.py"], Options()).sha256

    assert choose("pk", tmp_path, ["a.py", "b.py"], Options()).sha256 == first
    lay(tmp_path, {"a.py": "2", "b.py": "1"})
    assert choose("pk", tmp_path, ["a.py", "b.py"], Options()).sha256 != first
