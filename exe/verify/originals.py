"""Where the original of each package of a set is found, at the version and with the bytes that the set was made from.

`installed:` and `path:` sources are read where they lie, if they still give the same hash. `pypi:` sources are installed by
pip, wheels only and with their requirements, each package into a folder of its own below the cache, so that a conflict
between two of them is nobody's matter:

    originals/<name>-<version>-<interpreter>/      as `pip install --target` leaves it

Nothing of a package is imported or run here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from exe.errors import SourceError, StorageError
from exe.records import Json, Manifest, Package, Rejection
from exe.sources import scrape

FOLDER = "originals"
_INTERPRETER = f"cp{sys.version_info[0]}{sys.version_info[1]}-{sysconfig.get_platform()}"
_SECONDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A package that can be imported: `folder` stands for site-packages. `package` is what was read of it."""

    folder: Path
    package: Package

    @property
    def roots(self) -> frozenset[str]:
        """Its top-level modules."""
        return frozenset(path.partition("/")[0].removesuffix(".py") for path in self.package.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """Why there is none; `reason` is one of OBSTACLES."""

    reason: str
    detail: str


Key = tuple[str, str]
"""Name and version of a package."""


def originals(manifest: Manifest, cache: Path) -> dict[Key, Original | Unavailable]:
    """The original of every source in the manifest. Raises StorageError where the cache cannot be written."""
    scraped = _scraped(manifest.settings.get("sources", []), cache)
    found: dict[Key, Original | Unavailable] = {}
    for row in manifest.sources:
        key = (row["name"], row["version"])
        found[key] = _original(row, scraped.get(key), cache)
    return found


def _scraped(specs: Json, cache: Path) -> dict[Key, Package | str]:
    """What the sources give today, by name and version; "" holds what could not be read."""
    found: dict[Key, Package | str] = {}
    for spec in specs:
        try:
            items = scrape(spec, cache=cache)
        except SourceError as error:
            found["", spec] = str(error)
            continue
        for item in items:
            if isinstance(item, Package):
                found.setdefault((item.name, item.version), item)
            elif isinstance(item, Rejection) and ":" not in item.subject:
                found["", spec] = f"{item.reason}: {item.detail}"
    return found


def _original(row: Mapping[str, Json], package: Package | str | None, cache: Path) -> Original | Unavailable:
    name, version, kind = row["name"], row["version"], str(row["spec"]).partition(":")[0]
    same = isinstance(package, Package) and package.sha256 == row["sha256"]
    if kind == "installed" and not same:
        package = _scraped([f"pypi:{name}=={version}"], cache).get((name, version))
        kind = "pypi"
        same = isinstance(package, Package)  # the version is what pip can pin, the hash was of the installed files
    if not isinstance(package, Package) or not same:
        detail = f"{row['spec']}: {name} {version} with sha256 {str(row['sha256'])[:12]}… is not there any more"
        return Unavailable(reason="source-changed", detail=detail)
    if kind != "pypi":
        return Original(folder=Path(package.root), package=package)
    folder = install(name, version, cache)
    if isinstance(folder, Unavailable):
        return folder
    return Original(folder=folder, package=_moved(package, folder))


def _moved(package: Package, folder: Path) -> Package:
    """The package as it lies in the folder it was installed into, where that holds its files."""
    there = tuple(path for path in package.files if (folder / path).is_file())
    return replace(package, root=str(folder), files=there) if there else package


def install(name: str, version: str, cache: Path) -> Path | Unavailable:
    """A folder with the package at that version and all it requires, wheels only; made once, whole or not at all."""
    final = cache / FOLDER / f"{name}-{version}-{_INTERPRETER}"
    if final.is_dir():
        return final
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=final.parent))
        try:
            refused = _pip(f"{name}=={version}", draft)
            if refused is not None:
                return Unavailable(reason="not-installable", detail=refused)
            draft.chmod(0o755)
            try:
                draft.rename(final)
            except OSError:
                if not final.is_dir():  # else another process was first
                    raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise StorageError(f"{error.filename or cache}: {error.strerror}") from error
    return final


def _pip(requirement: str, target: Path) -> str | None:
    """Runs pip; what it complains of, None where it is content."""
    command = [sys.executable, "-m", "pip", "install", "--no-input", "--progress-bar", "off", "--quiet"]
    command += ["--only-binary", ":all:", "--target", str(target), requirement]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUTF8": "1"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"pip did not finish within {_SECONDS} s"
    if done.returncode == 0:
        return None
    return next(_complaints(done.stderr), f"pip ended with status {done.returncode}")


def _complaints(text: str) -> Iterator[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield from (line.removeprefix("ERROR: ") for line in reversed(lines) if line.startswith("ERROR: "))
    yield from reversed(lines)
