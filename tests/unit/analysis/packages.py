"""Small packages written for a test, read as projects."""

from __future__ import annotations

import textwrap
from pathlib import Path

from exe.analysis.project import Project, functions, read_project
from exe.analysis.signatures import candidate
from exe.records import Candidate, Package, Rejection


def package(root: Path, files: dict[str, str]) -> tuple[Project, Package]:
    """A package named `demo` whose files lie below `root`."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text), encoding="utf-8")
    made = Package(
        name="demo",
        version="1.0",
        spec=f"path:{root}",
        root=str(root),
        files=tuple(sorted(f for f in files if f.endswith(".py"))),
    )
    return read_project(made), made


def read(root: Path, source: str, qualname: str) -> Candidate | Rejection:
    """The candidate of one function of a one-module package."""
    project, made = package(root, {"demo.py": source})
    (function,) = [one for one in functions(project) if one.qualname == qualname]
    return candidate(project, function, made)
