"""Results folders: their names, run.json, the append-only attempts.jsonl and its sorted end state."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exe import codec
from exe.errors import InputError, StorageError
from exe.records import Attempt, Case, Json

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
        self._lines = 0
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StorageError(f"cannot open {path}: {error.strerror}") from None
        self._end = 0
        self._synced = time.monotonic()

    def recover(self, request_sha256: Callable[[Case, int], str]) -> Iterator[Attempt]:
        """Read what earlier sessions wrote and yield each attempt that need not be made again.

        A last line without its newline is what a killed process was writing: it is cut off. Attempts that failed, and
        those whose request differs from the one planned now, stay in the file until their successor is there.
        Raises InputError with `file:line` for any other malformed line.
        """
        self._end = self._heal()
        offset = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                attempt = parse_attempt(line, f"{self.path}:{number}")
                position = self._position(attempt, f"{self.path}:{number}")
                self._offsets[position], self._lines = offset, self._lines + 1
                offset += len(line)
                fresh = attempt.request_sha256 == request_sha256(*self._plan.at(position))
                usable = fresh and attempt.verdict != "failed"
                self._finished[position] = usable
                if usable:
                    yield attempt

    def missing(self) -> Iterator[int]:
        """Positions still to be asked, in order; lazily, so that nothing is held."""
        return (position for position in range(len(self._plan)) if not self._finished[position])

    def count_missing(self) -> int:
        """How many positions are still to be asked."""
        return self._finished.count(0)

    def append(self, attempt: Attempt) -> None:
        """Write one attempt. Raises StorageError, and leaves no half line, when the disk takes it not."""
        line = codec.dump_line(attempt).encode("ascii")
        try:
            _write(self._file, line)
            now = time.monotonic()
            if now - self._synced >= SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = now
        except OSError as error:
            self._cut(self._end)
            raise StorageError(f"cannot write {self.path}: {error.strerror}; the same command resumes") from None
        position = self._position(attempt, str(self.path))
        self._offsets[position] = self._end
        self._finished[position] = attempt.verdict != "failed"
        self._end += len(line)
        self._lines += 1

    def finish(self) -> None:
        """Close, then sort by (case order, sample), one line an attempt, atomically; an ordered file is left as it is.

        So a run that was interrupted ends with the bytes of one that was not. Raises StorageError; the file as it was
        is then untouched.
        """
        self.close()
        kept = [offset for offset in self._offsets if offset >= 0]
        if len(kept) == self._lines and all(a < b for a, b in itertools.pairwise(kept)):
            return
        with self.path.open("rb") as source:

            def lines() -> Iterator[bytes]:
                for offset in kept:
                    source.seek(offset)
                    yield source.readline()

            replace_file(self.path, lines())

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        if self._file >= 0:
            try:
                os.fsync(self._file)
            except OSError as error:
                raise StorageError(f"cannot write {self.path}: {error.strerror}") from None
            finally:
                os.close(self._file)
                self._file = -1

    def _heal(self) -> int:
        """Cut a line that has no end; returns the file's length after that."""
        size = os.fstat(self._file).st_size
        end = size
        while end > 0:
            start = max(0, end - 65536)
            found = os.pread(self._file, end - start, start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._file, end)
        return end

    def _cut(self, end: int) -> None:
        try:
            os.ftruncate(self._file, end)
        except OSError:
            return  # then the next start heals it: the half line has no newline

    def _position(self, attempt: Attempt, where: str) -> int:
        index = self._index.get(attempt.case)
        if index is None or not 0 <= attempt.sample < self._plan.samples:
            raise InputError(f"{where}: case {attempt.case}, sample {attempt.sample} is not of this run; move it away")
        return index * self._plan.samples + attempt.sample


def parse_attempt(line: bytes, where: str) -> Attempt:
    """One line of attempts.jsonl. Raises InputError that begins with `where`."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
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


def read_object(path: Path) -> dict[str, Json]:
    """A JSON object file. Raises InputError where it is missing or malformed."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a JSON object")
    return data


def write_object(path: Path, data: dict[str, Json]) -> None:
    """Write a JSON object file atomically, readable by people. Raises StorageError."""
    replace_file(path, iter([json.dumps(data, indent=2, sort_keys=True, ensure_ascii=True).encode() + b"\n"]))


def replace_file(path: Path, chunks: Iterator[bytes]) -> None:
    """Write beside `path`, sync, then replace it: readers see the old bytes or the new. Raises StorageError."""
    scratch = ""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
            scratch = file.name
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o666 & ~_umask())
        os.replace(scratch, path)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}; the same command resumes") from None
    finally:
        if scratch and os.path.exists(scratch):
            os.unlink(scratch)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
