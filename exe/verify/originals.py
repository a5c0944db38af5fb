"""Where the original of each package of a set is found, at the version and with the bytes that the set was made from.

`installed:` and `path:` sources are read where they lie, if they and what is locked for them still give the same hashes.
`pypi:` sources are installed by pip, wheels only, with exactly the versions and files that the set locked for them, each
package into a folder of its own below the cache, so that a conflict between two of them is nobody's matter:

    originals/<name>-<version>-<interpreter>-<lock>/      as `pip install --target` leaves it

Nothing of a package is imported or run here.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from exe.errors import SourceError, StorageError
from exe.records import Json, Manifest, Package, Rejection
from exe.sources import Options, scrape
from exe.sources.pip import complaint, run_pip

FOLDER = "originals"
_INTERPRETER = f"cp{sys.version_info[0]}{sys.version_info[1]}-{sysconfig.get_platform()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A package that can be imported: `folders` stand for site-packages. `package` is what was read of it."""

    folders: tuple[Path, ...]
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
    named = [spec for spec in manifest.settings.get("sources", []) if not spec.startswith("pypi:")]
    pinned = [_pinned(row) for row in manifest.sources if str(row["spec"]).startswith("pypi:")]
    scraped = _scraped([*named, *pinned], cache)
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
            items = scrape(spec, cache=cache, options=Options(environment=not spec.startswith("pypi:")))
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
    same = isinstance(package, Package) and package.sha256 == row["sha256"] and _same_lock(row, package)
    if kind == "installed" and not same:
        package = _scraped([_pinned(row)], cache).get((name, version))
        same = isinstance(package, Package)  # the version is what pip can pin, the hash was of the installed files
    if not isinstance(package, Package) or not same:
        detail = f"{row['spec']}: {name} {version} with sha256 {str(row['sha256'])[:12]}… is not there any more"
        return Unavailable(reason="source-changed", detail=detail)
    if not package.spec.startswith("pypi:"):
        roots = [package.root, *(one.root for one in package.environment if one.root)]
        return Original(folders=tuple(map(Path, dict.fromkeys(roots))), package=package)
    folder = install(name, version, _wanted(row), cache)
    if isinstance(folder, Unavailable):
        return folder
    return Original(folders=(folder,), package=_moved(package, folder))


def _pinned(row: Mapping[str, Json]) -> str:
    return f"pypi:{row['name']}=={row['version']}"


def _same_lock(row: Mapping[str, Json], package: Package) -> bool:
    """Whether what a package requires is still what was locked; of an index it is installed as it was locked."""
    if package.spec.startswith("pypi:") or "environment" not in row:
        return True
    now = {(one.name, one.version, one.sha256) for one in package.environment}
    return now == {(one["name"], one["version"], one["sha256"]) for one in row["environment"]}


class Wanted(NamedTuple):
    """What pip is to install. `locked`: these and nothing else; otherwise pip finds what they require."""

    requirements: tuple[str, ...]
    locked: bool


def _wanted(row: Mapping[str, Json]) -> Wanted:
    """The package and its lock, by hash where the hash is that of a wheel.

    A set from before locks names the package alone, and gets what pip finds for it.
    """
    if "environment" not in row:
        return Wanted((f"{row['name']}=={row['version']}",), locked=False)
    rows = [row, *row["environment"]]
    if str(row["spec"]).startswith("pypi:"):
        return Wanted(
            tuple(f"{one['name']}=={one['version']} --hash=sha256:{one['sha256']}" for one in rows), locked=True
        )
    return Wanted(tuple(f"{one['name']}=={one['version']}" for one in rows), locked=True)


def _moved(package: Package, folder: Path) -> Package:
    """The package as it lies in the folder it was installed into, where that holds its files."""
    there = tuple(path for path in package.files if (folder / path).is_file())
    return replace(package, root=str(folder), files=there) if there else package


def install(name: str, version: str, wanted: Wanted, cache: Path) -> Path | Unavailable:
    """A folder with what is `wanted`, see `_wanted`, wheels only; made once, whole or not at all.

    `name` and `version` are those of the package that it is for.
    """
    lock = hashlib.sha256("\n".join((*wanted.requirements, str(wanted.locked))).encode()).hexdigest()[:12]
    final = cache / FOLDER / f"{name}-{version}-{_INTERPRETER}-{lock}"
    if final.is_dir():
        return final
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=final.parent))
        try:
            refused = _pip(wanted, draft)
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


def _pip(wanted: Wanted, target: Path) -> str | None:
    """Runs pip; what it complains of, None where it is content."""
    command = ["install", "--quiet", "--only-binary", ":all:", "--target", str(target)]
    with tempfile.TemporaryDirectory(prefix="originals-") as folder:
        work = Path(folder)
        listed = work / "requirements.txt"
        listed.write_text("".join(f"{line}\n" for line in wanted.requirements), "utf-8")
        command += [*(["--no-deps"] if wanted.locked else []), "--requirement", str(listed)]
        try:
            done = run_pip(command, about=wanted.requirements[0], work=work)
        except SourceError as error:
            return str(error)
    return None if done.returncode == 0 else complaint(done)
