"""Where packages come from: installed, path, PyPI, git; their licences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from exe.errors import SourceError, StorageError, UsageError
from exe.records import Package, Rejection

from .files import Options
from .folder import from_path, requirements
from .index import from_index
from .installed import from_environment, installed_environment
from .licenses import permissive, read_license

__all__ = ["Options", "permissive", "read_license", "scrape"]

FORMS = "installed:NAME, installed:*, path:DIR, pypi:NAME[==VERSION]"


def scrape(
    spec: str, *, cache: Path, offline: bool = False, options: Options | None = None
) -> list[Package | Rejection]:
    """The packages that a SOURCE names, with a Rejection for each package and each file that is left out.

    SOURCE is `installed:NAME` (`installed:*`: all of the running environment, by name), `path:DIR` or
    `pypi:NAME[==VERSION]`. Downloads and what is unpacked of them are kept below `cache`; with `offline` nothing else is
    asked. No code of a package is imported or run.

    A package that is had but not used (licence, hostile archive, no Python files) is a Rejection. Raises UsageError for a
    SOURCE of no known form, SourceError for a package that cannot be had, StorageError where the cache cannot be
    written.
    """
    kind, colon, rest = spec.partition(":")
    chosen = options or Options()
    match kind if colon else None:
        case "installed":
            try:
                return from_environment(rest if rest == "*" else _name(rest, spec), chosen)
            except OSError as error:
                raise SourceError(f"{spec}: cannot be read: {error.strerror or error}") from error
        case "path":
            if not rest:
                raise UsageError(f"{spec}: names no folder")
            try:
                return _beside(Path(rest).expanduser(), chosen)
            except OSError as error:
                raise SourceError(f"{spec}: cannot be read: {error.strerror or error}") from error
        case "pypi":
            name, pinned, version = rest.partition("==")
            wanted = _version(version, spec) if pinned else None
            try:
                return from_index(_name(name, spec), wanted, cache=cache, offline=offline, options=chosen)
            except OSError as error:
                raise StorageError(f"{cache}: cannot be used: {error.strerror or error}") from error
        case "git" | "github":
            detail = f"{kind}: sources cannot be read yet; clone it and name the folder with path:DIR, or use pypi:NAME"
            return [Rejection(subject=spec, stage="scrape", reason="unsupported-source", detail=detail)]
        case _:
            raise UsageError(f"{spec!r} is not a source; the forms are {FORMS}")


def _beside(directory: Path, options: Options) -> list[Package | Rejection]:
    """A project folder, with what it requires as far as that is installed in the running environment."""
    package, *notes = from_path(directory, options)
    if isinstance(package, Rejection) or not options.environment:
        return [package, *notes]
    environment, more = installed_environment(package.name, requirements(directory), options)
    return [replace(package, environment=environment), *notes, *more]


def _name(text: str, spec: str) -> str:
    """The normalised project name (PEP 503)."""
    try:
        return canonicalize_name(text, validate=True)
    except InvalidName:
        raise UsageError(f"{spec}: {text!r} is not a package name; the forms are {FORMS}") from None


def _version(text: str, spec: str) -> str:
    try:
        return str(Version(text))
    except InvalidVersion:
        raise UsageError(f"{spec}: {text!r} is not a version, such as 1.2.0") from None
