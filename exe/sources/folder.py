"""`path:DIR`: a project folder, or an unpacked sdist. Layout and metadata are read; no file of it is run."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from exe.errors import SourceError
from exe.records import Package, Rejection

from . import metadata
from .files import Options, choose, folder_names, license_texts
from .licenses import permissive, read_license
from .metadata import Metadata

_MOST_ENTRIES = 200_000


def from_path(directory: Path, options: Options) -> list[Package | Rejection]:
    """The package of a project folder. Raises SourceError where there is no such folder or no Python in it."""
    if not directory.is_dir():
        raise SourceError(f"path:{directory}: no such folder")
    folder = directory.resolve()
    return read_folder(folder, f"path:{folder.name}", _metadata(folder), options)


def requirements(directory: Path) -> tuple[str, ...]:
    """What the metadata of a project folder say that it requires (PEP 508)."""
    return _metadata(directory.resolve()).requires


def read_folder(folder: Path, spec: str, told: Metadata, options: Options) -> list[Package | Rejection]:
    """The package in `folder`, with notes on what is left out, or one Rejection (licence, no Python files).

    `told` overrides nothing: a missing name is the folder's, a missing version "0".
    """
    name = canonicalize_name(told.name or folder.name) or "unnamed"
    root, paths = layout(folder, name)
    stated = read_license(told.license_expression, told.classifiers, told.license, license_texts(folder, _top(folder)))
    refused = license_rejection(name, stated.expression, stated.reason, options)
    if refused is not None:
        return [refused]
    chosen = choose(name, root, paths, options)
    if not chosen.files:
        return [no_files(name), *chosen.notes]
    package = Package(
        name=name,
        version=told.version or "0",
        spec=spec,
        root=str(root),
        files=chosen.files,
        license=stated.expression,
        repository=metadata.repository(told.urls),
        sha256=chosen.sha256,
        compiled=chosen.compiled,
    )
    return [package, *chosen.notes]


def license_rejection(name: str, expression: str | None, reason: str, options: Options) -> Rejection | None:
    """Why a package's licence keeps it out, unless it is permissive or allowed."""
    if permissive(expression) or name in options.allow_licenses or (expression in options.allow_licenses):
        return None
    detail = reason if expression is None else f"{expression} is not permissive ({reason})"
    return Rejection(subject=name, stage="scrape", reason="license", detail=detail)


Environment = tuple[tuple[Package, ...], tuple[Rejection, ...]]
"""The locked packages that a package requires, sorted by name, and why they are not all."""


def no_environment(name: str, reason: str) -> Rejection:
    """Why a package is read without (some of) what it requires."""
    detail = f"functions that need it are not inlined: {reason}"
    return Rejection(subject=name, stage="scrape", reason="environment", detail=detail)


def no_files(name: str) -> Rejection:
    """A package without Python files that can be read."""
    return Rejection(subject=name, stage="scrape", reason="no-python-files", detail="no importable Python file")


def _metadata(folder: Path) -> Metadata:
    """From PKG-INFO, `*.dist-info`, `*.egg-info`, pyproject.toml and setup.cfg, whichever says it first."""
    core = [folder / "PKG-INFO", *sorted(folder.glob("*.dist-info/METADATA"))]
    eggs = [*sorted(folder.glob("*.egg-info/PKG-INFO")), *sorted(folder.glob("src/*.egg-info/PKG-INFO"))]
    parts = [metadata.from_core(data) for path in core if (data := _small(path)) is not None]
    if (data := _small(folder / "pyproject.toml")) is not None:
        parts += [part for part in [metadata.from_pyproject(data)] if part is not None]
    if (data := _small(folder / "setup.cfg")) is not None:
        parts += [part for part in [metadata.from_setup_cfg(data)] if part is not None]
    parts += [metadata.from_core(data) for path in eggs if (data := _small(path)) is not None]
    return metadata.merge(parts)


