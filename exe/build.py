"""Building a task set: sources in, a finished folder out; packages in parallel, resumable after a kill anywhere.

While a build runs, `<set>/.build/` holds one append-only checkpoint a package, a JSON line a function. A second call reads them
and goes on. When all packages are done the set is written in content order and the checkpoints are removed, so the bytes do not
depend on how often the build was interrupted or on how many workers it had.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import gc
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import exe
from exe import chain, codec, taskset
from exe.certify import SEEDS
from exe.chain import Chain, Yield
from exe.errors import InputError, SandboxError, SourceError, StorageError, UsageError
from exe.inputs.model import Ask, Budget, Caps, Journal
from exe.inputs.model.journal import answers, rows
from exe.records import Case, Completion, Json, Manifest, Package, Program, Rejection
from exe.sandbox.host import Sandbox
from exe.sources import scrape
from exe.sources.closure import installed_closure

CHECKPOINTS = ".build"
JOURNAL = ".completions"
DEFAULT_PER_PACKAGE = 6
COLLECTOR = (100_000, 20, 20)
"""Thresholds of the garbage collector in a worker: syntax trees are many objects that live long, and seldom garbage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a set is made from: with the same artefacts and interpreter it gives the same bytes."""

    name: str
    sources: tuple[str, ...]
    chain: Chain = field(default_factory=Chain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where and how a build runs; nothing here changes a byte of its result."""

    cache: Path
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    unsafe: bool = False
    models: Callable[[], Mapping[str, Ask]] | None = None  # opened once in each process; has to be picklable
    caps: Caps = field(default_factory=Caps)  # of what this command asks of them


def default_recipe(
    name: str, *, cases: int = 15, seed: int = 0, per_package: int | None = None, whole_class: bool = False
) -> Recipe:
    """The set that every machine can make which installed this tool: from the packages that the tool itself stands on.

    Raises SourceError where the tool is not installed but only lies on the path.
    """
    names = installed_closure("execution-eval")
    if not names:
        raise SourceError(
            "the default set is made from this tool's own requirements, but it is not installed; `pip install -e .` first, or name a SOURCE"
        )
    chosen = DEFAULT_PER_PACKAGE if per_package is None else per_package
    return Recipe(
        name=name,
        sources=tuple(f"installed:{each}" for each in names),
        chain=Chain(cases=cases, seed=seed, per_package=chosen, whole_class=whole_class),
    )


class Progress(Protocol):
    """Where a build reports to: packages found, functions done, one finished package at a time."""

    def packages(self, total: int) -> None: ...
    def function(self, found: tuple[str, int, int]) -> None: ...
    def package(self, name: str) -> None: ...


def build(recipe: Recipe, directory: Path, workshop: Workshop, progress: Progress) -> Manifest:
    """Builds `recipe` into `directory` and returns the manifest.

    Raises UsageError where the folder holds a different set, SourceError where no source gives a package, IsolationError,
    SandboxError, StorageError. Ctrl-C and kill -9 lose at most the functions at hand.
    """
    _refuse_another(recipe, directory)
    packages, refused = _scrape(recipe, workshop)
    with Sandbox(workers=1, unsafe=workshop.unsafe, hash_seed=SEEDS[0]) as probe:
        isolation = probe.isolation.name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _alone(directory):
            harvest = _harvest(packages, recipe, directory, workshop, progress)
            harvest.rejections.extend(refused)
            finished = _write(recipe, directory, packages, harvest, isolation)
            _keep_completions(directory)
            shutil.rmtree(directory / CHECKPOINTS)
            return finished
    except BrokenProcessPool:
        raise SandboxError(
            "a build process was killed from outside (out of memory?); repeat the command to resume, with fewer --workers"
        ) from None
    except OSError as error:
        raise StorageError(
            f"{error.filename or directory}: {error.strerror}; free space or choose another --set, then repeat the command to resume"
        ) from error


def _keep_completions(directory: Path) -> None:
    """What models answered goes with the set, outside every hash: made from it again, the set is the same."""
    kept = directory / taskset.COMPLETIONS
    lines = list(rows([kept, *sorted((directory / CHECKPOINTS).glob(f"*{JOURNAL}"))]))
    if lines:
        codec.atomic_write(kept, "".join(f"{line}\n" for line in lines).encode())


def _refuse_another(recipe: Recipe, directory: Path) -> None:
    if not taskset.is_set(directory):
        taskset.refuse_foreign(directory)
        return
    manifest, _ = taskset.read_manifest(directory)
    if manifest.settings != settings(recipe):
        raise UsageError(
            f"{directory} holds another set ({manifest.name}, made from other sources or settings); choose another --set or remove it"
        )


