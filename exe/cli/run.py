"""`exe run`: measure models on a task set; with no argument the embedded model on the default set."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from exe import taskset
from exe.cli import options, tables
from exe.cli.progress import Bar
from exe.errors import IncompleteError, UsageError
from exe.taskset import TaskSet
from runners import results
from runners.estimate import Estimate, estimate
from runners.job import prepare
from runners.models import Context, Model, check_form, open_model
from runners.run import Progress, RunSettings, RunSummary, run, run_folder

EMBEDDED = "local"
MAX_SAMPLES = 10_000
MAX_SHARDS = 100_000
FIRST_LIMIT = 100
FIRST_SOURCE = 500
FIRST_TOKENS = 64
"""What `exe run` with no argument asks: so many cases, of programs of at most so many characters, in so many tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a run reads, writes and reports, and who judges it. `timeout` is in seconds a request."""

    tasks: Path
    results: Path
    quiet: bool
    timeout: float = 600.0
    judge: str | None = None


def _temperature(_context: click.Context, _option: click.Parameter, value: str) -> float | None:
    """A number from 0, or None for "none": send none."""
    if value.strip() == "none":
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (0 <= number < math.inf):
        raise click.BadParameter(f"{value} is no finite number from 0, nor `none`")
    return number


def _shard(_context: click.Context, _option: click.Parameter, value: str | None) -> results.Shard | None:
    if value is None:
        return None
    number, _, of = value.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= MAX_SHARDS):
        raise click.BadParameter(f"{value}: expected a part and how many there are, such as 2/8")
    return results.Shard(int(number), int(of))


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@options.set_option()
@click.option("--samples", type=click.IntRange(1, MAX_SAMPLES), default=1, show_default=True, help="Answers a case.")
@click.option("--k", "ks", default="1", show_default=True, metavar="K[,K...]", help="Which pass@k to print.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=None,
    help="At most so many cases, a seeded sample spread over functions; 0 for all.",
)
@click.option(
    "--max-source",
    type=click.IntRange(min=0),
    default=None,
    help="Only programs of at most so many characters; 0 for all.",
)
@click.option(
    "--kind", "kinds", default="", metavar="KIND[,KIND...]", help="Only cases of these kinds (output, error)."
)
@click.option(
    "--prompt",
    "style",
    type=click.Choice(["direct", "cot"]),
    default="direct",
    show_default=True,
    help="Answer alone, or reasoning first.",
)
@click.option("--examples/--no-examples", default=None, help="Worked examples in the prompt (small models need them).")
@click.option(
    "--temperature",
    default="0",
    metavar="NUMBER|none",
    callback=_temperature,
    show_default=True,
    help="Sampling temperature; 0 is greedy, `none` sends none (some reasoning models take none).",
)
@click.option("--top-p", type=options.Finite(min=0, max=1), default=None, help="Nucleus sampling.")
@click.option("--effort", default=None, metavar="WORD", help="Reasoning effort, in the provider's words.")
@click.option("--system", default=None, metavar="TEXT", help="A system prompt before the question.")
@click.option("--stop", multiple=True, metavar="TEXT", help="Ends an answer; may be given again.")
@click.option("--max-tokens", type=click.IntRange(min=1), default=None, help="Tokens an answer may have.")
@click.option(
    "--repair", type=click.IntRange(0, 1), default=1, show_default=True, help="Extra replies with the parse error."
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Draws the sample of --limit, and is sent along where answers are sampled.",
)
@click.option("--concurrency", type=click.IntRange(min=1), default=None, help="Requests in flight, at most.")
@click.option("--max-cost", type=options.Finite(min=0), default=None, metavar="USD", help="Ask no more from here on.")
@click.option(
    "--max-total-tokens",
    type=click.IntRange(min=1),
    default=None,
    help="Ask no more once so many tokens went in and out.",
)
@options.price_option
@click.option(
    "--judge", "judge", default=None, metavar="MODEL", help="Decides on messages of exceptions that differ in words."
)
@click.option("--batch", is_flag=True, help="By the provider's batches: half the price, answers within a day.")
@click.option(
    "--shard",
    default=None,
    metavar="I/N",
    callback=_shard,
    help="Ask part I of N of the cases; `exe merge` joins them.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it may cost; ask nothing.")
@click.option("--timeout", type=options.Finite(min=1), default=600.0, show_default=True, help="Seconds a request.")
@click.option("--out", default=str(options.RESULTS), show_default=True, metavar="DIR", help="Where results go.")
@options.workers_option
@options.unsafe_option
@options.quiet_option
@options.json_option
def command(
    models: tuple[str, ...],
    set_name: str,
    ks: str,
    limit: int | None,
    max_source: int | None,
    kinds: str,
    concurrency: int | None,
    judge: str | None,
    timeout: float,
    dry_run: bool,
    out: str,
    workers: int,
    unsafe: bool,
    quiet: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Measure models on a task set, and print pass@1 with its 95% interval.

    \b
    MODEL  local[:PATH.gguf]              the embedded model, or any GGUF file
           openai:NAME[@BASE_URL]         OpenAI, or any server that speaks its Chat Completions
           responses:NAME[@BASE_URL]      the same by OpenAI's Responses
           anthropic:NAME[@BASE_URL]      Anthropic, or any server that speaks its Messages
           litellm:PROVIDER/NAME[@URL]    every provider that litellm speaks to
           replay:FILE.jsonl              recorded answers
           baseline:null|echo, oracle     floors and ceiling

    Without a MODEL it is the embedded model, on a seeded sample of the short programs, beside the echo baseline. The default set is
    built first where it is not there yet. The same command resumes a run that was stopped.
    """
    for spec in (*models, *([judge] if judge else ())):
        check_form(spec)
    if judge and judge.partition(":")[0] in ("oracle", "baseline", "replay"):
        raise UsageError(f"--judge {judge}: it answers cases; it cannot judge messages")
    first_time = not models
    if not out.strip():
        raise UsageError("--out: names no folder")
    where = Where(tasks=options.set_folder(set_name), results=Path(out), quiet=quiet, timeout=timeout, judge=judge)
    if first_time:
        limit = FIRST_LIMIT if limit is None else limit
        max_source = FIRST_SOURCE if max_source is None else max_source
        asked["max_tokens"] = asked["max_tokens"] or FIRST_TOKENS
    settings = RunSettings(
        ks=whole_numbers(ks),
        limit=limit or None,
        max_source=max_source or None,
        kinds=words(kinds),
        concurrency=concurrency,
        **asked,
    )
    if not taskset.is_set(where.tasks):
        summary = _make_default(set_name, where, workers, unsafe=unsafe)
        if not as_json:
            click.echo(summary)
    tasks = taskset.read_set(where.tasks)
    specs = tuple(dict.fromkeys(models)) or (EMBEDDED, "baseline:echo")
    if dry_run:
        return _dry_run(specs, tasks, settings, where, as_json=as_json)
    ended = {spec: _measure(spec, tasks, settings, where) for spec in specs}
    if as_json:
        for spec, found in ended.items():
            row = {"model": spec, "run": str(found.folder), "seconds": found.seconds, **asdict(found.score)}
            click.echo(json.dumps(row))
    else:
        click.echo(tables.scores([(found.folder, found.score) for found in ended.values()], tasks, settings))
    incomplete = [str(found.folder) for found in ended.values() if not found.score.complete]
    if incomplete:
        raise IncompleteError(
            f"incomplete: some attempts failed on the way to the model, see {', '.join(incomplete)}; the same command asks them again"
        )
    return 0


