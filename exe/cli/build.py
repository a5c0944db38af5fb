"""`exe build`: sources in, a task set out."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from exe import build as builder
from exe import codec
from exe.chain import INTERNAL_ERROR, Chain
from exe.cli import asking, options
from exe.cli.progress import BuildProgress
from exe.errors import UsageError
from exe.inputs.model import Caps
from exe.records import Manifest, Rejection
from runners.prices import Given


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@options.set_option()
@click.option(
    "--generator",
    default="offline",
    show_default=True,
    metavar="offline|MODEL[,...]",
    help="What makes the inputs; of several the inputs are pooled.",
)
@click.option("--errors-only", is_flag=True, help="Ask the model for inputs that raise, and keep those alone.")
@click.option("--max-requests", type=click.IntRange(min=0), default=None, help="Questions to models, at most.")
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=None, help="Ask models no more once so many went in and out."
)
@click.option("--max-cost", type=options.Finite(min=0), default=None, metavar="USD", help="Ask no more from there on.")
@options.price_option
@click.option("--timeout", type=options.Finite(min=1), default=600.0, show_default=True, help="Seconds a question.")
@click.option("--cases", type=click.IntRange(1, 1000), default=15, show_default=True, help="Cases a function, at most.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws inputs and, with --per-package, functions.")
@click.option(
    "--per-package", type=click.IntRange(min=0), default=None, help="Programs a package, at most; 0 for no limit."
)
@click.option(
    "--whole-class", is_flag=True, help="Keep all methods of a class, those as well that a program cannot reach."
)
@options.workers_option
@options.unsafe_option
@options.quiet_option
@options.json_option
def command(
    sources: tuple[str, ...],
    set_name: str,
    generator: str,
    errors_only: bool,
    max_requests: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    price: Given | None,
    timeout: float,
    cases: int,
    seed: int,
    per_package: int | None,
    whole_class: bool,
    workers: int,
    unsafe: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make a task set from packages.

    \b
    SOURCE  installed:NAME            a package of this environment
            path:DIR                  a project folder
            pypi:NAME[==VERSION]      a wheel or sdist, never executed here
    MODEL   as in `exe run`; what it answers is kept in completions.jsonl, and nothing is asked twice

    Without a SOURCE the default set is made from the packages that this tool itself needs.
    """
    models = asking.models_of(generator)
    if errors_only and (not models or len(models) < len(generator.split(","))):
        raise UsageError("--errors-only steers models; name one with --generator MODEL, and no offline beside it")
    chain = Chain(
        cases=cases,
        seed=seed,
        generator=generator,
        per_package=per_package or 0,
        whole_class=whole_class,
        errors_only=errors_only,
    )
    folder = options.set_folder(set_name)
    if sources:
        recipe = builder.Recipe(name=folder.resolve().name, sources=sources, chain=chain)
    else:
        plain = builder.default_recipe(
            folder.resolve().name, cases=cases, seed=seed, per_package=per_package, whole_class=whole_class
        )
        recipe = replace(plain, chain=replace(plain.chain, generator=generator, errors_only=errors_only))
    workshop = builder.Workshop(
        cache=options.cache_folder(),
        workers=workers,
        unsafe=unsafe,
        models=asking.Opener(names=models, timeout=timeout, price=price, priced=max_cost is not None)
        if models
        else None,
        caps=Caps(requests=max_requests, tokens=max_tokens, cost_usd=max_cost),
    )
    manifest = make(recipe, folder, workshop, quiet=quiet)
    if as_json:
        click.echo(json.dumps({"set": str(folder), **codec.to_json(manifest)}))
    else:
        click.echo(summary(folder, manifest))


def make(recipe: builder.Recipe, folder: Path, workshop: builder.Workshop, *, quiet: bool) -> Manifest:
    """Builds with progress on stderr."""
    with closing(BuildProgress(quiet=quiet)) as progress:
        return builder.build(recipe, folder, workshop, progress)


def summary(folder: Path, manifest: Manifest) -> str:
    """One paragraph for people."""
    counts = manifest.counts
    faults = [r for r in codec.read_jsonl(folder / "rejections.jsonl", Rejection) if r.reason == INTERNAL_ERROR]
    note = (
        f"; {len(faults)} functions met an error of ours, please report it: {faults[0].subject}, {faults[0].detail}"
        if faults
        else ""
    )
    return (
        f"{folder}: {counts['cases']} cases of {counts['programs']} functions from {counts['packages']} packages; "
        f"{counts['functions']} functions read, {counts['rejections']} rejections with their reasons in {folder / 'rejections.jsonl'}{note}"
    )
