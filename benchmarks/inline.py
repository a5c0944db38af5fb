"""What reading, screening and inlining cost: packages through the stages, beside other tools on the same files.

    python benchmarks/inline.py [SOURCE …] [--cache DIR] [--rounds N] [--walk N] [--json]

Every package is measured in a process of its own, by CPU seconds, all tools one after the other and
with the garbage collector set as in a build. SOURCE is as for `exe build`; by default it is every package of this
environment, which takes long.

| name | what it is |
|---|---|
| parse | the floor: `ast.parse` of the bytes of every file of a package, nothing kept |
| screen | reading a package and its candidates: `read_project`, `functions`, `signatures.candidate` with the screen |
| griffe | `griffe.visit` of the same files (optional) |
| jedi | `jedi`: what a name stands for, a sample of the names in the files (optional) |
| inline | all candidates to programs or rejections, once in one process, once in two |
| purity | the purity screen of those programs |

At last one process goes through the packages until it has met `--walk` of them: its memory must stay what it was.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import multiprocessing
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from exe import screen
from exe.analysis import Project, functions, read_project, signatures
from exe.build import COLLECTOR
from exe.inline import inline
from exe.records import Candidate, Package, Rejection
from exe.sources import scrape

PARSE_RATIO = 4.0  # reading and screening may take so many times the floor
FUNCTIONS_PER_SECOND = 200.0  # inlined by two processes
MEMORY_RATIO = 1.1  # the peak of the last pass over the packages, to that of the passes before
JEDI_NAMES = 20  # of a package


class Measured(NamedTuple):
    """One package. CPU seconds, medians where there are several rounds; None where a peer is not installed."""

    name: str
    files: int
    functions: int
    candidates: int
    programs: int
    parse: float
    screen: float
    inline: float
    purity: float
    griffe: float | None
    jedi: float | None  # a name


def main() -> int:
    """Print a table, or with `--json` one object. Exit status 1 where a target is missed, 2 where there is no package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", default=["installed:*"], metavar="SOURCE")
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("EXE_CACHE", Path.home() / ".cache" / "exe")))
    parser.add_argument("--rounds", type=int, default=3, help="of parsing and screening")
    parser.add_argument("--walk", type=int, default=100, help="packages that one process goes through")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    packages = [package for package in found(options.sources, options.cache) if package.files]
    if not packages:
        print("no package to measure", file=sys.stderr)
        return 2
    with fresh(1, each=1) as pool:
        measured = list(pool.map(measure, packages, [options.rounds] * len(packages)))
    told = figures(measured, by_two(packages), walked(packages, options.walk))
    report(measured, told, as_json=options.json)
    return 0 if all(figure["met"] for figure in told.values()) else 1


def found(sources: Iterable[str], cache: Path) -> Iterator[Package]:
    """The packages of the sources; what cannot be had is told."""
    for source in sources:
        for item in scrape(source, cache=cache):
            if isinstance(item, Package):
                yield item
            elif item.reason not in ("not-importable", "tests", "vendored"):
                print(f"{item.subject}: {item.reason}: {item.detail}", file=sys.stderr)


def fresh(workers: int, each: int | None = None) -> ProcessPoolExecutor:
    """A pool of new interpreters, each for so many tasks, with the garbage collector as in a build."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        workers, context, initializer=gc.set_threshold, initargs=COLLECTOR, max_tasks_per_child=each
    )


# ---- one package ----------------------------------------------------------------------------------------------------


def measure(package: Package, rounds: int) -> Measured:
    """All tools on one package."""
    texts = [(Path(package.root) / path).read_bytes() for path in package.files]
    parse, parsed = timed(lambda: sum(map(parses, texts)), rounds)
    screened, (project, listed, candidates) = timed(lambda: to_candidates(package), rounds)
    inlined, results = timed(lambda: [inline(project, one) for one in candidates])
    programs = [one for one in results if not isinstance(one, Rejection)]
    purity, _ = timed(lambda: [screen.purity(one.source, one.entry) for one in programs])
    return Measured(
        name=package.name,
        files=parsed,
        functions=listed,
        candidates=len(candidates),
        programs=len(programs),
        parse=parse,
        screen=screened,
        inline=inlined,
        purity=purity,
        griffe=by_griffe(package, rounds),
        jedi=by_jedi(package),
    )


def timed(run: Callable[[], Any], rounds: int = 1) -> tuple[float, Any]:
    """The median of CPU seconds, and the last result."""
    seconds = []
    result = None
    for _ in range(rounds):
        result = None
        gc.collect()
        before = time.process_time()
        result = run()
        seconds.append(time.process_time() - before)
    return statistics.median(seconds), result


def parses(text: bytes) -> bool:
    """The floor: whether a file is Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return False
        return True


