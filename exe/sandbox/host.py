"""The host's half of the sandbox: keeps workers busy, trusts only well-formed replies, replaces workers that die.

Single-threaded: one selector loop, run by whoever waits for an outcome. A worker dies with the thread that started
it, so a `Sandbox` must be entered in a thread that outlives it.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from exe.errors import SandboxError
from exe.records import Job, Outcome
from exe.sandbox import calls, frames, isolation, replies
from exe.sandbox.isolation import Isolation
from exe.sandbox.limits import Limits, Preload, surroundings

__all__ = ["Limits", "Preload", "Sandbox"]

_IN_FLIGHT = 2  # jobs a worker holds: one running, one waiting in its pipe
_WINDOW = 8  # jobs taken from the caller ahead of the oldest unfinished one, a worker
_TRIES = 3  # times a call may take its worker down
_STARTS = 3  # times in a row a worker may die before it is ready
_READY_SECONDS = 30.0
_PATIENCE = 4  # a busy process on a busy machine gets that many times its wall-clock limit (see the worker)
_GRACE_SECONDS = 10.0  # on top of a call's own wall-clock limit


class _Work:
    """One job under way. `done` grows by one outcome a call; calls that are answered are not asked again."""

    def __init__(self, number: int, job: Job) -> None:
        self.number = number
        self.job = job
        self.done: list[Outcome] = []
        self.deaths = 0
        self.abandoned = False

    @property
    def finished(self) -> bool:
        return len(self.done) == len(self.job.calls)


class _Worker:
    """One process behind the walls and what it is asked to do."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: str, hello: bytes, limit: int) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
            process_group=0,  # Ctrl-C reaches the host alone, which then ends the worker
        )
        self.requests, self.replies, self.complaints = (
            stream.fileno()
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr)
            if stream is not None
        )
        for descriptor in (self.requests, self.replies, self.complaints):
            os.set_blocking(descriptor, False)
        self.reader = frames.Reader(limit)
        self.unsent = bytearray(hello)
        self.work: deque[_Work] = deque()
        self.base = 0  # the first unanswered call of work[0] when it was sent
        self.ready = False
        self.deadline = time.monotonic() + _READY_SECONDS
        self.last_words = b""

    def close(self) -> None:
        """End the process and everything in it, at once."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue  # a request that it will not read any more
        self.process.wait()


class Sandbox:
    """Workers that evaluate untrusted calls. Use as a context manager; nothing is left running after it.

    Raises IsolationError at once where no isolation can be had and `unsafe` is not given. `unsafe` means resource
    limits only. `hash_seed` fixes PYTHONHASHSEED, and with it the surroundings (see `exe/sandbox/limits.py`); None is a
    random seed. `isolation_level` takes a level found beforehand instead of probing. `preload` is executed once in each
    worker; what it raised stands in `preload_failure` after the first outcome, "" where it ran through. `python` is the
    path of another interpreter for the workers; LookupError where it is none.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        unsafe: bool = False,
        hash_seed: int | None = 0,
        isolation_level: Isolation | None = None,
        preload: Preload | None = None,
        python: str | None = None,
    ) -> None:
        self.limits = limits
        self.isolation = isolation_level or (isolation.unsafe() if unsafe else isolation.probe())
        self._size = workers if workers is not None else len(os.sched_getaffinity(0))
        if self._size < 1:
            raise ValueError("a sandbox needs at least one worker")
        around = surroundings(hash_seed)
        self._folder = isolation.folder(self.isolation, around)
        self._command = isolation.command(self.isolation, around, preload, python)
        self._environment = isolation.environment(self.isolation, around, python)
        self._hello = frames.dump(isolation.hello(self.isolation, limits, preload=preload, python=python))
        self.python = ""  # the version of CPython in the workers, once one is ready
        self.preload_failure = ""
        self.preloaded = False  # whether any worker ever became ready
        self._workers: list[_Worker] = []
        self._queue: deque[_Work] = deque()
        self._selector: selectors.BaseSelector | None = None
        self._numbers = 0
        self._failed_starts = 0
        self._looked = time.monotonic()  # when the loop last ended a turn

    def __enter__(self) -> Self:
        self._selector = selectors.DefaultSelector()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all workers and whatever runs in them."""
        for worker in self._workers:
            worker.close()
        self._workers.clear()
        self._queue.clear()
        if self._selector is not None:
            self._selector.close()
            self._selector = None

    def execute(self, jobs: Iterable[Job]) -> Iterator[tuple[Outcome, ...]]:
        """One tuple of outcomes a job, one outcome a call, in the order of the jobs.

        `jobs` is read a bounded way ahead, so it may be endless. Raises SandboxError when workers cannot be kept alive.
        """
        source = iter(jobs)
        window: deque[_Work] = deque()
        exhausted = False
        try:
            while True:
                while not exhausted and len(window) < _WINDOW * self._size:
                    job = next(source, None)
                    if job is None:
                        exhausted = True
                        break
                    window.append(self._accept(job))
                if not window:
                    return
                while not window[0].finished:
                    self._turn()
                yield tuple(window.popleft().done)
        finally:
            for work in window:
                work.abandoned = True

    def _accept(self, job: Job) -> _Work:
        if self._selector is None:
            raise SandboxError("the sandbox is closed: use it as a context manager")
        if job.cover and job.trace:
            raise ValueError(
                "branches are probed in the run that decides the outcome, metrics counted in one without probes"
            )
        if job.batch and job.trace:
            raise ValueError("a batch is not traced: what its calls leave behind would be counted")
        self._numbers += 1
        work = _Work(self._numbers, job)
        size = len(job.source.encode("utf-8", "surrogatepass")) + sum(len(call) for call in job.calls)
        if size > self.limits.source_bytes:
            detail = f"program and calls of {size} bytes, limit {self.limits.source_bytes}"
            work.done = [Outcome(status="unloadable", detail=detail) for _ in job.calls]
        elif job.calls:
            self._queue.append(work)
        return work

    def _turn(self) -> None:
        """Hand out work, wait for something to happen, deal with it."""
        if self._selector is None:
            raise SandboxError("the sandbox was closed while it worked")
        started = time.monotonic()
        for waiting in self._workers:
            waiting.deadline += started - self._looked  # the caller's own time does not count
        self._hand_out()
        timeout = max(0.0, min(worker.deadline for worker in self._workers) - time.monotonic())
        for key, events in self._selector.select(min(timeout, 1.0)):
            worker: _Worker = key.data
            if worker not in self._workers:
                continue
            if events & selectors.EVENT_WRITE:
                self._send(worker)
            if events & selectors.EVENT_READ:
                self._receive(worker, key.fd)
        self._looked = time.monotonic()
        for worker in [worker for worker in self._workers if self._looked > worker.deadline]:
            self._bury(worker, "did not answer in time")

    def _hand_out(self) -> None:
        """Give each worker up to two jobs; start workers while there is more to do than they hold."""
        while self._queue and self._queue[0].abandoned:
            self._queue.popleft()
        while self._queue:
            free = [worker for worker in self._workers if len(worker.work) < _IN_FLIGHT]
            idle = [worker for worker in free if not worker.work]
            if not idle and len(self._workers) < self._size:
                idle = [self._start()]
            if not free and not idle:
                return
            worker = (idle or free)[0]
            work = self._queue.popleft()
            if work.abandoned:
                continue
            self._assign(worker, work)
        if not self._workers:
            self._start()

    def _start(self) -> _Worker:
        assert self._selector is not None
        try:
            worker = _Worker(self._command, self._environment, self._folder, self._hello, self.limits.reply_frame)
        except OSError as error:
            raise SandboxError(f"a sandbox worker cannot be started: {error}") from error
        self._workers.append(worker)
        self._selector.register(worker.replies, selectors.EVENT_READ, worker)
        self._selector.register(worker.complaints, selectors.EVENT_READ, worker)
        self._selector.register(worker.requests, selectors.EVENT_WRITE, worker)
        return worker

    def _assign(self, worker: _Worker, work: _Work) -> None:
        """Queue the unanswered calls of a job on a worker."""
        job = work.job
        asked = [(call, _parts(call)) for call in job.calls[len(work.done) :]]
        kind = frames.Kind(
            trace=job.trace,
            batch=job.batch,
            cover=job.cover,
            witness=job.witness,
            steps=job.steps,
            cpu=job.cpu_seconds or 0.0,
        )
        request = frames.dump_job(work.number, job.source, asked, kind)
        if not worker.work:
            worker.base = len(work.done)
            worker.deadline = self._deadline(worker, work)
        worker.work.append(work)
        was_empty = not worker.unsent
        worker.unsent += frames.pack(request)
        if was_empty:
            self._send(worker)

    def _deadline(self, worker: _Worker, work: _Work) -> float:
        runs = _PATIENCE * (2 if work.job.trace else 1)
        start = 0.0 if worker.ready else _READY_SECONDS
        return time.monotonic() + start + runs * self.limits.wall_seconds + _GRACE_SECONDS

    def _send(self, worker: _Worker) -> None:
        """Write what the pipe takes; ask to be told when it takes more."""
        assert self._selector is not None
        try:
            while worker.unsent:
                sent = os.write(worker.requests, memoryview(worker.unsent)[: 1 << 16])
                del worker.unsent[:sent]
        except BlockingIOError:
            if worker.requests not in self._selector.get_map():
                self._selector.register(worker.requests, selectors.EVENT_WRITE, worker)
            return
        except BrokenPipeError:
            self._bury(worker, "closed its input")
            return
        if worker.requests in self._selector.get_map():
            self._selector.unregister(worker.requests)

    def _receive(self, worker: _Worker, descriptor: int) -> None:
        assert self._selector is not None
        try:
            data = os.read(descriptor, frames.READ_SIZE)
        except BlockingIOError:
            return
        if descriptor == worker.complaints:
            worker.last_words = (worker.last_words + data)[-2000:]
            if not data:
                self._selector.unregister(descriptor)
            return
        if not data:
            self._bury(worker, "ended")
            return
        worker.reader.feed(data)
        try:
            for payload in worker.reader.frames():
                self._reply(worker, payload)
        except frames.FrameError as error:
            self._bury(worker, str(error))

    def _reply(self, worker: _Worker, payload: bytes) -> None:
        """One frame of a worker: ready, or the outcome of the next call of the job it works on."""
        if not worker.ready:
            ready = frames.load(payload)
            if ready.get("ready") is not True or (ready.get("seccomp") is True) != self.isolation.seccomp:
                raise frames.FrameError("the worker did not raise its walls")
            worker.ready = True
            self.preloaded = True
            self.python = str(ready.get("python", ""))
            self.preload_failure = str(ready.get("preload", ""))
            self._failed_starts = 0
            return
        if not worker.work:
            raise frames.FrameError("a reply that nobody asked for")
        work = worker.work[0]
        outcome = replies.read(payload, work.number, len(work.done) - worker.base)
        work.done.append(outcome)
        work.deaths = 0
        if work.finished:
            worker.work.popleft()
            worker.base = len(worker.work[0].done) if worker.work else 0
        if worker.work:
            worker.deadline = self._deadline(worker, worker.work[0])
        else:
            worker.deadline = float("inf")

    def _bury(self, worker: _Worker, reason: str) -> None:
        """A worker is gone: the call it was at is tried again a few times, everything else simply goes back."""
        assert self._selector is not None
        for descriptor in (worker.replies, worker.complaints, worker.requests):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        worker.close()
        self._workers.remove(worker)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= _STARTS:
                words = worker.last_words.decode("utf-8", "replace").strip().splitlines()
                raise SandboxError(f"sandbox workers do not start: {words[-1] if words else reason}")
        elif worker.work:
            work = worker.work[0]
            work.deaths += 1
            if work.deaths >= _TRIES:
                work.done.append(Outcome(status="crashed", detail=f"took its worker down {_TRIES} times: {reason}"))
                work.deaths = 0
        for work in reversed(worker.work):
            if not work.finished and not work.abandoned:
                self._queue.appendleft(work)


def _parts(call: str) -> str | None:
    return calls.split(call) if len(call) <= calls.LONGEST else None
