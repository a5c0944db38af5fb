"""Do calls read as a person would write them? The lengths of all calls of some sets, and a random page of them.

    python benchmarks/calls.py SET... [--shown N] [--seed N] [--write FILE] [--json]

SET is the folder of a task set; folders that hold sets are searched. `--write` makes the page of `docs/`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from pathlib import Path

from exe import taskset

TARGET = 120


def main() -> int:
    """Print the figures. Exit status 1 where the median is over the target, 2 where there is no call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--shown", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folders = sorted({path.parent for root in options.sets for path in root.rglob("manifest.json")})
    calls: list[tuple[str, str]] = []
    for folder in folders:
        tasks = taskset.read_set(folder)
        calls += [(tasks.program(case).origin.package, case.call) for case in tasks.cases]
    if not calls:
        print("no case in these folders", file=sys.stderr)
        return 2
    lengths = sorted(len(call) for _, call in calls)
    figures = {
        "calls": len(calls),
        "packages": len({package for package, _ in calls}),
        "median": statistics.median(lengths),
        "at_most_80": sum(length <= 80 for length in lengths) / len(lengths),
        "at_most_120": sum(length <= TARGET for length in lengths) / len(lengths),
        "longest": lengths[-1],
    }
    shown = sorted(random.Random(options.seed).sample(calls, min(options.shown, len(calls))))
    if options.write is not None:
        options.write.write_text(page(figures, shown))
    if options.json:
        print(json.dumps(figures))
    else:
        print("\n".join(call for _, call in shown))
        print("  ".join(f"{name} {value:.4g}" for name, value in figures.items()))
    return 0 if figures["median"] <= TARGET else 1


def page(figures: dict[str, float], shown: list[tuple[str, str]]) -> str:
    """The page: figures, then the calls as they stand in the questions."""
    head = (
        "# Calls\n"
        f"{len(shown)} drawn at random from the {figures['calls']:,} calls of sets of {figures['packages']} packages, inputs by the offline"
        f" generator. Half of all calls have at most {figures['median']:.0f} characters, {figures['at_most_120']:.1%} at most {TARGET}."
        " Made by `python benchmarks/calls.py SET... --write docs/CALLS.md`.\n\n```python\n"
    )
    return head + "\n".join(call if len(call) <= 300 else f"{call[:297]}..." for _, call in shown) + "\n```\n"


if __name__ == "__main__":
    sys.exit(main())