def _harvest(
    packages: Sequence[Package], recipe: Recipe, directory: Path, workshop: Workshop, progress: Progress
) -> _Harvest:
    """Runs what is not finished yet and reads all checkpoints."""
    checkpoints = directory / CHECKPOINTS
    checkpoints.mkdir(exist_ok=True)
    progress.packages(len(packages))
    keys = [checkpoints / f"{package.name}-{_key(package, recipe.chain)}.jsonl" for package in packages]
    _run(packages, keys, recipe.chain, workshop, progress)
    return _merge(keys)


def _write(recipe: Recipe, directory: Path, packages: Sequence[Package], harvest: _Harvest, isolation: str) -> Manifest:
    manifest = Manifest(
        name=recipe.name,
        format=taskset.FORMAT,
        builder=exe.__version__,
        python=".".join(map(str, sys.version_info[:3])),
        generator=recipe.chain.generator,
        seed=recipe.chain.seed,
        sources=tuple(source_row(package) for package in packages),
        counts={"functions": harvest.functions},
        files={},
        canary="",
        isolation=isolation,
        settings=settings(recipe),
    )
    return taskset.write_set(
        directory,
        manifest,
        list(harvest.programs.values()),
        harvest.cases,
        harvest.rejections,
        harvest.measurements,
    )


def settings(recipe: Recipe) -> dict[str, Json]:
    """The recipe as it stands in the manifest."""
    found = {"sources": list(recipe.sources), **asdict(recipe.chain)}
    if not recipe.chain.errors_only:
        del found["errors_only"]  # as it was before there was such a thing
    return found


def _scrape(recipe: Recipe, workshop: Workshop) -> tuple[list[Package], list[Rejection]]:
    """All packages of the recipe in source order, each once; raises SourceError when there is none at all."""
    packages: dict[tuple[str, str], Package] = {}
    refused: list[Rejection] = []
    for spec in recipe.sources:
        for item in scrape(spec, cache=workshop.cache):
            if isinstance(item, Rejection):
                refused.append(item)
            else:
                packages.setdefault((item.name, item.version), item)
    if not packages:
        reasons = "; ".join(f"{r.subject}: {r.reason} ({r.detail})" for r in refused[:3]) or "no sources were given"
        raise SourceError(f"no package to build from: {reasons}")
    return list(packages.values()), refused


def _run(
    packages: Sequence[Package], paths: Sequence[Path], settings: Chain, workshop: Workshop, progress: Progress
) -> None:
    """Runs every package that is not finished yet through a pool of processes, each with sandboxes of its own."""
    context = multiprocessing.get_context("spawn")
    reports: Any = context.SimpleQueue()
    with _pool(context, workshop, reports) as pool:
        waiting: dict[Future[None], Package] = {
            pool.submit(_package, package, path, settings): package
            for package, path in sorted(zip(packages, paths, strict=True), key=lambda pair: -len(pair[0].files))
        }
        while waiting:
            done, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
            while not reports.empty():
                progress.function(reports.get())
            for future in done:
                package = waiting.pop(future)
                future.result()
                progress.package(package.name)


@contextlib.contextmanager
def _pool(context: Any, workshop: Workshop, reports: Any) -> Iterator[ProcessPoolExecutor]:
    """A pool that ends at once, its work unfinished, when the block is left by an exception."""
    pool = ProcessPoolExecutor(
        max_workers=workshop.workers,
        mp_context=context,
        initializer=_start_worker,
        initargs=(os.getpid(), workshop, reports, Budget(workshop.caps, context)),
    )
    try:
        yield pool
        pool.shutdown()
    except BaseException:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
        raise


_worker: dict[str, Any] = {}


