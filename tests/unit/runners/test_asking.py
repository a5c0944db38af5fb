from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from exe.errors import AuthError, RequestError, TransientError
from exe.records import Completion, Json
from runners.asking import Asker, Limiter, RetryPolicy, Stopped
from runners.models.base import Overloaded, Request, Traits
from tests.support.questions import question


@dataclass
class Scripted:
    """A model that raises what its script says, then answers."""

    script: list[Exception] = field(default_factory=list)
    name: str = "scripted"
    asked: int = 0
    slow: float = 0.0

    @property
    def settings(self) -> dict[str, Json]:
        return {}

    @property
    def traits(self) -> Traits:
        return Traits()

    async def complete(self, request: Request) -> Completion:
        self.asked += 1
        await asyncio.sleep(self.slow)
        if self.script:
            raise self.script.pop(0)
        return Completion(text="ok")

    async def aclose(self) -> None:
        return None


def ask(model: Scripted, policy: RetryPolicy, notes: list[tuple[str, float]] | None = None) -> Completion:
    async def once() -> Completion:
        stopping = asyncio.Event()
        heard = (
            (lambda reason, wait: notes.append((reason, wait))) if notes is not None else lambda _reason, _wait: None
        )
        return await Asker(model, Limiter(4), policy, stopping, heard).ask(question())

    return asyncio.run(once())


QUICK = RetryPolicy(retries=3, base=0.001, cap=0.002, timeout=1.0)


def test_transient_failures_are_retried_counted_and_told() -> None:
    notes: list[tuple[str, float]] = []
    model = Scripted([TransientError("once"), Overloaded("twice")])
    assert ask(model, QUICK, notes).retries == 2
    assert [reason for reason, _ in notes] == ["once", "twice"]


def test_retries_are_bounded() -> None:
    model = Scripted([TransientError(str(n)) for n in range(100)])
    with pytest.raises(TransientError, match="3"):
        ask(model, QUICK)
    assert model.asked == 4


def test_overloads_are_counted_apart_and_bounded_too() -> None:
    policy = replace(QUICK, retries=1, overloads=4)
    assert ask(Scripted([Overloaded("x"), Overloaded("x"), TransientError("x"), Overloaded("x")]), policy).retries == 4
    model = Scripted([Overloaded("x") for _ in range(100)])
    with pytest.raises(Overloaded):
        ask(model, policy)
    assert model.asked == 5


@pytest.mark.parametrize("error", [RequestError("no"), AuthError("no")])
def test_what_no_retry_can_mend_is_raised_at_once(error: Exception) -> None:
    model = Scripted([error])
    with pytest.raises(type(error)):
        ask(model, QUICK)
    assert model.asked == 1


def test_a_try_that_takes_too_long_is_transient() -> None:
    model = Scripted(slow=5.0)
    with pytest.raises(TransientError, match=r"within 0\.02 s"):
        ask(model, RetryPolicy(retries=1, base=0.001, timeout=0.02))
    assert model.asked == 2


def test_a_wait_that_is_asked_for_is_honoured_or_not_waited_for_at_all() -> None:
    policy = RetryPolicy(retries=3, base=0.5, cap=30.0)
    assert policy.wait(1, 7.0, lambda: 0.0) == 7.0
    assert 7.0 <= policy.wait(1, 7.0, lambda: 0.99) <= 7.5
    model = Scripted([TransientError("later", retry_after=10_000.0)])
    with pytest.raises(TransientError, match="later"):
        ask(model, policy)
    assert model.asked == 1


def test_waits_double_up_to_the_cap_with_jitter_down_to_half() -> None:
    policy = RetryPolicy(base=0.5, cap=3.0)
    assert [policy.wait(n, None, lambda: 1.0) for n in (1, 2, 3, 4, 50)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert [policy.wait(n, None, lambda: 0.0) for n in (1, 2, 3, 4, 50)] == [0.25, 0.5, 1.0, 1.5, 1.5]


def test_stopping_ends_a_wait_and_leaves_no_answer() -> None:
    async def once() -> None:
        stopping = asyncio.Event()
        asker = Asker(Scripted([TransientError("x")]), Limiter(1), RetryPolicy(base=60.0, cap=60.0), stopping)
        waiting = asyncio.create_task(asker.ask(question()))
        await asyncio.sleep(0.02)
        stopping.set()
        with pytest.raises(Stopped):
            await asyncio.wait_for(waiting, 1.0)

    asyncio.run(once())


def test_an_overload_halves_once_a_round_and_successes_bring_it_back() -> None:
    now = [0.0]
    limiter = Limiter(64, clock=lambda: now[0])
    now[0] = 1.0
    for _ in range(64):
        limiter.overloaded(0.5)  # a whole round turned away together
    assert limiter.limit == 32.0
    limiter.overloaded(1.5)
    assert limiter.limit == 16.0
    for _ in range(16):
        limiter.succeeded()
    assert 16.9 < limiter.limit < 17.1
    for _ in range(10_000):
        limiter.succeeded()
    assert limiter.limit == 64.0


def test_the_limit_never_falls_below_one() -> None:
    now = [0.0]
    limiter = Limiter(4, clock=lambda: now[0])
    for _ in range(10):
        now[0] += 1.0
        limiter.overloaded(now[0])
    assert limiter.limit == 1.0


def test_no_more_than_the_limit_are_in_flight_and_cancelled_waiters_lose_no_place() -> None:
    async def once() -> None:
        limiter = Limiter(2)
        peak = 0

        async def work() -> None:
            nonlocal peak
            await limiter.acquire()
            peak = max(peak, limiter.in_flight)
            await asyncio.sleep(0.001)
            limiter.release()

        tasks = [asyncio.create_task(work()) for _ in range(20)]
        await asyncio.sleep(0.0005)
        for task in tasks[3:10]:
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2.0)
        assert peak == 2
        assert limiter.in_flight == 0

    asyncio.run(once())


def test_a_limiter_without_places_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Limiter(0)