def _make_default(set_name: str, where: Where, workers: int, *, unsafe: bool) -> str:
    """Builds the default set where it is not there yet, and tells of it. Raises UsageError for every other set."""
    if set_name != options.DEFAULT_SET:
        raise UsageError(f"{where.tasks}: no task set here; `exe build SOURCE... --set {set_name}` makes one")
    from exe import build as builder  # loaded here: the stages of a build are half of what a run would load
    from exe.cli import build as build_verb

    workshop = builder.Workshop(cache=options.cache_folder(), workers=workers, unsafe=unsafe)
    manifest = build_verb.make(builder.default_recipe(set_name), where.tasks, workshop, quiet=where.quiet)
    return build_verb.summary(where.tasks, manifest)


def words(text: str) -> tuple[str, ...]:
    """The words of `--kind`, none for an empty one. Raises UsageError for an empty word among others."""
    found = tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    if not all(found):
        raise UsageError(f"--kind {text}: expected words with commas between, such as output,error")
    return found


def whole_numbers(text: str) -> tuple[int, ...]:
    """The numbers of `--k`. Raises UsageError."""
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--k {text}: expected whole numbers with commas between, such as 1,5") from None
    if any(k < 1 for k in found):
        raise UsageError(f"--k {text}: each k must be at least 1")
    return found


