"""A run before its first question: settings, chosen cases, requests and what identifies it all."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from exe.errors import UsageError
from exe.records import Case, Json, Message
from exe.taskset import TaskSet
from runners import prices, prompt, results
from runners.asking import RetryPolicy
from runners.judge import identity as identity_of
from runners.models.base import Model, Request
from runners.models.batching import Batching
from runners.results import Plan, Shard
from runners.sampling import limited, selected
from runners.score import pass_at_k


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What is asked and how. The second block changes how fast, and what is
    reported of it; it is no part of a run's identity.

    None in `max_tokens`, `examples`, `structured` and `concurrency` takes the model's own default. `temperature` None sends none.
    """

    style: prompt.Style = "direct"
    samples: int = 1
    limit: int | None = None
    kinds: tuple[str, ...] = ()
    max_source: int | None = None  # characters of a program
    seed: int = 0
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    effort: str | None = None
    system: str | None = None  # said before everything else, in the system's role
    repair: int = 1
    examples: bool | None = None
    structured: bool | None = None  # hold the answer to a schema; only in style direct and the odata format

    ks: tuple[int, ...] = (1,)
    concurrency: int | None = None
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    price: prices.Given | None = None  # in place of the listed prices
    max_cost: float | None = None  # US dollars for the whole run, earlier sessions included
    max_total_tokens: int | None = None  # input and output tokens of the whole run
    batch: bool = False  # by the provider's batches
    poll: float = 5.0  # seconds before a batch is first looked after, ever longer from there
    shard: Shard | None = None  # the part of the cases that this process asks


_NO_PART = frozenset({"ks", "concurrency", "policy", "price", "max_cost", "max_total_tokens", "batch", "poll", "shard"})
"""The settings that are no part of a run's identity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run before its first question: everything fixed, nothing done."""

    model: Model
    taskset: TaskSet
    settings: RunSettings  # model defaults filled in
    plan: Plan
    identity: dict[str, Json]
    tariff: prices.Tariff | None = None
    judge: Model | None = None  # of exception messages

    def request(self, case: Case, sample: int) -> Request:
        """The first question of one attempt."""
        settings = self.settings
        sampled = settings.temperature is not None and settings.temperature > 0
        messages = prompt.messages(
            self.taskset.program(case),
            case,
            style=settings.style,
            answer_format=self.taskset.manifest.answer_format,
            examples=bool(settings.examples),
            python=self.taskset.manifest.python,
        )
        if settings.system is not None:
            messages = (Message(role="system", content=settings.system), *messages)
        return Request(
            case=case.id,
            sample=sample,
            messages=messages,
            shared=len(messages) - 1,
            temperature=settings.temperature,
            top_p=settings.top_p,
            max_tokens=settings.max_tokens,
            seed=settings.seed + sample if sampled else None,
            stop=settings.stop,
            effort=settings.effort,
            schema=prompt.ANSWER_SCHEMA if settings.structured else None,
        )

    def request_sha256(self, case: Case, sample: int) -> str:
        """What a stored attempt must name to be this one."""
        return self.request(case, sample).sha256(self.model.settings)


def prepare(model: Model, taskset: TaskSet, settings: RunSettings, judge: Model | None = None) -> Job:
    """Fill in the model's defaults, choose the cases and write down what identifies the run."""
    traits = model.traits
    can_hold = settings.style == "direct" and taskset.manifest.answer_format == "odata"
    if settings.structured and not can_hold:
        raise UsageError("structured answers go with --prompt direct and a set in the odata format")
    filled = replace(
        settings,
        max_tokens=traits.max_tokens if settings.max_tokens is None else settings.max_tokens,
        examples=traits.few_shot if settings.examples is None else settings.examples,
        structured=traits.structured and can_hold if settings.structured is None else settings.structured,
        concurrency=traits.concurrency if settings.concurrency is None else settings.concurrency,
        repair=min(settings.repair, 1) if traits.repairs else 0,
        max_cost=settings.max_cost if traits.remote else None,
    )
    if filled.samples < 1 or (filled.limit is not None and filled.limit < 1) or (filled.concurrency or 0) < 1:
        raise UsageError("samples, limit and concurrency must each be at least 1")
    for k in filled.ks:
        pass_at_k(filled.samples, 0, k)  # a k above the samples is refused before anything is asked
    there = {case.kind for case in taskset.cases} | {"error"}
    if strange := sorted(set(filled.kinds) - there):
        raise UsageError(
            f"the set {taskset.name} has no cases of kind {', '.join(strange)}; there are {', '.join(sorted(there))}"
        )
    cases = limited(
        selected(taskset.cases, taskset.programs, filled.kinds, filled.max_source), filled.limit, filled.seed
    )
    if not cases:
        raise UsageError(f"the set {taskset.name} has no case of the wanted kind and size")
    if unasked := {case.kind for case in cases} - set(prompt.KINDS):
        raise UsageError(f"no prompt for cases of kind {', '.join(sorted(unasked))}; choose with --kind output")
    tariff = prices.tariff(model.settings, filled.price)
    if filled.max_cost is not None:
        if tariff is None:
            raise UsageError(f"--max-cost: nobody lists a price for {model.name}; state it with --price INPUT,OUTPUT")
        if judge is not None and judge.traits.remote and prices.tariff(judge.settings) is None:
            raise UsageError(f"--max-cost: nobody lists a price for the judge {judge.name}")
    if filled.batch and not isinstance(model, Batching):
        raise UsageError(f"--batch: {model.name} takes none")
    if filled.batch and tariff is not None and filled.price is None:
        tariff = prices.Batched(tariff)
    asked = {name: value for name, value in asdict(filled).items() if name not in _NO_PART}
    if filled.system is None:
        del asked["system"]  # so that the run is the one it was before there were system prompts
    identity: dict[str, Json] = {
        "format": results.FORMAT,
        "model": {"name": model.name, **model.settings},
        "settings": {**asked, "kinds": list(filled.kinds), "stop": list(filled.stop)},
        "prompt": {"version": prompt.PROMPT_VERSION, "sha256": prompt.PROMPT_SHA256},
        "taskset": {
            "name": taskset.name,
            "sha256": taskset.sha256,
            "answer_format": taskset.manifest.answer_format,
            "rule": taskset.manifest.rule,
            "python": taskset.manifest.python,
        },
        "judge": identity_of(judge),
        "planned": {"cases": len(cases), "samples": filled.samples, "of": len(taskset.cases)},
    }
    if filled.shard is not None:
        identity["shard"] = {"number": filled.shard.number, "of": filled.shard.of}
        cases = filled.shard.part(cases)
        if not cases:
            raise UsageError(f"--shard {filled.shard}: there are fewer cases than shards")
    plan = Plan(cases=cases, samples=filled.samples)
    return Job(model=model, taskset=taskset, settings=filled, plan=plan, identity=identity, tariff=tariff, judge=judge)
