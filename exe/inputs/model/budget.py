"""What one command may ask of models, counted by all its processes together."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing.context import BaseContext

from exe.errors import IncompleteError
from exe.inputs.model.journal import Ask, Question
from exe.records import Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Questions, tokens in and out, US dollars; None is no limit. What is on its way when a cap is reached still comes."""

    requests: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None


class Budget:
    """What has been used of `caps`. Goes to other processes when they start, as shared values do."""

    def __init__(self, caps: Caps, context: BaseContext) -> None:
        self._caps = caps
        self._requests = context.Value("q", 0)
        self._tokens = context.Value("q", 0)
        self._cost = context.Value("d", 0.0)

    def within(self, ask: Ask) -> Ask:
        """The same model, which raises IncompleteError in place of a question beyond a cap. An unknown price counts as none."""

        def asked(question: Question) -> Completion:
            with self._requests.get_lock():
                reached = self._reached()
                if reached is not None:
                    raise IncompleteError(f"{reached} is reached; the same command goes on")
                self._requests.value += 1
            completion = ask(question)
            with self._tokens.get_lock():
                self._tokens.value += sum(completion.usage.get(name) or 0 for name in ("input", "output"))
                self._cost.value += completion.cost_usd or 0.0
            return completion

        return asked

    def _reached(self) -> str | None:
        caps = self._caps
        if caps.requests is not None and self._requests.value >= caps.requests:
            return f"--max-requests {caps.requests}"
        if caps.tokens is not None and self._tokens.value >= caps.tokens:
            return f"--max-tokens {caps.tokens}"
        if caps.cost_usd is not None and self._cost.value >= caps.cost_usd:
            return f"--max-cost {caps.cost_usd:g}"
        return None