def _dry_run(specs: tuple[str, ...], tasks: TaskSet, settings: RunSettings, where: Where, *, as_json: bool) -> int:
    """What each model would be asked; nothing is asked or written."""
    for spec in specs:
        model = _open(spec, tasks, where.timeout, lambda _text: None)
        judge = _open(where.judge, tasks, where.timeout, lambda _text: None) if where.judge else None
        try:
            job = prepare(model, tasks, settings, judge)
            folder = run_folder(where.results, job)
            found = estimate(job, len(job.plan) - results.count_finished(folder / results.ATTEMPTS))
        finally:
            for opened in (model, judge):
                if opened is not None:
                    asyncio.run(opened.aclose())
        click.echo(
            json.dumps({"model": spec, "run": str(folder), **asdict(found)})
            if as_json
            else f"{spec}: {forecast(found)}"
        )
    return 0


def forecast(found: Estimate) -> str:
    """An estimate in one line."""
    parts = [f"{found.requests:,} questions", f"about {found.input_tokens:,} tokens in"]
    parts += [] if found.output_tokens is None else [f"at most {found.output_tokens:,} out"]
    if found.input_usd is None:
        parts.append("price unknown (--price states one)")
    elif found.most_usd is None:
        parts.append(f"${found.input_usd:.4f} for the questions")
    else:
        parts.append(f"${found.input_usd:.4f} for the questions, ${found.most_usd:.4f} at most with the answers")
    return ", ".join(parts)


def _open(spec: str, tasks: TaskSet, timeout: float, notify: Callable[[str], None]) -> Model:
    known = tasks.known()
    return open_model(
        spec, Context(cases=known, answer_format=tasks.manifest.answer_format, timeout=timeout, notify=notify)
    )


def _measure(spec: str, tasks: TaskSet, settings: RunSettings, where: Where) -> RunSummary:
    """One model: opens it, says what is ahead, runs it behind a bar, closes it."""

    def say(text: str) -> None:
        if not where.quiet:
            click.echo(text, err=True)

    model = _open(spec, tasks, where.timeout, say)
    judge = _open(where.judge, tasks, where.timeout, say) if where.judge else None
    remote = model.traits.remote
    with ExitStack() as stack:
        bar: Bar | None = None
        done = 0

        def ahead(found: Estimate) -> None:
            nonlocal bar
            if remote:
                say(f"{spec}: {forecast(found)}")
            bar = stack.enter_context(Bar(spec, None, unit="cases", quiet=where.quiet))

        def report(now: Progress) -> None:
            nonlocal done
            if bar is not None:
                bar.total(now.planned)
                bar.note(_note(now))
                bar.advance(now.done - done)
            done = now.done

        return run(model, tasks, settings, where.results, report, ahead, judge)


def _note(now: Progress) -> str:
    """What stands behind the bar: tokens, cost, retries and failures, the last two only when there are some."""
    parts = []
    if now.input_tokens or now.output_tokens:
        parts.append(f"{now.input_tokens:,} tokens in, {now.output_tokens:,} out")
    if now.cost_usd is not None:
        parts.append(f"${now.cost_usd:.4f}")
    if now.retries:
        parts.append(f"{now.retries} retries ({now.note})" if now.note else f"{now.retries} retries")
    elif now.note:
        parts.append(now.note)
    if now.failed:
        parts.append(f"{now.failed} failed")
    return ", ".join(parts)
