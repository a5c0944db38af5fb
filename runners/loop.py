"""The workers of one session: pull a missing attempt, ask, grade, write, count; stop when told or when it is hopeless."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from exe.errors import IncompleteError, ModelUnavailable, RequestError, TransientError
from exe.records import Answer, Attempt, Case, Completion, Message
from runners import attempts, prices, prompt
from runners.asking import Asker, Limiter, Stopped
from runners.job import Job
from runners.judge import FILE as JUDGEMENTS
from runners.judge import Judge, JudgeFailed, rulings
from runners.models.base import Request, Unreachable, clean
from runners.results import AttemptLog

GRACE_SECONDS = 10.0
MIN_STREAK = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A moment of a run, as shown. Tokens and cost are of the whole run, earlier sessions included."""

    done: int
    planned: int
    failed: int
    reused: int
    retries: int
    in_flight: int
    limit: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    seconds: float
    note: str = ""  # why the last retry happened


class Tally:
    """The running totals of a session; retries are this session's, the rest is the whole run's."""

    def __init__(self, planned: int) -> None:
        self.planned, self.reused, self.asked, self.retries = planned, 0, 0, 0
        self.verdicts: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.cost: float | None = None
        self.rulings: set[str] = set()  # of the judge: each is paid once
        self.unpriced = 0  # completions whose cost nobody knows
        self.streak = 0  # attempts in a row that failed on the way to the model
        self.successes = 0
        self.note = ""
        self.started = time.monotonic()

    def add(self, attempt: Attempt, *, fresh: bool) -> None:
        self.verdicts[attempt.verdict] += 1
        self.asked += fresh
        self.reused += not fresh
        for completion in (attempt.completion, attempt.repair):
            if completion is not None:
                self.tokens.update({name: count for name, count in completion.usage.items() if count})
                if completion.cost_usd is not None:
                    self.cost = (self.cost or 0.0) + completion.cost_usd
                else:
                    self.unpriced += 1
        if attempt.judge is not None and attempt.judge["of"] not in self.rulings:
            self.rulings.add(attempt.judge["of"])
            self.tokens.update({name: count for name, count in attempt.judge["usage"].items() if count})
            if attempt.judge["cost_usd"] is not None:
                self.cost = (self.cost or 0.0) + attempt.judge["cost_usd"]
            else:
                self.unpriced += 1

    def over(self, max_cost: float | None, max_total_tokens: int | None) -> str:
        """Why no further question may be asked under these caps, in words; empty while one may."""
        if max_cost is not None and self.unpriced:
            return f"{self.unpriced} answers came without a count of tokens, so that --max-cost {max_cost:g} cannot be held"
        if max_cost is not None and (self.cost or 0.0) >= max_cost:
            return f"--max-cost {max_cost:g} is reached"
        used = self.tokens["input"] + self.tokens["output"]
        if max_total_tokens is not None and used >= max_total_tokens:
            return f"--max-total-tokens {max_total_tokens} is reached ({used} used)"
        return ""

    def now(self, limiter: Limiter) -> Progress:
        return Progress(
            done=sum(self.verdicts.values()),
            planned=self.planned,
            failed=self.verdicts["failed"],
            reused=self.reused,
            retries=self.retries,
            in_flight=limiter.in_flight,
            limit=int(limiter.limit),
            input_tokens=self.tokens["input"],
            output_tokens=self.tokens["output"],
            cost_usd=self.cost,
            seconds=time.monotonic() - self.started,
            note=self.note,
        )


