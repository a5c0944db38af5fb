"""What a run will ask and may cost, before its first question. Rough on purpose, and said to be."""

from __future__ import annotations

from dataclasses import dataclass

from runners.job import Job

CHARACTERS_A_TOKEN = 3.5
"""Of English and Python text under the tokenizers of the day, which take 3 to 4."""
SAMPLED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """`input_tokens` is extrapolated from the characters of up to 200 questions; `output_tokens` is the most that the limit allows.

    `input_usd` is for the questions alone, `most_usd` with every answer at its limit. None where a limit or a price is unknown.
    Repairs and retries come on top.
    """

    requests: int
    input_tokens: int
    output_tokens: int | None
    input_usd: float | None
    most_usd: float | None


def estimate(job: Job, missing: int) -> Estimate:
    """For the `missing` attempts of a job, taken to be like all of them."""
    planned = len(job.plan)
    step = max(1, planned // SAMPLED)
    sizes = [_characters(job, position) for position in range(0, planned, step)]
    read = round(missing * sum(sizes) / len(sizes) / CHARACTERS_A_TOKEN)
    limit = job.settings.max_tokens
    written = None if limit is None else missing * limit

    def usd(output: int | None) -> float | None:
        known = job.tariff is not None and output is not None
        return job.tariff.cost({"input": read, "output": output}) if known and job.tariff else None

    return Estimate(requests=missing, input_tokens=read, output_tokens=written, input_usd=usd(0), most_usd=usd(written))


def _characters(job: Job, position: int) -> int:
    return sum(len(message.content) for message in job.request(*job.plan.at(position)).messages)
