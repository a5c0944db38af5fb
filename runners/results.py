"""Results folders: their names, run.json, the append-only attempts.jsonl and its sorted end state."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import re
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exe import codec, values
from exe.errors import InputError, StorageError
from exe.records import Attempt, Case, Completion, Json
from runners.attempts import is_unjudged

RUN, ATTEMPTS, SCORE, TIMING, LOCK = "run.json", "attempts.jsonl", "score.json", "timing.json", ".lock"
FORMAT = 1
SYNC_SECONDS = 1.0


def digest(data: Json) -> str:
    """Hex sha256 of a JSON value's canonical text."""
    return hashlib.sha256(codec.canonical(data).encode()).hexdigest()


def slug(text: str, sha256: str) -> str:
    """A folder name that every file system takes: what can be kept of `text`, then eight digits of the hash."""
    kept = re.sub(r"[^a-z0-9._]+", "-", text.lower())
    kept = re.sub(r"\.{2,}", ".", kept).strip("-._")[:48].rstrip("-._")
    return f"{kept or 'x'}-{sha256[:8]}"


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` (from 1) of `of`: every `of`-th case, so that all shards are alike in size and kind."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def part(self, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """The cases of this shard, in order."""
        return cases[self.number - 1 :: self.of]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The attempts of a run, fixed before the first is made: position = case index × samples + sample."""

    cases: tuple[Case, ...]
    samples: int

    def __len__(self) -> int:
        return len(self.cases) * self.samples

    def at(self, position: int) -> tuple[Case, int]:
        """(case, sample) at a position."""
        index, sample = divmod(position, self.samples)
        return self.cases[index], sample


class AttemptLog:
    """The attempts.jsonl of one run, open for appending. One writer: the caller holds the folder's lock.

    Every attempt is handed to the kernel (one write) before `append` returns, so that SIGKILL loses nothing that was
    counted; the disk is told to keep it (fsync) at most once a second and at the end, so that a power cut loses at
    most the last second. Memory is nine bytes a planned attempt, whatever the texts weigh.
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path = path
        self._plan = plan
        self._index = {case.id: number for number, case in enumerate(plan.cases)}
        self._offsets = array("q", [-1]) * len(plan)
        self._finished = bytearray(len(plan))
        self._answered: set[int] = set()  # failed for want of their judge alone
        self._lines = 0
        self._file = codec.open_append(path)
        self._synced = time.monotonic()

    def recover(self, request_sha256: Callable[[Case, int], str]) -> Iterator[Attempt]:
        """Read what earlier sessions wrote and yield each attempt that need not be made again.

        A last line that a killed process was writing has been cut off by then. Attempts that failed, and those whose
        request differs from the one planned now, stay in the file until their successor is there.
        Raises InputError with `file:line` for any other malformed line.
        """
        offset = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                attempt = parse_attempt(line, f"{self.path}:{number}")
                position = self._position(attempt, f"{self.path}:{number}")
                self._offsets[position], self._lines = offset, self._lines + 1
                offset += len(line)
                fresh = attempt.request_sha256 == request_sha256(*self._plan.at(position))
                usable = fresh and attempt.verdict != "failed"
                self._answered.discard(position)
                if fresh and is_unjudged(attempt):
                    self._answered.add(position)
                self._finished[position] = usable
                if usable:
                    yield attempt

    def answered(self, position: int) -> tuple[Completion, Completion | None] | None:
        """The completions of a missing attempt that only its judge has failed; None where the model is to be asked."""
        if position not in self._answered:
            return None
        with self.path.open("rb") as file:
            file.seek(self._offsets[position])
            attempt = parse_attempt(file.readline(), str(self.path))
        return None if attempt.completion is None else (attempt.completion, attempt.repair)

    def missing(self) -> Iterator[int]:
        """Positions still to be asked, in order; lazily, so that nothing is held."""
        return (position for position in range(len(self._plan)) if not self._finished[position])

    def is_missing(self, position: int) -> bool:
        """Whether a position is still to be asked."""
        return not self._finished[position]

    def count_missing(self) -> int:
        """How many positions are still to be asked."""
        return self._finished.count(0)

    def append(self, attempt: Attempt) -> None:
        """Write one attempt. Raises StorageError, and leaves no half line, when the disk takes it not."""
        position = self._position(attempt, str(self.path))
        now = time.monotonic()
        sync = now - self._synced >= SYNC_SECONDS
        offset = self._file.tell()
        codec.append_line(self._file, attempt, sync=sync)
        if sync:
            self._synced = now
        self._offsets[position] = offset
        self._finished[position] = attempt.verdict != "failed"
        self._lines += 1

    def finish(self) -> None:
        """Close, then sort by (case order, sample), one line an attempt, atomically; an ordered file is left as it is.

        So a run that was interrupted ends with the bytes of one that was not. Raises StorageError; the file as it was
        is then untouched.
        """
        self.close()
        kept = array("q", (offset for offset in self._offsets if offset >= 0))
        if len(kept) == self._lines and all(a < b for a, b in itertools.pairwise(kept)):
            return
        with self.path.open("rb") as source:

            def attempts() -> Iterator[Json]:
                for offset in kept:
                    source.seek(offset)
                    yield values.loads(source.readline().decode())

            codec.write_jsonl(self.path, attempts())

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        if self._file.closed:
            return
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that has no such thing
                raise StorageError(f"{self.path}: cannot be written: {error.strerror}") from None
        finally:
            self._file.close()

    def _position(self, attempt: Attempt, where: str) -> int:
        index = self._index.get(attempt.case)
        if index is None or not 0 <= attempt.sample < self._plan.samples:
            raise InputError(f"{where}: case {attempt.case}, sample {attempt.sample} is not of this run; move it away")
        return index * self._plan.samples + attempt.sample


def parse_attempt(line: bytes, where: str) -> Attempt:
    """One line of attempts.jsonl. Raises InputError that begins with `where`."""
    try:
        data = values.loads(line.decode("utf-8"))
    except ValueError as error:
        raise InputError(f"{where}: not a JSON line ({error}); mend or remove it") from None
    return codec.from_json(Attempt, data, where)


def read_attempts(path: Path) -> Iterator[Attempt]:
    """The attempts of a run folder's file, one at a time; a last line without newline (a run at work) is left out."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    yield parse_attempt(line, f"{path}:{number}")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def count_finished(path: Path) -> int:
    """How many attempts of a file need not be made again, by what they say; 0 where there is no file."""
    if not path.exists():
        return 0
    last = {(attempt.case, attempt.sample): attempt.verdict != "failed" for attempt in read_attempts(path)}
    return sum(last.values())


def read_object(path: Path) -> dict[str, Json]:
    """A JSON object file. Raises InputError where it is missing or malformed."""
    data = codec.read_json(path)
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a JSON object")
    return data


def whole_folder(folder: Path) -> Path:
    """The folder of the run that the run in `folder` is a shard of."""
    return folder.with_name(re.sub(r"-shard-[0-9]+-of-[0-9]+$", "", folder.name))


def shard_of(described: dict[str, Json]) -> Shard | None:
    """The shard that the run of a run.json is, None for a whole run."""
    part = described.get("shard")
    return None if part is None else Shard(part["number"], part["of"])


def _count(value: Json) -> bool:
    return type(value) is int and value >= 0


_WHOLE = "a whole number"
_SHAPE: tuple[tuple[str, str, Callable[[Json], bool], str], ...] = (
    ("taskset", "name", lambda value: isinstance(value, str), "text"),
    ("taskset", "sha256", lambda value: isinstance(value, str), "text"),
    ("model", "name", lambda value: isinstance(value, str), "text"),
    ("model", "provider", lambda value: isinstance(value, str), "text"),
    (
        "settings",
        "kinds",
        lambda value: isinstance(value, list) and all(isinstance(kind, str) for kind in value),
        "a list of texts",
    ),
    ("settings", "max_source", lambda value: value is None or _count(value), f"null or {_WHOLE}"),
    ("settings", "limit", lambda value: value is None or _count(value), f"null or {_WHOLE}"),
    ("settings", "seed", lambda value: type(value) is int, _WHOLE),
    ("settings", "samples", lambda value: _count(value) and 1 <= value <= 1_000_000, f"{_WHOLE} from 1 to 1,000,000"),
    ("planned", "cases", _count, _WHOLE),
    ("planned", "samples", _count, _WHOLE),
)
"""What every reader of a run.json relies on: member, its member, the check, and the wanted in words."""


def read_run(folder: Path) -> dict[str, Json]:
    """The run.json of a run folder. Raises InputError where it is missing, malformed or does not describe a run."""
    path = folder / RUN
    data = read_object(path)
    for outer, inner, fits, wanted in _SHAPE:
        part = data.get(outer)
        if not isinstance(part, dict) or inner not in part:
            raise InputError(f"{path} is not the description of a run: '{outer}.{inner}' is missing")
        if not fits(part[inner]):
            raise InputError(f"{path} is not the description of a run: '{outer}.{inner}' is not {wanted}")
    part = data.get("shard", {"number": 1, "of": 1})
    if not isinstance(part, dict) or not all(_count(part.get(name)) for name in ("number", "of")):
        raise InputError(f"{path} is not the description of a run: 'shard' is not two whole numbers")
    if not 1 <= part["number"] <= part["of"]:
        raise InputError(f"{path} is not the description of a run: there is no shard {part['number']}/{part['of']}")
    return data


def write_object(path: Path, data: dict[str, Json]) -> None:
    """Write a JSON object file whole or not at all, laid out for people. Raises StorageError."""
    codec.atomic_write(path, json.dumps(data, indent=2, sort_keys=True, ensure_ascii=True).encode() + b"\n")
