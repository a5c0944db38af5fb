"""What a package says about itself: core metadata (METADATA, PKG-INFO), pyproject.toml, setup.cfg. Read, never run."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from packaging.metadata import parse_email

LARGEST = 4_000_000  # bytes of a metadata file that are read


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The fields that matter here, as written; nothing is None but what is absent."""

    name: str | None = None
    version: str | None = None
    license_expression: str | None = None
    license: str | None = None
    classifiers: tuple[str, ...] = ()
    urls: tuple[tuple[str, str], ...] = ()  # (label, URL), Home-page last
    requires: tuple[str, ...] = ()  # PEP 508


def from_core(data: bytes) -> Metadata:
    """Core metadata in its e-mail form (METADATA in wheels and installed packages, PKG-INFO in sdists)."""
    raw, _ = parse_email(data[:LARGEST])
    urls = list(raw.get("project_urls", {}).items())
    if "home_page" in raw:
        urls.append(("homepage", raw["home_page"]))
    return Metadata(
        name=raw.get("name"),
        version=raw.get("version"),
        license_expression=raw.get("license_expression"),
        license=raw.get("license"),
        classifiers=tuple(raw.get("classifiers", ())),
        urls=tuple(urls),
        requires=tuple(raw.get("requires_dist", ())),
    )


def from_pyproject(data: bytes) -> Metadata | None:
    """The [project] table of pyproject.toml, or Poetry's own; None where there is neither or it is not TOML."""
    try:
        document = tomllib.loads(data[:LARGEST].decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return None
    project = document.get("project")
    poetry = _table(_table(document, "tool"), "poetry")
    if not isinstance(project, dict):
        if not poetry:
            return None
        project = {
            **poetry,
            "urls": {**_table(poetry, "urls"), **{k: poetry[k] for k in ("repository", "homepage") if k in poetry}},
        }
    stated = project.get("license")
    whole = isinstance(project.get("name"), str) and isinstance(stated, str) and project is document.get("project")
    return Metadata(
        name=_string(project.get("name")),
        version=_string(project.get("version")),
        license_expression=_string(stated) if whole else None,
        license=_string(stated.get("text")) if isinstance(stated, dict) else None if whole else _string(stated),
        classifiers=tuple(c for c in _list(project.get("classifiers")) if isinstance(c, str)),
        urls=tuple((label, url) for label, url in _table(project, "urls").items() if isinstance(url, str)),
        requires=tuple(one for one in _list(project.get("dependencies")) if isinstance(one, str)),
    )


def from_setup_cfg(data: bytes) -> Metadata | None:
    """The [metadata] section of setup.cfg; None where there is none."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(data[:LARGEST].decode("utf-8"))
    except (UnicodeDecodeError, configparser.Error):
        return None
    if not parser.has_section("metadata"):
        return None
    section = {key.replace("-", "_"): value.strip() for key, value in parser.items("metadata") if value is not None}
    version = section.get("version", "")
    urls = [
        (label.strip(), url.strip())
        for label, _, url in (line.partition("=") for line in section.get("project_urls", "").splitlines())
        if url
    ]
    if section.get("url"):
        urls.append(("homepage", section["url"]))
    return Metadata(
        name=section.get("name") or None,
        version=None if not version or version.startswith(("attr:", "file:")) else version,
        license=section.get("license") or None,
        classifiers=tuple(line.strip() for line in section.get("classifiers", "").splitlines() if line.strip()),
        urls=tuple(urls),
    )


def merge(parts: Iterable[Metadata | None]) -> Metadata:
    """Field by field the first that says something; the licence fields come from one source together."""
    known = [part for part in parts if part is not None]
    licensed = [part for part in known if part.license_expression or part.license or _has_license(part.classifiers)]
    source = licensed[0] if licensed else Metadata()
    return Metadata(
        name=next((part.name for part in known if part.name), None),
        version=next((part.version for part in known if part.version), None),
        license_expression=source.license_expression,
        license=source.license,
        classifiers=source.classifiers,
        urls=tuple(url for part in known for url in part.urls),
        requires=next((part.requires for part in known if part.requires), ()),
    )


def repository(urls: Iterable[tuple[str, str]]) -> str | None:
    """The https address of the package's repository on a forge, by the most telling label; None where none is given."""
    best: tuple[int, str] | None = None
    for label, url in urls:
        address = forge_repository(url)
        folded = re.sub(r"[^a-z]+", " ", label.lower()).strip()
        rank = _LABELS.index(folded if folded in _LABELS else _OTHER)
        if address is not None and (best is None or rank < best[0]):
            best = (rank, address)
    return best[1] if best else None


_OTHER = "any other label"
_LABELS = (
    "source", "source code", "sourcecode", "sources", "repository", "repo", "code", "github", "gitlab", "git",
    _OTHER, "home page", "homepage", "home",
)  # fmt: skip
_FORGES = re.compile(
    r"(www\.)?(github\.com|gitlab\.[\w.-]+|bitbucket\.org|codeberg\.org|gitee\.com|opendev\.org)|git\.sr\.ht"
)
_NOT_OWNERS = frozenset({"sponsors", "orgs", "apps", "users", "topics", "marketplace", "features", "about"})


def forge_repository(url: str) -> str | None:
    """`https://host/owner/name` of any address that lies in a repository of a forge; credentials never survive."""
    text = url.strip()
    if ssh := re.fullmatch(r"(?:git\+)?(?:ssh://)?\w+@([\w.-]+)[:/](.+)", text):
        text = f"https://{ssh[1]}/{ssh[2]}"
    text = re.sub(r"^(git\+|scm:git:)?(https?|git)://", "https://", text)
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    if parts.scheme != "https" or not _FORGES.fullmatch(host):
        return None
    host = host.removeprefix("www.")
    path = parts.path.split("/-/")[0]
    names = [name for name in path.split("/") if name]
    if not host.startswith("gitlab."):
        names = names[:2]
    if len(names) < 2 or names[0].lower() in _NOT_OWNERS or not all(re.fullmatch(r"[\w.~-]+", name) for name in names):
        return None
    names[-1] = names[-1].removesuffix(".git")
    return f"https://{host}/{'/'.join(names)}" if names[-1] else None


def _has_license(classifiers: Iterable[str]) -> bool:
    return any(classifier.startswith("License ::") for classifier in classifiers)


def _table(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
