"""The loop: planned attempts through a bounded set of workers to a results folder, resumable at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exe.errors import IncompleteError, InputError, StorageError, UsageError
from exe.records import Json
from exe.taskset import TaskSet
from runners import environment, results
from runners.batch import FILE as BATCHES
from runners.batch import BatchLoop, read_journal
from runners.estimate import Estimate, estimate
from runners.job import Job, RunSettings, prepare
from runners.lock import Locked, exclusive
from runners.loop import Loop, Progress, Tally
from runners.models.base import Model
from runners.results import AttemptLog
from runners.score import Score
from runners.scorefile import score_run

__all__ = ["Progress", "RunSettings", "RunSummary", "run", "run_folder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """How a run ended; an incomplete score has `failed` attempts, and the same command asks them again."""

    folder: Path
    planned: int
    asked: int
    reused: int
    retries: int
    seconds: float
    score: Score


def run(
    model: Model,
    taskset: TaskSet,
    settings: RunSettings,
    out_dir: Path,
    progress: Callable[[Progress], None] = lambda _now: None,
    ahead: Callable[[Estimate], None] = lambda _estimate: None,
    judge: Model | None = None,
) -> RunSummary:
    """Measure `model` on `taskset` below `out_dir`, resuming what is there; closes the model and the judge of messages.

    `ahead` is told once what is left to ask, before the first question.

    Raises UsageError (nothing to ask, or another process writes this run), AuthError and ModelUnavailable (at once, or
    when a dead server used up its retries), IncompleteError (too many failures in a row), StorageError,
    KeyboardInterrupt (after SIGINT or SIGTERM; what was in flight got up to 10 s). In each case every finished attempt
    is on disk and the same call resumes.
    """
    job = prepare(model, taskset, settings, judge)
    folder = run_folder(out_dir, job)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make {folder}: {error.strerror}") from None
    try:
        with exclusive(folder / results.LOCK, wait=False):
            _record_run(folder, job)
            tally = asyncio.run(_session(job, folder, progress, ahead))
            score = score_run(folder, taskset, job.settings.ks)
    except Locked:
        raise UsageError(f"another process is writing {folder}; wait for it, or use another --out") from None
    return RunSummary(
        folder=folder,
        planned=len(job.plan),
        asked=tally.asked,
        reused=tally.reused,
        retries=tally.retries,
        seconds=time.monotonic() - tally.started,
        score=score,
    )


def run_folder(out_dir: Path, job: Job) -> Path:
    """`<set>/<model>/<run>` below `out_dir`, each a slug whose hash tells what the words leave out; a shard says which it is."""
    settings = job.settings
    words = [settings.style, f"n{settings.samples}"]
    words += [f"limit{settings.limit}"] if settings.limit is not None else []
    words += [f"t{settings.temperature:g}"] if settings.temperature is not None else []
    whole = {name: value for name, value in job.identity.items() if name != "shard"}
    name = results.slug("-".join(words), results.digest(whole))
    return (
        out_dir
        / results.slug(job.taskset.name, job.taskset.sha256)
        / results.slug(job.model.name, results.digest(job.model.settings))
        / (name if settings.shard is None else f"{name}-shard-{settings.shard.number}-of-{settings.shard.of}")
    )


def _record_run(folder: Path, job: Job) -> None:
    """Write run.json, or add this environment to the one that is there."""
    path = folder / results.RUN
    here = {**environment.describe(), "prices": job.tariff.settings if job.tariff is not None else None}
    known: list[Json] = []
    if path.exists():
        found = results.read_object(path)
        if {key: found.get(key) for key in job.identity} != job.identity:
            raise InputError(f"{path} describes another run; move the folder away")
        known = found.get("environments", [])
    if here not in known:
        results.write_object(path, {**job.identity, "environments": [*known, here]})


async def _session(
    job: Job, folder: Path, progress: Callable[[Progress], None], ahead: Callable[[Estimate], None]
) -> Tally:
    """Resume, ask what is missing, sort. The log and the model are closed on every way out."""
    tally = Tally(len(job.plan))
    log = AttemptLog(folder / results.ATTEMPTS, job.plan)
    try:
        for attempt in log.recover(job.request_sha256):
            tally.add(attempt, fresh=False)
        ahead(estimate(job, log.count_missing()))
        loop = _loop(job, log, tally, progress)
        with _signals(loop.stop):
            await loop.drive()
        if loop.interrupted:
            raise KeyboardInterrupt
        if loop.capped and log.count_missing():
            raise IncompleteError(
                f"{loop.capped}: {len(job.plan) - log.count_missing()} of {len(job.plan)} attempts are done; "
                "the same command with a higher cap resumes"
            )
        log.finish()
    finally:
        try:
            await job.model.aclose()
        finally:
            _record_time(folder, tally)
            log.close()
            if job.judge is not None:
                await job.judge.aclose()
    return tally


def _loop(job: Job, log: AttemptLog, tally: Tally, progress: Callable[[Progress], None]) -> Loop:
    """What asks. Raises UsageError where a batch is at work and none is wanted: its answers are paid for."""
    if job.settings.batch:
        return BatchLoop(job, log, tally, progress)
    if read_journal(log.path.with_name(BATCHES)).open:
        raise UsageError(f"{log.path.parent}: a batch of this run is at work; the same command with --batch fetches it")
    return Loop(job, log, tally, progress)


def _record_time(folder: Path, tally: Tally) -> None:
    """Add this session to timing.json: wall-clock seconds live outside the files that identify and score a run."""
    path = folder / results.TIMING
    if not tally.asked:
        return
    with contextlib.suppress(StorageError, InputError):  # a time that cannot be noted must not hide how the run ended
        before = results.read_object(path) if path.exists() else {}
        results.write_object(
            path,
            {
                "seconds": round(float(before.get("seconds", 0.0)) + time.monotonic() - tally.started, 3),
                "sessions": int(before.get("sessions", 0)) + 1,
                "asked": int(before.get("asked", 0)) + tally.asked,
            },
        )


@contextlib.contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM call `stop` while this lasts; off the main thread they are left as they are."""
    loop = asyncio.get_running_loop()
    caught = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
            loop.add_signal_handler(number, stop)
            caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
