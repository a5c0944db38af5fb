"""A run by the provider's batches: what is missing goes in as one, the unreadable answers' second turn as another.

`batches.jsonl` in the run folder says which batches are at work, so that a run that was killed fetches them and submits nothing
twice: {"mark", "round", "positions"} before a batch is handed in, {"mark", "batch"} once it is, {"mark", "closed"} when all that it
gave is on disk; {"position", "first"} is an answer that nobody could read, kept for its second turn. A file that is closed
throughout is history.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from exe import codec
from exe.errors import IncompleteError, InputError, ModelError, TransientError, UsageError
from exe.records import Completion, Json
from runners import attempts
from runners.asking import Stopped
from runners.estimate import estimate
from runners.job import Job
from runners.loop import Loop, Progress, Tally, repair_request
from runners.models.base import Request
from runners.models.batching import MAX_BYTES, MAX_REQUESTS, Batches, Batching
from runners.results import AttemptLog

FILE = "batches.jsonl"
POLL_GROWTH = 1.5


@dataclass(slots=True)
class Handed:
    """One batch: its mark, which turn of a conversation it asks, and at which positions; `batch` None until it has an id."""

    mark: str
    round: int
    positions: list[int]
    batch: str | None = None


@dataclass(slots=True)
class Journal:
    """What `batches.jsonl` says: the batches that are open, and the answers that wait for their second turn."""

    path: Path
    open: dict[str, Handed] = field(default_factory=dict)
    first: dict[int, Completion] = field(default_factory=dict)

    def note(self, row: dict[str, Json]) -> None:
        """One more line, on disk before anything follows from it."""
        with codec.open_append(self.path) as file:
            codec.append_line(file, row, sync=True)


def read_journal(path: Path) -> Journal:
    """The journal of a run folder, empty where there is none. Raises InputError."""
    found = Journal(path)
    if not path.exists():
        return found
    codec.drop_torn_line(path)
    for where, row in codec.read_json_lines(path):
        try:
            if "first" in row:
                found.first[int(row["position"])] = codec.from_json(Completion, row["first"], where)
            elif "positions" in row:
                found.open[row["mark"]] = Handed(row["mark"], int(row["round"]), list(map(int, row["positions"])))
            elif "closed" in row:
                found.open.pop(row["mark"], None)
            else:
                found.open[row["mark"]].batch = str(row["batch"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{where}: no line of a journal of batches ({error}); remove it") from None
    return found


class BatchLoop(Loop):
    """The same run with batches in place of single requests: submit, wait, fetch, for each of two turns."""

    def __init__(self, job: Job, log: AttemptLog, tally: Tally, progress: Callable[[Progress], None]) -> None:
        super().__init__(job, log, tally, progress)
        if not isinstance(job.model, Batching):
            raise UsageError(f"{job.model.name} takes no batches; leave out --batch")
        self._batches: Batches = job.model.batches
        self._journal = read_journal(log.path.with_name(FILE))

    async def drive(self) -> None:
        """Both turns. Raises IncompleteError where a batch as a whole gives nothing."""
        try:
            await self._adopt()
            await self._judge_again()
            for turn in (1, 2):
                await self._submit(turn)
                for handed in [one for one in self._journal.open.values() if one.round == turn]:
                    await self._wait(handed)
                    await self._fetch(handed)
        except Stopped:
            return

    async def _judge_again(self) -> None:
        """Attempts that only their judge has failed need no batch."""
        for position in list(self._log.missing()):
            kept = self._log.answered(position)
            if kept is not None:
                case, sample = self._job.plan.at(position)
                sha256 = self._job.request_sha256(case, sample)
                attempt, answer = attempts.judged(case, sample, sha256, kept, self._job.taskset.manifest)
                self._record(await self._decided(attempt, answer, case, self._tally.successes))

    def _within_caps(self, count: int) -> None:
        """A batch cannot be stopped at a cap: what so many requests may come to at most has to fit. Raises UsageError."""
        settings = self._job.settings
        ahead = estimate(self._job, count)
        spent = self._tally.cost or 0.0
        if settings.max_cost is not None and (ahead.most_usd is None or spent + ahead.most_usd > settings.max_cost):
            most = "nobody knows how much" if ahead.most_usd is None else f"${spent + ahead.most_usd:.4f}"
            raise UsageError(f"--max-cost {settings.max_cost:g}: this batch may come to {most}; take a --limit")
        used = self._tally.tokens["input"] + self._tally.tokens["output"] + ahead.input_tokens
        cap = settings.max_total_tokens
        if cap is not None and (ahead.output_tokens is None or used + ahead.output_tokens > cap):
            raise UsageError(f"--max-total-tokens {cap}: this batch may take more; take a --limit")

    async def _adopt(self) -> None:
        """Batches that were handed in when the process died: theirs is the id that goes with the mark, if there is one."""
        for handed in list(self._journal.open.values()):
            if handed.batch is None:
                found, _ = await self._asker.insist(partial(self._batches.find, handed.mark))
                self._close(handed, "never handed in") if found is None else self._accepted(handed, found)

    async def _submit(self, turn: int) -> None:
        """Hand in what this turn still has to ask and no open batch asks already."""
        asked = {position for handed in self._journal.open.values() for position in handed.positions}
        wanted = (position for position in list(self._log.missing()) if position not in asked)
        second = self._journal.first
        chosen = [position for position in wanted if (position in second) == (turn == 2)]
        self._within_caps(len(chosen))
        for positions, entries in _parts(self._entries(chosen, turn)):
            handed = Handed(uuid.uuid4().hex, turn, positions)
            self._journal.open[handed.mark] = handed
            self._journal.note({"mark": handed.mark, "round": turn, "positions": positions})
            self._accepted(handed, await self._hand_in(entries, handed.mark))

    async def _hand_in(self, entries: list[dict[str, Json]], mark: str) -> str:
        sent = False

        async def call() -> str:
            nonlocal sent
            known = await self._batches.find(mark) if sent else None  # the try before may have come through
            sent = True
            return known if known is not None else await self._batches.submit(entries, mark)

        batch, _ = await self._asker.insist(call)
        return batch

    def _accepted(self, handed: Handed, batch: str) -> None:
        handed.batch = batch
        self._journal.note({"mark": handed.mark, "batch": batch})

    def _close(self, handed: Handed, why: str) -> None:
        self._journal.open.pop(handed.mark, None)
        self._journal.note({"mark": handed.mark, "closed": why})

    def _entries(self, positions: Iterable[int], turn: int) -> Iterator[tuple[int, dict[str, Json]]]:
        for position in positions:
            yield position, self._batches.entry(self._name(position, turn), self._request(position, turn))

    def _request(self, position: int, turn: int) -> Request:
        """The question of a turn: the plain one, or the one with the answer that could not be read."""
        case, sample = self._job.plan.at(position)
        request = self._job.request(case, sample)
        if turn == 1:
            return request
        first = self._journal.first[position]
        _, answer = attempts.judged(case, sample, "", (first, None), self._job.taskset.manifest)
        return repair_request(request, first, answer)

    def _name(self, position: int, turn: int) -> str:
        """What a request is called in its batch: a result that is not of this very question is not taken for it."""
        case, sample = self._job.plan.at(position)
        return f"{position}-{turn}-{self._job.request_sha256(case, sample)[:32]}"

    async def _wait(self, handed: Handed) -> None:
        """Until a batch has ended. Raises IncompleteError where it failed as a whole, Stopped."""
        batch = handed.batch or ""
        seconds = self._job.settings.poll
        while True:
            state, _ = await self._asker.insist(lambda: self._batches.state(batch))
            self._tally.note = state.note
            self._progress(self._tally.now(self._limiter))
            if state.failure:
                self._close(handed, state.failure)
                raise IncompleteError(f"batch {batch} failed: {state.failure}; the same command hands it in again")
            if state.ended:
                return
            await self._asker.pause(seconds)
            seconds = min(seconds * POLL_GROWTH, max(60.0, self._job.settings.poll))

    async def _fetch(self, handed: Handed) -> None:
        """Write down what became of each request; one that the provider says nothing of is failed."""
        names = {self._name(position, handed.round): position for position in handed.positions}
        done = {position for position in handed.positions if not self._log.is_missing(position)}
        done |= set(self._journal.first) if handed.round == 1 else set()
        async for name, result in self._all_results(handed.batch or ""):
            position = names.get(name)
            if position is not None and position not in done:
                done.add(position)
                await self._take(position, handed.round, result)
        for position in handed.positions:
            if position not in done:
                lost = TransientError(f"batch {handed.batch} holds no result for this request")
                await self._take(position, handed.round, lost)
        self._close(handed, "fetched")

    async def _all_results(self, batch: str) -> AsyncIterator[tuple[str, Completion | ModelError]]:
        """All results of a batch, read again from the start where the connection breaks."""

        async def read() -> list[tuple[str, Completion | ModelError]]:
            return [result async for result in self._batches.results(batch)]

        results, _ = await self._asker.insist(read)
        for result in results:
            yield result

    async def _take(self, position: int, turn: int, result: Completion | ModelError) -> None:
        """One result: kept for its second turn, or the attempt that it makes."""
        case, sample = self._job.plan.at(position)
        sha256 = self._job.request_sha256(case, sample)
        if isinstance(result, ModelError):
            self._record(attempts.failed(case, sample, sha256, result))
            return
        said = self._priced(result)
        completions = (said, None) if turn == 1 else (self._journal.first[position], said)
        attempt, answer = attempts.judged(case, sample, sha256, completions, self._job.taskset.manifest)
        if turn == 1 and attempt.verdict == "unparseable" and self._job.settings.repair:
            self._journal.first[position] = said
            self._journal.note({"position": position, "first": codec.to_json(said)})
            return
        self._record(await self._decided(attempt, answer, case, self._tally.successes))
        self._journal.first.pop(position, None)


def _parts(entries: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    """Entries in batches that providers take."""
    positions: list[int] = []
    part: list[dict[str, Any]] = []
    size = 0
    for position, entry in entries:
        weight = len(json.dumps(entry))
        if part and (len(part) >= MAX_REQUESTS or size + weight > MAX_BYTES):
            yield positions, part
            positions, part, size = [], [], 0
        positions.append(position)
        part.append(entry)
        size += weight
    if part:
        yield positions, part
