"""Shards → the run that they are parts of: the same files as if one process had asked everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from exe import codec
from exe.errors import IncompleteError, InputError, StorageError, UsageError
from exe.records import Attempt, Case, Json
from exe.taskset import TaskSet
from runners import results
from runners.lock import Locked, exclusive
from runners.results import Shard
from runners.scorefile import planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """All shards of one run by their number, and the folder that the whole run has."""

    folder: Path
    of: int
    shards: dict[int, Path]
    described: dict[str, Json]  # what the shards' run.json have in common: the identity of the whole run


def find_parts(root: Path) -> list[Parts]:
    """The sharded runs below a folder. Raises InputError for shards that cannot be of one run."""
    found: dict[Path, Parts] = {}
    for path in sorted(root.rglob(results.RUN)):
        described = results.read_run(path.parent)
        shard = results.shard_of(described)
        if shard is None:
            continue
        folder = results.whole_folder(path.parent)
        whole = {name: value for name, value in described.items() if name not in ("shard", "environments")}
        parts = found.setdefault(folder, Parts(folder=folder, of=shard.of, shards={}, described=whole))
        if (parts.described, parts.of) != (whole, shard.of) or shard.number in parts.shards:
            raise InputError(f"{path.parent} is no shard of the same run as {next(iter(parts.shards.values()))}")
        parts.shards[shard.number] = path.parent
    return list(found.values())


def merge(parts: Parts, taskset: TaskSet) -> Path:
    """Write the whole run beside its shards and return its folder; a merge that is repeated writes the same again.

    Raises IncompleteError where a shard is missing or not finished (nothing is written), UsageError while a shard or the whole
    is being written.
    """
    missing = [number for number in range(1, parts.of + 1) if number not in parts.shards]
    if missing:
        names = ", ".join(str(Shard(number, parts.of)) for number in missing)
        raise IncompleteError(f"{parts.folder}: no run of shard {names} is here yet")
    cases, samples = planned(parts.described, taskset, parts.folder)
    try:
        parts.folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make {parts.folder}: {error.strerror}") from None
    with ExitStack() as held:
        for folder in (parts.folder, *parts.shards.values()):
            try:
                held.enter_context(exclusive(folder / results.LOCK, wait=False))
            except Locked:
                raise UsageError(f"{folder} is being written; merge when that has ended") from None
        codec.write_jsonl(parts.folder / results.ATTEMPTS, _attempts(parts, cases, samples))
        results.write_object(
            parts.folder / results.RUN, {**parts.described, "environments": _environments(parts.shards)}
        )
        if timing := _timing(parts.shards):
            results.write_object(parts.folder / results.TIMING, timing)
    return parts.folder


def _attempts(parts: Parts, cases: tuple[Case, ...], samples: int) -> Iterator[Attempt]:
    """The attempts of all shards in the order of the plan, each shard read once from beginning to end."""
    files = {number: results.read_attempts(path / results.ATTEMPTS) for number, path in parts.shards.items()}
    for index, case in enumerate(cases):
        number = index % parts.of + 1
        for sample in range(samples):
            attempt = next(files[number], None)
            if attempt is None or (attempt.case, attempt.sample) != (case.id, sample) or attempt.verdict == "failed":
                raise IncompleteError(
                    f"{parts.shards[number]}: shard {Shard(number, parts.of)} is not finished; its own command resumes it"
                )
            yield attempt


def _environments(shards: dict[int, Path]) -> list[Json]:
    """Where the shards ran, each place once."""
    found: list[Json] = []
    for _, folder in sorted(shards.items()):
        found += [one for one in results.read_run(folder).get("environments", []) if one not in found]
    return found


def _timing(shards: dict[int, Path]) -> dict[str, Json]:
    """The sums of the shards' times and counts."""
    total: dict[str, Json] = {}
    for folder in shards.values():
        if (folder / results.TIMING).exists():
            for name, value in results.read_object(folder / results.TIMING).items():
                total[name] = total.get(name, 0) + value
    return total
