"""Replay: answers recorded elsewhere, read from a file of `{"case", "sample", "text"}` lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from exe.errors import InputError, RequestError
from exe.records import Completion, Json
from runners.models.base import Request, Traits

Texts = dict[tuple[str, int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayModel:
    """A file of recorded answers; identified by the file's sha256, so that another file is another model."""

    file_name: str
    sha256: str
    texts: Texts

    @property
    def name(self) -> str:
        """`replay:` and the file's name, without its folder."""
        return f"replay:{self.file_name}"

    @property
    def settings(self) -> dict[str, Json]:
        """Provider and content hash."""
        return {"provider": "replay", "model": self.file_name, "sha256": self.sha256}

    @property
    def traits(self) -> Traits:
        """Local, instant, never repaired."""
        return Traits(remote=False, repairs=False, max_tokens=None, concurrency=1)

    async def complete(self, request: Request) -> Completion:
        """The recorded text. Raises RequestError where the file has none, so that the attempt is failed, not wrong."""
        text = self.texts.get((request.case, request.sample))
        if text is None:
            raise RequestError(f"{self.file_name} holds no answer for case {request.case}, sample {request.sample}")
        return Completion(text=text, finish_reason="stop", model=self.name)

    async def aclose(self) -> None:
        """Nothing to give back."""


def open_replay(path: Path, cases: Container[str] | None = None) -> ReplayModel:
    """Read a replay file strictly; with `cases`, every line must name one of them.

    Raises InputError with `file:line` for a line that is not such an object, a duplicate or an unknown case.
    """
    texts: Texts = {}
    digest = hashlib.sha256()
    for where, line in _lines(path, digest):
        case, sample, text = _record(line, where)
        if cases is not None and case not in cases:
            raise InputError(f"{where}: case {case!r} is not in the task set; is this file for another set?")
        if (case, sample) in texts:
            raise InputError(f"{where}: a second answer for case {case}, sample {sample}; keep one")
        texts[case, sample] = text
    if not texts:
        raise InputError(f"{path} holds no answers")
    return ReplayModel(file_name=path.name, sha256=digest.hexdigest(), texts=texts)


def _lines(path: Path, digest: hashlib._Hash) -> Iterator[tuple[str, str]]:
    """(`file:line`, text) of each line that is not blank; every byte goes into `digest`."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                digest.update(raw)
                where = f"{path}:{number}"
                try:
                    text = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise InputError(f"{where}: not UTF-8 ({error.reason})") from None
                if text.strip():
                    yield where, text
    except OSError as error:
        raise InputError(f"cannot read the replay file {path}: {error.strerror}") from None


def _record(line: str, where: str) -> tuple[str, int, str]:
    try:
        data = json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not a JSON object ({error})") from None
    shape = 'expected {"case": text, "sample": number from 0, "text": text}'
    if not isinstance(data, dict):
        raise InputError(f"{where}: {shape}")
    if missing := {"case", "sample", "text"} - data.keys():
        raise InputError(f"{where}: {' and '.join(sorted(missing))} missing; {shape}")
    if extra := data.keys() - {"case", "sample", "text"}:
        raise InputError(f"{where}: unknown {' and '.join(sorted(map(repr, extra)))}; {shape}")
    case, sample, text = data["case"], data["sample"], data["text"]
    if not (isinstance(case, str) and type(sample) is int and sample >= 0 and isinstance(text, str)):
        raise InputError(f"{where}: {shape}")
    return case, sample, text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key stands there twice")
    return data