def to_candidates(package: Package) -> tuple[Project, int, list[Candidate]]:
    """A package read and screened; also how many functions it has."""
    project = read_project(package)
    every = list(functions(project))
    results = [signatures.candidate(project, one, package, why_not=screen.why_not_function) for one in every]
    return project, len(every), [one for one in results if not isinstance(one, Rejection)]


def by_griffe(package: Package, rounds: int) -> float | None:
    """The same files through griffe's visitor."""
    griffe = peer("griffe")
    if griffe is None:
        return None

    def visit() -> int:
        for path in map(Path, package.files):
            text = (Path(package.root) / path).read_bytes()
            if parses(text):
                griffe.visit(path.stem, filepath=Path(package.root) / path, code=text.decode(errors="replace"))
        return 0

    return timed(visit, rounds)[0]


def by_jedi(package: Package) -> float | None:
    """What names that are read stand for: CPU seconds a name, of the names spread over the largest file."""
    jedi = peer("jedi")
    if jedi is None:
        return None
    path = max(package.files, key=lambda one: (Path(package.root) / one).stat().st_size)
    text = (Path(package.root) / path).read_bytes()
    if not parses(text):
        return None
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    chosen = names[:: max(1, len(names) // JEDI_NAMES)][:JEDI_NAMES]
    if not chosen:
        return None
    script = jedi.Script(text.decode(errors="replace"), path=Path(package.root) / path)
    seconds, _ = timed(lambda: [script.goto(one.lineno, one.col_offset, follow_imports=True) for one in chosen])
    return seconds / len(chosen)


def peer(name: str) -> Any:
    """A tool to compare with, None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# ---- many packages --------------------------------------------------------------------------------------------------


def by_two(packages: Sequence[Package]) -> tuple[int, float]:
    """Candidates inlined by two processes, the largest packages first; CPU seconds that the busier one took for it."""
    ordered = sorted(packages, key=lambda package: -len(package.files))
    with fresh(2) as pool:
        spans = list(pool.map(inline_all, ordered))
    workers: dict[int, float] = {}
    for _, cpu, pid in spans:
        workers[pid] = workers.get(pid, 0.0) + cpu
    return sum(span[0] for span in spans), max(workers.values())


def inline_all(package: Package) -> tuple[int, float, int]:
    """How many candidates were inlined, in how many CPU seconds, and by which process."""
    project, _, candidates = to_candidates(package)
    cpu, _ = timed(lambda: sum(not isinstance(inline(project, one), Rejection) for one in candidates))
    return len(candidates), cpu, os.getpid()


def walked(packages: Sequence[Package], count: int) -> tuple[float, float, int]:
    """Peak memory (MB) of one process in the last pass over the packages, in those before, and how many it went through."""
    every = list(islice(cycle(packages), max(count, 2 * len(packages))))
    with fresh(1) as pool:
        sizes = list(pool.map(resident, every))
    last = len(every) - len(packages)
    return max(sizes[last:]), max(sizes[:last]), len(every)


def resident(package: Package) -> float:
    """Memory (MB) that the process holds once it has read, screened, inlined and judged a package."""
    project, _, candidates = to_candidates(package)
    result = None
    for one in candidates:
        result = inline(project, one)
        if not isinstance(result, Rejection):
            screen.purity(result.source, result.entry)
    del result, project, candidates
    gc.collect()  # as a build does behind each package
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# ---- what it comes to -----------------------------------------------------------------------------------------------


def figures(
    measured: Sequence[Measured], two: tuple[int, float], memory: tuple[float, float, int]
) -> dict[str, dict[str, Any]]:
    """The three targets: what was measured, the target, and whether it is met."""
    ratio = sum(one.screen for one in measured) / sum(one.parse for one in measured)
    rate = two[0] / two[1]
    last, before, _ = memory
    growth = last / before
    return {
        "screen_to_parse": {"value": round(ratio, 2), "target": PARSE_RATIO, "met": ratio <= PARSE_RATIO},
        "inlined_per_second": {
            "value": round(rate, 1),
            "target": FUNCTIONS_PER_SECOND,
            "met": rate >= FUNCTIONS_PER_SECOND,
        },
        "memory_growth": {"value": round(growth, 3), "target": MEMORY_RATIO, "met": growth <= MEMORY_RATIO, "mb": last},
    }


def report(measured: Sequence[Measured], told: dict[str, dict[str, Any]], *, as_json: bool) -> None:
    """A table with a line a package, the sums, and the targets; or one JSON object."""
    if as_json:
        print(json.dumps({"packages": [one._asdict() for one in measured], "targets": told, "sums": sums(measured)}))
        return
    print(f"Python {sys.version.split()[0]}; {len(os.sched_getaffinity(0))} CPUs; CPU seconds")
    head = f"{'':24}{'files':>6}{'cand.':>6}{'progr.':>7}{'parse':>8}{'screen':>8}{'to parse':>9}"
    print(f"{head}{'griffe':>8}{'jedi ms':>8}{'inline':>8}{'a second':>9}{'purity':>8}")
    for one in measured:
        griffe = "-" if one.griffe is None else f"{one.griffe:.2f}"
        jedi = "-" if one.jedi is None else f"{one.jedi * 1000:.0f}"
        rate = f"{one.candidates / one.inline:.0f}" if one.candidates and one.inline else "-"
        print(
            f"{one.name[:23]:24}{one.files:6}{one.candidates:6}{one.programs:7}{one.parse:8.2f}{one.screen:8.2f}"
            f"{one.screen / max(one.parse, 1e-9):8.1f}x{griffe:>8}{jedi:>8}{one.inline:8.2f}{rate:>9}{one.purity:8.2f}"
        )
    for name, value in sums(measured).items():
        print(f"{name:32}{'not installed' if value is None else value}")
    for name, figure in told.items():
        print(f"{name:32}{figure['value']:<10} target {figure['target']:<6} {'met' if figure['met'] else 'MISSED'}")


def sums(measured: Sequence[Measured]) -> dict[str, float | None]:
    """Rates over all packages, and the peers' distance to the floor."""
    files = sum(one.files for one in measured)
    visited = [one for one in measured if one.griffe is not None]
    named = [one.jedi for one in measured if one.jedi is not None]
    parse, screened, inlined, purity = (
        sum(getattr(one, stage) for one in measured) for stage in ("parse", "screen", "inline", "purity")
    )
    griffe = sum(one.griffe or 0.0 for one in visited)
    return {
        "parse_files_per_second": round(files / parse, 1),
        "screen_files_per_second": round(files / screened, 1),
        "screen_functions_per_second": round(sum(one.functions for one in measured) / screened, 1),
        "screen_to_parse_median": round(statistics.median(one.screen / max(one.parse, 1e-9) for one in measured), 2),
        "griffe_files_per_second": round(sum(one.files for one in visited) / griffe, 1) if griffe else None,
        "griffe_to_parse": round(griffe / sum(one.parse for one in visited), 2) if griffe else None,
        "jedi_ms_per_name_median": round(statistics.median(named) * 1000, 2) if named else None,
        "inlined_per_second_one_process": round(sum(one.candidates for one in measured) / inlined, 1),
        "purity_per_second": round(sum(one.programs for one in measured) / purity, 1) if purity else None,
    }


if __name__ == "__main__":
    sys.exit(main())
