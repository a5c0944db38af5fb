"""Programs beside the functions they were made from, over whole packages: how many are faithful, how many there are.

    python benchmarks/fidelity.py [development|unseen|NAME ...] [--folder DIR] [--per-package N] [--cases N] [--json]

Each package (lists: `corpus.toml`) is built into a set of its own below the folder and verified with `exe verify`; both
are kept, so that the same command goes on where it was stopped. Printed are: fidelity by package and by construct over
the functions whose cases have at least two different outcomes; what could not be compared, by reason; every mismatch;
the share of programs in which an object stands for a module; and the funnel: what became of every function read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exe import codec, taskset
from exe.records import Rejection

ROOT = Path(__file__).resolve().parents[1]
LISTS = ROOT / "benchmarks" / "corpus.toml"
EXE = (sys.executable, "-c", "import sys; from exe.cli import main; sys.exit(main())")
COUNTED = (
    "functions",
    "comparable_functions",
    "faithful_functions",
    "cases",
    "comparable_cases",
    "same_cases",
    "constant",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the sets are built."""

    folder: Path
    per_package: int
    cases: int
    workers: int


@dataclass(slots=True)
class Corpus:
    """All packages together; `trouble` holds those that gave no set or no comparison, and why."""

    packages: dict[str, dict[str, int]] = field(default_factory=dict)
    constructs: dict[str, Counter[str]] = field(default_factory=dict)
    obstacles: Counter[str] = field(default_factory=Counter)
    mismatches: list[dict[str, Any]] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    read: int = 0
    programs: int = 0
    namespaces: int = 0
    trouble: dict[str, str] = field(default_factory=dict)

    def total(self, name: str) -> int:
        """The sum of one figure over all packages."""
        return sum(figures[name] for figures in self.packages.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, verify, print; exit 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", default=["development"], help="lists of corpus.toml, or packages")
    parser.add_argument("--folder", type=Path, default=ROOT / "tasks" / "fidelity")
    parser.add_argument("--per-package", type=int, default=0, help="programs a package, 0 for all")
    parser.add_argument("--cases", type=int, default=15)
    parser.add_argument("--workers", type=int, default=2, help="packages at once")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    settings = Settings(folder=asked.folder, per_package=asked.per_package, cases=asked.cases, workers=asked.workers)
    lists = tomllib.loads(LISTS.read_text())
    names = [name for one in asked.names for name in lists.get(one, [one])]
    settings.folder.mkdir(parents=True, exist_ok=True)
    corpus = Corpus()
    with ThreadPoolExecutor(settings.workers) as pool:
        for name, problem in zip(names, pool.map(lambda name: prepare(name, settings), names), strict=True):
            if problem:
                corpus.trouble[name] = problem
            else:
                add(corpus, name, settings.folder)
            print(f"{name}: {problem or 'done'}", file=sys.stderr, flush=True)
    print(json.dumps(tree(corpus)) if asked.json else text(corpus))
    return 1 if corpus.mismatches else 0


def prepare(name: str, settings: Settings) -> str:
    """Builds and verifies one package where that is not done yet; returns what went wrong, "" for nothing."""
    folder, report = settings.folder / name, settings.folder / f"{name}.verify.json"
    build = ["build", f"pypi:{name}", "--set", str(folder), "--per-package", str(settings.per_package)]
    if not taskset.is_set(folder):
        done = run(*build, "--cases", str(settings.cases), "--workers", "1", "--quiet")
        if done.returncode != 0:
            return last_line(done.stderr)
    if report.exists() and report.stat().st_mtime >= (folder / taskset.MANIFEST).stat().st_mtime:
        return ""
    done = run("verify", str(folder), "--workers", "1", "--quiet", "--json")
    if done.returncode not in (0, 1) or not done.stdout.strip():
        return last_line(done.stderr)
    report.write_text(done.stdout)
    return ""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One `exe` command."""
    return subprocess.run([*EXE, *arguments], capture_output=True, text=True, check=False)


def last_line(said: str) -> str:
    """The last line of what a command said."""
    return (said.strip().splitlines() or ["nothing was said"])[-1]


def add(corpus: Corpus, name: str, folder: Path) -> None:
    """Adds one package's report and its set's rejections."""
    report = json.loads((folder / f"{name}.verify.json").read_text())
    corpus.packages[name] = {key: report["figures"][key] for key in COUNTED}
    for construct, figures in report["constructs"].items():
        corpus.constructs.setdefault(construct, Counter()).update({key: figures[key] for key in COUNTED})
    corpus.obstacles.update(report["not_comparable"])
    corpus.mismatches += report["mismatches"]
    tasks = taskset.read_set(folder / name)
    corpus.read += tasks.manifest.counts["functions"]
    corpus.programs += len(tasks.programs)
    corpus.namespaces += sum("ModuleType(" in program.source for program in tasks.programs.values())
    origins = [program.origin for program in tasks.programs.values()]
    kept = {origin.function for origin in origins}
    for rejection in decided(folder / name / "rejections.jsonl", kept):
        key = f"{rejection.stage}: {rejection.reason}"
        corpus.reasons[key] += 1
        corpus.examples.setdefault(key, f"{rejection.subject} ({rejection.detail[:90]})")


def decided(path: Path, kept: Collection[str]) -> Iterable[Rejection]:
    """The rejection that decided on each function that is not in the set; inputs dropped on the way apart."""
    found: dict[str, Rejection] = {}
    for rejection in codec.read_jsonl(path, Rejection):
        if rejection.subject.count(":") == 2 and rejection.subject not in kept:
            found[rejection.subject] = rejection
    return found.values()


def share(part: int, whole: int) -> str:
    """Per cent, rounded down."""
    return f"{int(part * 100_000 / whole) / 1000:.3f}%" if whole else "–"


def tree(corpus: Corpus) -> dict[str, Any]:
    """Everything as one JSON object."""
    return {
        "figures": {name: corpus.total(name) for name in COUNTED},
        "packages": corpus.packages,
        "constructs": corpus.constructs,
        "not_comparable": corpus.obstacles,
        "mismatches": corpus.mismatches,
        "read": corpus.read,
        "programs": corpus.programs,
        "namespaces": corpus.namespaces,
        "reasons": dict(corpus.reasons.most_common()),
        "trouble": corpus.trouble,
    }


def text(corpus: Corpus) -> str:
    """Everything for people."""
    lines = [f"{'':28} functions comparable faithful    cases comparable     same"]
    for name, figures in [*corpus.packages.items(), *sorted(corpus.constructs.items())]:
        lines.append(_row(name, figures))
    total = {name: corpus.total(name) for name in COUNTED}
    lines += [
        "",
        f"functions faithful   {share(total['faithful_functions'], total['comparable_functions'])} of {total['comparable_functions']}",
        f"cases the same       {share(total['same_cases'], total['comparable_cases'])} of {total['comparable_cases']}",
        f"cases comparable     {share(total['comparable_cases'], total['cases'])} of {total['cases']}",
        f"constant functions   {total['constant']} (count in no figure)",
        f"programs             {corpus.programs} of {corpus.read} functions read",
        f"stand-ins for modules in {share(corpus.namespaces, corpus.programs)} of programs",
        "",
        "not comparable (cases): " + ", ".join(f"{reason} {count}" for reason, count in corpus.obstacles.most_common()),
        "",
        "what became of the others:",
        *(f"  {count:6}  {key:36} {corpus.examples[key]}" for key, count in corpus.reasons.most_common()),
        "",
        f"mismatches: {len(corpus.mismatches)}",
        *(f"  {one['function']}  {one['reason']}  {one['call'][:120]}" for one in corpus.mismatches),
        *(f"no figures for {name}: {problem}" for name, problem in corpus.trouble.items()),
    ]
    return "\n".join(lines)


def _row(name: str, figures: dict[str, int] | Counter[str]) -> str:
    return (
        f"{name[:28]:28} {figures['functions']:9} {figures['comparable_functions']:10} {figures['faithful_functions']:8} "
        f"{figures['cases']:8} {figures['comparable_cases']:10} {figures['same_cases']:8}"
    )


if __name__ == "__main__":
    sys.exit(main())