class Loop:
    """The workers of one session. Each pulls the next missing attempt when it is free, so none waits in memory."""

    def __init__(self, job: Job, log: AttemptLog, tally: Tally, progress: Callable[[Progress], None]) -> None:
        self._job, self._log, self._tally, self._progress = job, log, tally, progress
        assert job.settings.concurrency is not None
        self._limiter = Limiter(job.settings.concurrency)
        self._stopping = asyncio.Event()
        self._asker = Asker(job.model, self._limiter, job.settings.policy, self._stopping, self._retried)
        self._judge = self._open_judge()
        self._todo = log.missing()
        self._tasks: list[asyncio.Task[None]] = []
        self.interrupted = False
        self.capped = ""  # why a budget ended the run

    def stop(self) -> None:
        """Ask nothing more; called again, give up what is in flight."""
        if self.interrupted:
            for task in self._tasks:
                task.cancel()
        self.interrupted = True
        self._stopping.set()

    async def drive(self) -> None:
        """Work until nothing is missing, a worker raises, or `stop`. Raises what the worker raised."""
        count = min(self._limiter.maximum, self._log.count_missing())
        self._tasks = [asyncio.create_task(self._work()) for _ in range(count)]
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            pending: set[asyncio.Task[None]] = set(self._tasks)
            while pending and not self._stopping.is_set():
                done, _ = await asyncio.wait({*pending, stopped}, return_when=asyncio.FIRST_COMPLETED)
                pending -= done
                for task in done - {stopped}:
                    task.result()
            if pending:
                done, _ = await asyncio.wait(pending, timeout=GRACE_SECONDS)
                for task in done:
                    if not task.cancelled():
                        task.result()
        finally:
            for task in (*self._tasks, stopped):
                task.cancel()
            await asyncio.gather(*self._tasks, stopped, return_exceptions=True)

    def _open_judge(self) -> Judge | None:
        """The judge, asked under a limit of its own."""
        job = self._job
        if job.judge is None:
            return None
        path = (
            self._log.path.parents[2] / JUDGEMENTS
        )  # beside the models of this set: a ruling is worth as much for the next
        asker = Asker(job.judge, Limiter(self._limiter.maximum), job.settings.policy, self._stopping, self._retried)
        temperature = None if job.settings.temperature is None else 0.0
        known = rulings(path, job.judge)
        tariff = prices.tariff(job.judge.settings)
        return Judge(model=job.judge, asker=asker, path=path, tariff=tariff, temperature=temperature, known=known)

    async def _work(self) -> None:
        for position in self._todo:
            self.capped = self.capped or self._tally.over(
                self._job.settings.max_cost, self._job.settings.max_total_tokens
            )
            if self.capped:
                return  # what the other workers have in flight is paid for: they finish it
            try:
                attempt = await self._attempt(position)
            except Stopped:
                return
            self._record(attempt)
            if self._stopping.is_set():
                return
            await asyncio.sleep(0)  # models that answer without waiting must not keep signals from being heard

    async def _attempt(self, position: int) -> Attempt:
        """One attempt with its verdict. Raises what ends the run."""
        case, sample = self._job.plan.at(position)
        request = self._job.request(case, sample)
        sha256 = request.sha256(self._job.model.settings)
        successes = self._tally.successes
        manifest = self._job.taskset.manifest
        try:
            if (kept := self._log.answered(position)) is None:
                attempt, answer = await self._answered(request, case, sha256)
            else:
                attempt, answer = attempts.judged(case, sample, sha256, kept, manifest)
        except (TransientError, RequestError) as error:
            self._failed(error, successes)
            return attempts.failed(case, sample, sha256, error)
        return await self._decided(attempt, answer, case, successes)

    async def _decided(self, attempt: Attempt, answer: Answer, case: Case, successes: int) -> Attempt:
        """The attempt as it stands, by the judge where the rules leave something to decide. Raises what ends the run."""
        messages = attempts.undecided(attempt, answer, case, self._job.taskset.manifest)
        if self._judge is not None and messages is not None:
            try:
                attempt = attempts.ruled(attempt, await self._judge.rule(messages))
            except JudgeFailed as error:
                self._failed(error, successes)
                return attempts.unjudged(attempt, error)
        self._tally.streak = 0
        self._tally.successes += 1
        return attempt

    def _record(self, attempt: Attempt) -> None:
        """On disk, then counted, then shown."""
        self._log.append(attempt)
        self._tally.add(attempt, fresh=True)
        self._progress(self._tally.now(self._limiter))

    async def _answered(self, request: Request, case: Case, sha256: str) -> tuple[Attempt, Answer]:
        """What the model says, and says once more where nobody can read it."""
        completion = await self._ask(request)
        manifest = self._job.taskset.manifest
        attempt, answer = attempts.judged(case, request.sample, sha256, (completion, None), manifest)
        if attempt.verdict == "unparseable" and self._job.settings.repair:
            repair = await self._ask(repair_request(request, completion, answer))
            return attempts.judged(case, request.sample, sha256, (completion, repair), manifest)
        return attempt, answer

    async def _ask(self, request: Request) -> Completion:
        """One question with what its answer cost."""
        return self._priced(await self._asker.ask(request))

    def _priced(self, completion: Completion) -> Completion:
        tariff = self._job.tariff
        return completion if tariff is None else replace(completion, cost_usd=tariff.cost(completion.usage))

    def _failed(self, error: TransientError | RequestError, successes_before: int) -> None:
        """Decide whether this failure ends the run: a dead server, or too many failures in a row."""
        if not self._job.model.traits.remote and not isinstance(error, JudgeFailed):
            return
        quiet = self._tally.successes == successes_before
        if isinstance(error, Unreachable) and quiet:
            raise ModelUnavailable(f"{error}; is the server running? The same command resumes") from None
        self._tally.streak += 1
        if self._tally.streak >= max(MIN_STREAK, 2 * self._limiter.maximum):
            raise IncompleteError(
                f"{self._tally.streak} attempts in a row failed, the last one because {error}; the same command resumes"
            ) from None

    def _retried(self, reason: str, wait: float) -> None:
        self._tally.retries += 1
        self._tally.note = f"{clean(reason, limit=120)}; again in {wait:.1f} s"
        self._progress(self._tally.now(self._limiter))


def repair_request(request: Request, completion: Completion, answer: Answer) -> Request:
    """The same conversation with the unreadable answer and the parse error added."""
    said = Message(role="assistant", content=completion.text if completion.text.strip() else "(no text)")
    return replace(
        request, messages=(*request.messages, said, prompt.repair_message(answer.reason or "no answer found"))
    )
