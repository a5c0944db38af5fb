"""The cache of downloaded artefacts below a folder that the caller names.

artefacts/<sha256>/<file name>                        as downloaded
index/<name>/<version or newest>-<interpreter>.json   {"file", "sha256", "url"}: what a requirement led to
index/<name>/<version>-<interpreter>.lock.json        {"sha256", "packages"}: what that artefact requires, pinned
unpacked/<sha256>/tree/, unpacked/<sha256>/seen.json  its Python and metadata files; what was left out
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from exe.records import Json

from .archives import Unpacked, unpack

_INTERPRETER = f"cp{sys.version_info[0]}{sys.version_info[1]}-{sysconfig.get_platform()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """A file that was downloaded, by its hash; `url` is None where it came from a local folder."""

    file: str
    sha256: str
    url: str | None


def entry(cache: Path, name: str, version: str, kind: str = "json") -> Path:
    """Where it stands what a requirement led to, or ("lock.json") what that requires in turn."""
    return cache / "index" / name / f"{version}-{_INTERPRETER}.{kind}"


def is_kept(cache: Path, artefact: Artefact) -> bool:
    """Whether the artefact is there, and still the same."""
    try:
        data = (cache / "artefacts" / artefact.sha256 / artefact.file).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return hashlib.sha256(data).hexdigest() == artefact.sha256


def recall(cache: Path, where: Path) -> Artefact | None:
    """What the requirement led to before, where the artefact is still there and still the same."""
    try:
        artefact = Artefact(**json.loads(where.read_text("utf-8")))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return None
    return artefact if is_kept(cache, artefact) else None


def keep(cache: Path, path: Path, url: str | None) -> Artefact:
    """Take a downloaded file, which is moved, into the cache."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    folder = cache / "artefacts" / digest
    folder.mkdir(parents=True, exist_ok=True)
    os.replace(path, folder / path.name)
    return Artefact(file=path.name, sha256=digest, url=url)


def remember(where: Path, found: Json) -> None:
    """Write an entry, whole or not at all."""
    where.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix="draft-", dir=where.parent)
    with open(handle, "w", encoding="utf-8") as file:
        json.dump(found, file, sort_keys=True)
    os.replace(draft, where)


def unpacked(cache: Path, artefact: Artefact) -> tuple[Path, Unpacked]:
    """The unpacked tree of an artefact, made whole in a folder of its own and then moved into place. Raises Hostile."""
    final = cache / "unpacked" / artefact.sha256
    if not (final / "seen.json").is_file():
        final.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=final.parent))
        try:
            (draft / "tree").mkdir()
            seen = unpack(cache / "artefacts" / artefact.sha256 / artefact.file, draft / "tree")
            (draft / "seen.json").write_text(json.dumps(asdict(seen), sort_keys=True), "utf-8")
            try:
                draft.rename(final)
            except OSError:
                if not (final / "seen.json").is_file():  # else another process was first, with the same bytes
                    raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    raw = json.loads((final / "seen.json").read_text("utf-8"))
    seen = Unpacked(
        written=tuple(raw["written"]),
        compiled=tuple(raw["compiled"]),
        left_out=tuple((path, reason) for path, reason in raw["left_out"]),
        newest=raw["newest"],
    )
    return final / "tree", seen
