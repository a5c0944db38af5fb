"""Asking a provider well: a limit that yields to overload and recovers, and bounded, named, jittered retries."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from exe.errors import TransientError
from exe.records import Completion
from runners.models.base import Model, Overloaded, Request

T = TypeVar("T")


class Stopped(Exception):
    """The run is ending; this question was given up and leaves no attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """At most `retries` further tries, after base·2ⁿ seconds (capped, jittered) or what the server asks if longer.

    Being turned away for overload is counted apart, up to `overloads`: it says that we ask too fast, not that anything
    is broken, and the limiter is slowing down meanwhile.
    A server that asks for more than `longest` seconds is not waited for: the attempt fails and a resumed run asks again.
    """

    retries: int = 5
    overloads: int = 20
    base: float = 0.5
    cap: float = 30.0
    longest: float = 300.0
    timeout: float = 600.0  # seconds a try, from sending to the last byte

    def wait(self, tries: int, retry_after: float | None, draw: Callable[[], float]) -> float:
        """Seconds to wait after `tries` tries (≥ 1); `draw` gives numbers in [0, 1)."""
        backoff = min(self.cap, self.base * 2.0 ** (tries - 1)) * (0.5 + draw() / 2)
        return backoff if retry_after is None else max(backoff, retry_after + self.base * draw())


class Limiter:
    """How many requests may be in flight: additive increase, multiplicative decrease (as TCP does).

    An overload halves the limit, once for all requests that were in flight together; each success adds 1/limit, so
    that a whole round of successes adds one. Never below 1, never above `maximum`.
    """

    def __init__(self, maximum: int, clock: Callable[[], float] = time.monotonic) -> None:
        if maximum < 1:
            raise ValueError(f"concurrency must be at least 1: {maximum}")
        self.maximum = maximum
        self.limit = float(maximum)
        self.in_flight = 0
        self._clock = clock
        self._cut_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> float:
        """Wait for a place; returns the time at which it was had, to be given to `overloaded`."""
        while self.in_flight >= int(self.limit):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._wake()
                raise
        self.in_flight += 1
        return self._clock()

    def release(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._wake()

    def succeeded(self) -> None:
        """A request was answered: room for a little more."""
        self.limit = min(float(self.maximum), self.limit + 1 / self.limit)
        self._wake()

    def overloaded(self, started: float) -> None:
        """A request that began at `started` was turned away for overload."""
        if started > self._cut_at:
            self.limit = max(1.0, self.limit / 2)
            self._cut_at = self._clock()

    def _wake(self) -> None:
        free = int(self.limit) - self.in_flight
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


class Asker:
    """Asks one model under one limiter. `on_retry` hears (reason, seconds to wait) before each wait."""

    def __init__(
        self,
        model: Model,
        limiter: Limiter,
        policy: RetryPolicy,
        stopping: asyncio.Event,
        on_retry: Callable[[str, float], None] = lambda _reason, _wait: None,
    ) -> None:
        self._model, self._limiter, self._policy = model, limiter, policy
        self._stopping, self._on_retry = stopping, on_retry
        self._random = random.Random()

    async def ask(self, request: Request) -> Completion:
        """The completion, with its number of retries.

        Raises Stopped when the run ends meanwhile, TransientError (the last) when the retries are used up, and at once
        what no retry can mend: RequestError, AuthError, ModelUnavailable.
        """
        completion, tries = await self.insist(lambda: self._once(request))
        return replace(completion, retries=tries)

    async def insist(self, call: Callable[[], Awaitable[T]]) -> tuple[T, int]:
        """What a call gives, repeated under the policy where it fails for the moment, and how often it was repeated.

        Raises as `ask` does.
        """
        tries = overloads = 0
        while True:
            if self._stopping.is_set():
                raise Stopped
            try:
                return await call(), tries
            except TransientError as error:
                tries, overloads = tries + 1, overloads + isinstance(error, Overloaded)
                spent = overloads > self._policy.overloads or tries - overloads > self._policy.retries
                asked = error.retry_after
                if spent or (asked is not None and asked > self._policy.longest):
                    raise
                wait = self._policy.wait(tries, asked, self._random.random)
                self._on_retry(str(error), wait)
                await self.pause(wait)

    async def _once(self, request: Request) -> Completion:
        started = await self._limiter.acquire()
        try:
            if self._stopping.is_set():
                raise Stopped
            async with asyncio.timeout(self._policy.timeout):
                completion = await self._model.complete(request)
        except TimeoutError:
            raise TransientError(f"{self._model.name} did not finish within {self._policy.timeout:g} s") from None
        except Overloaded:
            self._limiter.overloaded(started)
            raise
        finally:
            self._limiter.release()
        self._limiter.succeeded()
        return completion

    async def pause(self, seconds: float) -> None:
        """Wait. Raises Stopped when the run ends meanwhile."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped
