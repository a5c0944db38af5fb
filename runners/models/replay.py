"""Replay: answers recorded elsewhere, read from a file of `{"case", "sample", "text"}` lines."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from exe import codec
from exe.errors import InputError, RequestError
from exe.records import Completion, Json
from runners.models.base import Request, Traits, file_sha256

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
    for where, data in codec.read_json_lines(path):
        case, sample, text = _record(data, where)
        if cases is not None and case not in cases:
            raise InputError(f"{where}: case {case!r} is not in the task set; is this file for another set?")
        if (case, sample) in texts:
            raise InputError(f"{where}: a second answer for case {case}, sample {sample}; keep one")
        texts[case, sample] = text
    if not texts:
        raise InputError(f"{path} holds no answers")
    return ReplayModel(file_name=path.name, sha256=file_sha256(path), texts=texts)


def _record(data: Json, where: str) -> tuple[str, int, str]:
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
