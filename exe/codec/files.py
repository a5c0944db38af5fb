"""JSON lines files: read with file and line in every error, written whole or not at all, appended line by line."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from exe.codec.convert import from_json, to_json
from exe.codec.schemas import schema_errors
from exe.errors import InputError, StorageError
from exe.values import dumps, loads

Json = Any
R = TypeVar("R")


def dump_line(record: Any) -> bytes:
    r"""Return a record or a JSON tree as one line: ASCII, no spaces, strict JSON, "\n" at its end.

    Raises ValueError for a non-finite float and TypeError for what is no JSON: both are our own mistakes.
    """
    return dumps(to_json(record) if dataclasses.is_dataclass(record) else record).encode("ascii") + b"\n"


def read_jsonl(path: str | Path, cls: type[R], *, validate: bool = False) -> Iterator[R]:
    """Yield the records of a JSON lines file, one at a time.

    `validate` also checks each line against the record's JSON Schema, for files that others wrote. Raises `InputError`
    naming file and line: no such file, a blank line, invalid UTF-8, malformed or truncated JSON, a duplicate key, and
    all that `from_json` refuses.
    """
    check = schema_errors(cls) if validate else None
    for where, data in read_json_lines(path):
        if check is not None and (found := check(data)):
            raise InputError(f"{where}: {found}")
        yield from_json(cls, data, where)


def read_json_lines(path: str | Path) -> Iterator[tuple[str, Json]]:
    """Yield ("file:line", JSON tree) for each line. Raises `InputError` as `read_jsonl` does."""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                yield f"{path}:{number}", _read_line(line, f"{path}:{number}")
    except OSError as exc:
        raise InputError(f"{path}: {exc.strerror or exc}; check the path") from None


def _read_line(line: bytes, where: str) -> Json:
    if not line.strip():
        raise InputError(f"{where}: blank line; remove it")
    if line.startswith(BOM_UTF8):
        raise InputError(f"{where}: begins with a byte-order mark; save the file as UTF-8 without one")
    try:
        return loads(line.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise InputError(f"{where}: not UTF-8 (byte {exc.start}); save the file as UTF-8") from None
    except ValueError as exc:
        what = f"{exc.msg} (column {exc.colno})" if isinstance(exc, json.JSONDecodeError) else str(exc)
        if not line.endswith(b"\n"):
            raise InputError(f"{where}: the last line is cut off ({what}); remove it or make the file anew") from None
        raise InputError(f"{where}: not JSON: {what}; correct the line") from None


def read_json(path: str | Path) -> Json:
    """Return the JSON tree of a whole file. Raises `InputError` naming the file."""
    try:
        data = Path(path).read_bytes()
        if data.startswith(BOM_UTF8):
            raise InputError(f"{path}: begins with a byte-order mark; save the file as UTF-8 without one")
        return loads(data.decode("utf-8"))
    except OSError as exc:
        raise InputError(f"{path}: {exc.strerror or exc}; check the path") from None
    except UnicodeDecodeError as exc:
        raise InputError(f"{path}: not UTF-8 (byte {exc.start}); save the file as UTF-8") from None
    except ValueError as exc:
        raise InputError(f"{path}: not JSON: {exc}; correct the file") from None


def write_jsonl(path: str | Path, items: Iterable[Any]) -> str:
    """Write records as JSON lines, whole or not at all; return the SHA-256 of the file. Raises `StorageError`."""
    digest = hashlib.sha256()

    def chunks() -> Iterator[bytes]:
        for item in items:
            line = dump_line(item)
            digest.update(line)
            yield line

    _replace(Path(path), chunks())
    return digest.hexdigest()


def atomic_write(path: str | Path, data: bytes) -> None:
    """Write a file whole or not at all, durably: after a crash it is the old or the new one. Raises `StorageError`."""
    _replace(Path(path), (data,))


def _replace(path: Path, chunks: Iterable[bytes]) -> None:
    """Write beside `path` and rename. The name beside it is fixed, so that a killed writer leaves no second file."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        with _locked(temporary) as file:
            try:
                for chunk in chunks:
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
                os.replace(temporary, path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        _sync_folder(path.parent)
    except BlockingIOError:
        raise StorageError(f"{path}: another process is writing it; wait for it to end") from None
    except OSError as exc:
        raise _storage_error(path, exc) from None


def _locked(path: Path) -> BinaryIO:
    """Open an empty file for this process alone; BlockingIOError where another one has it."""
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "wb")
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                os.ftruncate(file.fileno(), 0)
                return file
            file.close()  # the writer before us renamed it between our two calls
        except BaseException:
            file.close()
            raise


def _sync_folder(folder: Path) -> None:
    """Make a rename durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _storage_error(path: str | Path, exc: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be written: {exc.strerror or exc}; make room or choose another folder")


def open_append(path: str | Path) -> BinaryIO:
    """Open a JSON lines file for `append_line`, creating it; a last line that a crash cut off is dropped first.

    Raises `StorageError`.
    """
    try:
        drop_torn_line(path)
        return open(path, "ab", buffering=0)
    except OSError as exc:
        raise _storage_error(path, exc) from None


def drop_torn_line(path: str | Path) -> int:
    r"""Remove what stands after the last "\n", the trace of a crash within `append_line`; return the bytes removed."""
    if not os.path.exists(path):
        return 0
    with open(path, "r+b") as file:
        size = end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            file.truncate(end)
        return size - end


def append_line(file: BinaryIO, record: Any, *, sync: bool = False) -> None:
    """Append one record and hand it to the system; with `sync`, to the disk.

    `file` comes from `open_append`. When the disk is full the half line is taken back, so that the file stays whole, and
    `StorageError` is raised.
    """
    line = memoryview(dump_line(record))
    descriptor = file.fileno()
    start: int | None = None
    try:
        start = os.fstat(descriptor).st_size
        while line:
            line = line[os.write(descriptor, line) :]
        if sync:
            os.fsync(descriptor)
    except OSError as exc:
        if start is not None and os.fstat(descriptor).st_size > start:
            os.ftruncate(descriptor, start)
        raise _storage_error(getattr(file, "name", "the file"), exc) from None
