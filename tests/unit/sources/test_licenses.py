"""Licences from metadata: the order of evidence, agreement, families, and what counts as permissive."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest
from packaging.licenses import canonicalize_license_expression

from exe.sources.licenses import permissive, read_license, recognise

MIT = "License :: OSI Approved :: MIT License"
BSD = "License :: OSI Approved :: BSD License"
APACHE = "License :: OSI Approved :: Apache Software License"
GPL = "License :: OSI Approved :: GNU General Public License v3 (GPLv3)"

BSD_2_TEXT = (
    "Redistribution and use in source and binary forms ... are permitted. "
    "Redistributions in binary form must reproduce the above notice."
)
BSD_3_TEXT = BSD_2_TEXT + " Names may not be used to endorse or promote\n   products derived from it."
MIT_TEXT = (
    "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this,\n"
    "provided the above copyright notice and this permission\nnotice are kept."
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("mit", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0+", True),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND BSD-3-Clause", True),
        ("LicenseRef-BSD", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR LGPL-2.1-only", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("GPL-3.0-only OR MIT AND MPL-2.0", False),  # AND binds tighter than OR
        ("(GPL-3.0-only OR MIT) AND BSD-2-Clause", True),
        ("((MIT))", True),
        ("MPL-2.0", False),
        ("LicenseRef-Proprietary", False),
        ("MIT OR", False),
        ("free as in beer", False),
        ("(" * 2000 + "MIT" + ")" * 2000, False),
        (None, False),
    ],
)
def test_permissive(expression: str | None, expected: bool) -> None:
    assert permissive(expression) is expected


@pytest.mark.parametrize(
    ("expression", "classifiers", "text", "texts", "expected"),
    [
        ("mit or apache-2.0", [GPL], "GPLv3", [], "MIT OR Apache-2.0"),  # License-Expression decides alone
        (None, [MIT], "The MIT License", [], "MIT"),
        (None, [BSD], "BSD 3-Clause License", [], "BSD-3-Clause"),  # the narrower of the two
        (None, [APACHE], "Apache License, Version 2.0", [], "Apache-2.0"),
        (None, [MIT, APACHE], "MIT OR Apache-2.0", [], "MIT OR Apache-2.0"),
        (None, [], "MIT/Apache-2.0", [], "Apache-2.0 OR MIT"),
        (None, [], "BSD-2-Clause", [], "BSD-2-Clause"),
        (None, [], MIT_TEXT, [], "MIT"),
        (None, [MIT], "UNKNOWN", [], "MIT"),
        (None, [MIT], None, [], "MIT"),
        (None, [MIT], "(c) 2020 A. Person", [], "MIT"),
        (None, [BSD], None, [], "LicenseRef-BSD"),
        (None, [BSD], None, [BSD_2_TEXT], "BSD-2-Clause"),  # a file breaks the tie within the family
        (None, [BSD], "BSD", [BSD_3_TEXT], "BSD-3-Clause"),
        (None, [BSD], None, [BSD_2_TEXT, BSD_3_TEXT], "LicenseRef-BSD"),
        (None, [MIT], None, [BSD_3_TEXT], "MIT"),  # but never overrides what the metadata say
        (None, [MIT, BSD], None, [], "LicenseRef-BSD AND MIT"),
        (None, [GPL], None, [], "GPL-3.0-only"),
        (None, ["License :: OSI Approved", MIT], None, [], "MIT"),
    ],
)
def test_read(
    expression: str | None, classifiers: list[str], text: str | None, texts: list[str], expected: str
) -> None:
    assert read_license(expression, classifiers, text, texts).expression == expected


@pytest.mark.parametrize(
    ("expression", "classifiers", "text", "reason"),
    [
        ("MIT or so", [MIT], "MIT", "License-Expression 'MIT or so' is not valid SPDX"),
        (None, [MIT], "GPLv3", "License says 'GPLv3', the classifiers say MIT"),
        (None, [MIT], "Apache 2.0", "License says 'Apache 2.0', the classifiers say MIT"),
        (None, [MIT], "LGPL, see the file", "License text 'LGPL, see the file' is not understood"),
        (None, [MIT, GPL], None, "classifiers name several licences: MIT, GPL-3.0-only"),
        (None, ["License :: Free for non-commercial use"], "MIT", "classifier 'License :: Free for non-commercial use' is not known"),
        (None, [], "Ask Bob", "License text 'Ask Bob' is not understood"),
        (None, [], "see LICENSE file", "the metadata name no licence"),
        (None, ["Programming Language :: Python"], None, "the metadata name no licence"),
    ],
)  # fmt: skip
def test_ambiguous(expression: str | None, classifiers: list[str], text: str | None, reason: str) -> None:
    found = read_license(expression, classifiers, text, [MIT_TEXT])

    assert found.expression is None
    assert found.reason.startswith(reason)


def test_a_text_with_two_licences_is_not_recognised() -> None:
    assert recognise(BSD_3_TEXT) == "BSD-3-Clause"
    assert recognise(MIT_TEXT + BSD_3_TEXT) is None
    assert recognise("Do what you like.") is None


def test_the_data_are_spdx() -> None:
    raw = tomllib.loads(files("exe").joinpath("data/licenses.toml").read_text("utf-8"))
    named = [
        *raw["permissive"],
        *raw["classifiers"].values(),
        *raw["texts"].values(),
        *(p["id"] for p in raw["phrases"]),
    ]
    named += [member for members in raw["families"].values() for member in members]

    wrong = [name for name in named if canonicalize_license_expression(name) != name]
    unknown_families = {n for n in named if n.startswith("LicenseRef-")} - set(raw["families"])

    assert wrong == []
    assert unknown_families == {"LicenseRef-Public-Domain", "LicenseRef-Proprietary"}


def test_no_family_mixes_permissive_and_other_licences() -> None:
    raw = tomllib.loads(files("exe").joinpath("data/licenses.toml").read_text("utf-8"))
    for name, members in raw["families"].items():
        if permissive(name):
            assert [m for m in members if not permissive(m) and m != "Apache-1.0"] == []
        else:
            assert [m for m in members if permissive(m)] == ["ZPL-2.1", "ZPL-2.0"] * (name == "LicenseRef-ZPL")