def _start_worker(parent: int, workshop: Workshop, reports: Any, budget: Budget) -> None:
    """Runs once in each process of the pool: dies with the build, leaves Ctrl-C to it, opens the sandboxes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)
    gc.set_threshold(*COLLECTOR)
    boxes = [Sandbox(workers=1, unsafe=workshop.unsafe, hash_seed=seed) for seed in SEEDS]
    models = {} if workshop.models is None else workshop.models()
    asks = {name: budget.within(ask) for name, ask in models.items()}
    _worker.update(boxes=[box.__enter__() for box in boxes], reports=reports, asks=asks)


@functools.lru_cache(maxsize=1)
def _answered(path: Path) -> dict[str, Completion]:
    """What models answered for the set before; read once in a process, since nothing changes it while packages are at work."""
    return answers(path)


def _package(package: Package, path: Path, settings: Chain) -> None:
    """One package into its checkpoint file, from where an earlier build left off."""
    rows, finished = _read_checkpoint(path)
    if finished:
        return
    first, second, *more = (box.execute for box in _worker["boxes"])
    asks: dict[str, Ask] = {}
    if _worker["asks"]:
        journal = Journal(path.with_name(path.name + JOURNAL), _answered(path.parent.parent / taskset.COMPLETIONS))
        asks = {name: journal.keeping(name, ask) for name, ask in _worker["asks"].items()}
    hands = chain.Hands(first=first, second=second, asks=asks, more=tuple(more))
    known = {row["subject"]: row for row in rows}

    def done(subject: str) -> Yield | None:
        row = known.get(subject)
        return None if row is None else chain.from_row(row, str(path))

    with path.open("a", encoding="utf-8") as stream:
        for found in chain.walk(package, settings, hands, done):
            if found.subject not in known:
                stream.write(json.dumps(chain.to_row(found)) + "\n")
                stream.flush()
            _worker["reports"].put((found.subject, int(found.program is not None), len(found.cases)))
        stream.write(json.dumps({"finished": package.name}) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    gc.collect()  # a package's trees refer to each other in circles, and the thresholds would let the next one join them


def _read_checkpoint(path: Path) -> tuple[list[dict[str, Json]], bool]:
    """The whole rows of a checkpoint and whether it is finished; a last line cut by a kill is cut off the file."""
    if not path.exists():
        return [], False
    codec.drop_torn_line(path)
    try:
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    except ValueError as error:
        raise InputError(f"{path}: damaged checkpoint ({error}); remove this file and repeat the command") from None
    finished = bool(rows) and "finished" in rows[-1]
    return [row for row in rows if "subject" in row], finished


@dataclass(slots=True)
class _Harvest:
    """All checkpoints together."""

    programs: dict[str, Program] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    measurements: list[Json] = field(default_factory=list)
    functions: int = 0


def _merge(paths: Sequence[Path]) -> _Harvest:
    """Reads all checkpoints; a program that two packages give is kept once, credited to the first."""
    harvest = _Harvest()
    for path in paths:
        rows, _ = _read_checkpoint(path)
        for row in rows:
            found = chain.from_row(row, str(path))
            harvest.functions += ":" in found.subject
            harvest.rejections.extend(found.rejections)
            if found.program is None:
                continue
            twin = harvest.programs.get(found.program.id)
            if twin is not None:
                harvest.rejections.append(_duplicate(found.subject, twin))
                continue
            harvest.programs[found.program.id] = found.program
            harvest.cases.extend(found.cases)
            harvest.measurements.extend(_measured(found, case) for case in found.cases)
    return harvest


def _measured(found: Yield, case: Case) -> dict[str, Json]:
    """What a case took: CPU seconds, and an even share of what its model took for this function; null where unknown."""
    row: dict[str, Json] = {"case": case.id, "cpu_seconds": found.cpu_seconds.get(case.id)}
    return {**row, "generation": found.generation[case.generator]} if case.generator in found.generation else row


def _duplicate(subject: str, twin: Program) -> Rejection:
    return Rejection(
        subject=subject, stage="inline", reason="duplicate", detail=f"same program as {twin.origin.function}"
    )


def source_row(package: Package) -> dict[str, Json]:
    """What the manifest says of one package; no path of this machine."""
    return {
        "name": package.name,
        "version": package.version,
        "spec": package.spec,
        "url": package.url,
        "sha256": package.sha256,
        "license": package.license,
        "repository": package.repository,
        "commit": package.commit,
        "environment": _lock(package),
    }


def _lock(package: Package) -> list[dict[str, Json]]:
    """The locked dependencies of a package, by name."""
    return [
        {"name": one.name, "version": one.version, "sha256": one.sha256, "license": one.license}
        for one in package.environment
    ]


def _key(package: Package, settings: Chain) -> str:
    """Names a checkpoint by all that decides its rows: the artefact, its lock, the settings, this code, the interpreter."""
    text = codec.canonical(
        {
            "package": [package.name, package.version, package.sha256],
            "environment": _lock(package),
            "settings": asdict(settings),
            "code": _code_sha256(),
            "python": sys.version,
        }
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _code_sha256() -> str:
    folder = Path(exe.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """One build a folder: raises UsageError while another process holds it; a dead one's lock is gone with it."""
    with (directory / ".lock").open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{directory} is being built by another process; wait for it or choose another --set"
            ) from None
        yield