def _small(path: Path) -> bytes | None:
    """The bytes of a regular metadata file of sane size, else None."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > metadata.LARGEST:
        return None
    return path.read_bytes()


def _top(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def layout(folder: Path, name: str) -> tuple[Path, list[str]]:
    """The folder below which modules are named, and the paths of all files of the packages in it.

    In this order: a folder that the build settings name, `src`, the folder itself (flat layout), `lib` and `python`; a
    folder that is itself a package is named by its own name. The first with a module in it decides.
    """
    if (folder / "__init__.py").is_file():
        return folder.parent, [f"{folder.name}/{path}" for path in _walk(folder)]
    sources = [folder / where for where in _declared(folder)]
    sources += [folder / "src", folder, folder / "lib", folder / "python"]
    for root in sources:
        if not root.is_dir() or root.is_symlink():
            continue
        paths = list(_walk(root)) if root != folder else _flat(folder, name)
        if any(path.endswith(".py") for path in paths):
            return root, paths
    return folder, []


def _declared(folder: Path) -> Iterator[str]:
    """Source folders that pyproject.toml or setup.cfg declare, where they are plain names below the project."""
    found: list[object] = []
    if (data := _small(folder / "pyproject.toml")) is not None:
        try:
            tool: Any = tomllib.loads(data.decode("utf-8")).get("tool", {})
            found += _in_tables(tool)
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, AttributeError, TypeError):
            pass  # malformed settings declare nothing
    if (data := _small(folder / "setup.cfg")) is not None:
        text = data.decode("utf-8", "replace")
        found += re.findall(r"^package_dir\s*=\s*=\s*(\S+)", text, re.MULTILINE)
        found += re.findall(r"^where\s*=\s*(\S+)", text, re.MULTILINE)
    for where in found:
        if isinstance(where, str) and re.fullmatch(r"[\w-]+(/[\w-]+)*/?", where):
            yield where.rstrip("/")


def _in_tables(tool: dict[str, Any]) -> list[object]:
    setuptools = tool.get("setuptools", {})
    found: list[object] = [setuptools.get("package-dir", {}).get("")]
    packages = setuptools.get("packages", {})
    if isinstance(packages, dict):
        found += packages.get("find", {}).get("where", [])
    found += [entry.get("from") for entry in tool.get("poetry", {}).get("packages", []) if isinstance(entry, dict)]
    hatch = tool.get("hatch", {}).get("build", {}).get("targets", {}).get("wheel", {})
    found += [path.rpartition("/")[0] for path in hatch.get("packages", []) if "/" in path]
    found += [tool.get("pdm", {}).get("build", {}).get("package-dir"), tool.get("maturin", {}).get("python-source")]
    return found


def _flat(folder: Path, name: str) -> list[str]:
    """Files of the packages and modules that lie in the project folder itself.

    A folder is a package where it holds `__init__.py`, or (a namespace) folders below that do; folders with a meaning of
    their own ("docs") only where the project is called so.
    """
    names = folder_names()
    aside = {*names["not_packages"], *names["tests"]} - {name.replace("-", "_")}
    found: list[str] = []
    for entry in _top(folder):
        path = folder / entry
        if path.is_symlink():
            continue
        if path.is_dir():
            if entry.isidentifier() and entry not in aside:
                below = [f"{entry}/{inner}" for inner in _walk(path)]
                if any(inner.endswith("/__init__.py") for inner in below):
                    found += below
        elif entry.endswith(".py") and entry not in names["not_modules"]:
            found.append(entry)
    return found


def _walk(top: Path) -> Iterator[str]:
    """Posix paths of all files below `top`, sorted by folder; hidden, cache and environment folders apart."""
    count = 0
    for folder, folders, names in os.walk(top, followlinks=False):
        folders[:] = sorted(
            inner
            for inner in folders
            if not inner.startswith(".")
            and inner not in {"__pycache__", "node_modules"}
            and not inner.endswith((".egg-info", ".dist-info"))
            and not os.path.exists(os.path.join(folder, inner, "pyvenv.cfg"))
        )
        for name in sorted(names):
            count += 1
            if count > _MOST_ENTRIES:
                raise SourceError(f"{top.name}: more than {_MOST_ENTRIES:,} files; name a smaller folder")
            yield (Path(folder) / name).relative_to(top).as_posix()
