"""Inlined ≡ original on generated packages: features drawn, programs compared, what was refused and why.

    python benchmarks/generated_packages.py [--packages 10000] [--first 0] [--workers N] [--record FILE]
    python benchmarks/generated_packages.py --show SEED
    python benchmarks/generated_packages.py --mutants

A package follows from its seed alone; those from `--first` on are taken. Each is imported from a folder of its own, once
for every function compared; a process has the packages of one batch. With `--record`, batches done before are read from
the file instead, so that a run that was stopped goes on. Exit code 1 where a program differs from its package, a feature
was compared in fewer packages than the floor, or more is refused than should be. `--mutants` puts one deliberate fault at
a time into the inliner, and ends with 1 where one is not found within the packages allowed it.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.property.packages.compare import HONEST, Difference, Tally, check_seeds  # noqa: E402
from tests.property.packages.features import FEATURES  # noqa: E402
from tests.property.packages.mutants import MUTANTS, found_after  # noqa: E402
from tests.property.packages.packages import generate  # noqa: E402

BATCH = 100  # packages a process
DEADLINE = 600  # seconds for a batch before its process is given up
FLOOR = 500  # packages in which each feature is compared, of 10,000
REFUSED = 0.05  # of the functions looked at, at most
COUNTS = ("compared", "refused", "broken", "outcomes")
PRELOADED = (
    "asyncio",
    "bisect",
    "copyreg",
    "dataclasses",
    "decimal",
    "enum",
    "heapq",
    "inspect",
    "mimetypes",
    "typing",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--packages", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", type=Path, help="keep finished batches here, and go on from those that are there")
    parser.add_argument("--show", type=int, metavar="SEED", help="print a package and what differs in it")
    parser.add_argument("--mutants", action="store_true", help="look whether deliberate faults are found")
    arguments = parser.parse_args()
    for name in PRELOADED:
        __import__(name)
    if arguments.show is not None:
        return show(arguments.show)
    if arguments.mutants:
        return mutants()
    started = time.perf_counter()
    tally = Tally()
    done = 0
    for part in batches(arguments.first, arguments.packages, arguments.workers, arguments.record):
        tally.add(part)
        done += part.packages
        print(
            f"\r{done} of {arguments.packages} packages, {len(tally.differences)} differences", end="", file=sys.stderr
        )
    print(file=sys.stderr)
    return report(tally, arguments.packages, time.perf_counter() - started)


# ---- batches --------------------------------------------------------------------------------------------------------


def batches(first: int, packages: int, workers: int, record: Path | None) -> Iterator[Tally]:
    """What came of each batch, as they are finished; those on record come first."""
    wanted = [(start, min(start + BATCH, first + packages)) for start in range(first, first + packages, BATCH)]
    known = dict(read_record(record)) if record is not None and record.exists() else {}
    yield from (known[span] for span in wanted if span in known)
    waiting = [span for span in reversed(wanted) if span not in known]
    running: dict[Connection, tuple[tuple[int, int], multiprocessing.Process]] = {}
    forking = multiprocessing.get_context("fork")
    while waiting or running:
        while waiting and len(running) < workers:
            ours, theirs = forking.Pipe(duplex=False)
            span = waiting.pop()
            process = forking.Process(target=batch, args=(*span, theirs), daemon=True)
            process.start()
            theirs.close()
            running[ours] = (span, process)
        ready = wait(list(running), timeout=DEADLINE)
        if not ready:
            spans = sorted(span for span, _ in running.values())
            for _, process in running.values():
                process.kill()
            raise SystemExit(f"no batch ended within {DEADLINE} s; packages {spans} were running")
        for connection in ready:
            assert isinstance(connection, Connection)
            span, process = running.pop(connection)
            try:
                tally = connection.recv()
            except EOFError:
                raise SystemExit(f"the process of packages {span} ended without a result") from None
            process.join()
            if record is not None:
                write_record(record, span, tally)
            yield tally


def batch(first: int, stop: int, connection: Connection) -> None:
    """One batch, in a process of its own; what it was born with is not looked through for garbage."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    connection.send(check_seeds(range(first, stop)))
    connection.close()


def write_record(path: Path, span: tuple[int, int], tally: Tally) -> None:
    told = {
        "packages": tally.packages,
        "functions": tally.functions,
        **{name: getattr(tally, name) for name in COUNTS},
        "differences": [(seed, asdict(difference)) for seed, difference in tally.differences],
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps([span, told]) + "\n")


def read_record(path: Path) -> Iterator[tuple[tuple[int, int], Tally]]:
    for line in path.read_text("utf-8").splitlines():
        (first, stop), told = json.loads(line)
        counts = {name: Counter(told[name]) for name in COUNTS}
        differences = [(seed, Difference(**difference)) for seed, difference in told["differences"]]
        tally = Tally(packages=told["packages"], functions=told["functions"], differences=differences, **counts)
        yield (first, stop), tally


# ---- reports --------------------------------------------------------------------------------------------------------


def report(tally: Tally, packages: int, seconds: float) -> int:
    """Prints what came of a run; the exit code."""
    floor = FLOOR * packages // 10_000
    print("| feature | packages in which it was compared |\n|---|---:|")
    for feature in FEATURES:
        print(f"| {feature.name} | {tally.compared[feature.name]} |")
    for name in sorted(name for name in tally.compared if name.startswith("(")):
        print(f"| {name} | {tally.compared[name]} |")
    refused, broken = tally.refused.total(), tally.broken.total()
    looked_at = tally.functions + refused + broken + len(tally.differences)
    print(
        f"\n{tally.packages} packages in {seconds:.0f} s; {tally.functions} functions compared on {tally.outcomes.total()} calls"
    )
    print("outcomes:", ", ".join(f"{count} {name}" for name, count in tally.outcomes.most_common(12)))
    print(f"originals that do not load: {broken} of {looked_at} ({broken / looked_at:.2%})")
    print(f"refused: {refused} of {looked_at} ({refused / looked_at:.2%})")
    for reason, count in counted(tally.refused).most_common():
        print(f"  {count} {reason}: {HONEST.get(reason, 'not an honest reason')}")
    low = [feature.name for feature in FEATURES if tally.compared[feature.name] < floor]
    print(f"features below {floor}: {', '.join(low) or 'none'}")
    print(f"differences: {len(tally.differences)}")
    for seed, difference in tally.differences[:20]:
        print(f"  seed {seed}, {difference.target} ({difference.feature}): see --show {seed}")
    return int(bool(low or tally.differences) or refused > REFUSED * looked_at)


def counted(refused: Counter[str]) -> Counter[str]:
    result: Counter[str] = Counter()
    for text, count in refused.items():
        result[text.partition(":")[0]] += count
    return result


def show(seed: int) -> int:
    """Prints one package and the programs that differ; the exit code."""
    for path, text in generate(Random(seed)).files.items():
        print(f"# file: {path}\n{text}")
    tally = check_seeds([seed])
    for _, difference in tally.differences:
        print(f"# {difference.target} ({difference.feature})\n{difference.source}")
        print(f"expected {difference.expected}\nfound    {difference.found}")
    return int(bool(tally.differences))


def mutants() -> int:
    """Prints after how many packages each deliberate fault was found; the exit code."""
    missed = 0
    print("| fault | found within | of at most |\n|---|---:|---:|")
    for mutant in MUTANTS:
        packages = found_after(mutant)
        missed += packages is None
        print(
            f"| {mutant.name} | {packages if packages is not None else 'not found'} | {mutant.packages} |", flush=True
        )
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
