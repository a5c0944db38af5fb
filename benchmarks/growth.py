"""Do novel cases keep coming? Inputs without end for the functions that the paper printed, against CPU time.

    python benchmarks/growth.py [--novel N] [--seconds S] [--write FOLDER] [--json]

The functions come from the shared file `paper_functions.jsonl`, each in the version that stands there. A case is novel where its outcome,
or its path through the program's branches, had not been seen before. A run ends at `--novel` cases, where there are no further
inputs, where fifty pools of up to 100 brought nothing new, or after `--seconds` of CPU time. `--write` puts a plot of each function and the figures into a folder (matplotlib).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from branching import Subject, Watched, cpu

from exe import chain
from exe.analysis import functions, read_project, signatures
from exe.inline import Inlined, inline
from exe.inputs.grow import grow
from exe.records import Candidate, Package
from exe.sandbox.host import Sandbox
from exe.sources import scrape
from exe.sources.files import Options

ROOT = Path(__file__).resolve().parents[1]
ROWS = Path(os.environ.get("EXE_SHARED_DATA", ROOT.parent / "shared" / "data")) / "paper_functions.jsonl"


def main() -> int:
    """Print a line a function, or one JSON object. Exit status 1 where a function neither grew nor ended by itself."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--novel", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds a function, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("EXE_CACHE", Path.home() / ".cache" / "exe")))
    parser.add_argument("--write", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row for line in ROWS.read_text().splitlines() if (row := json.loads(line))["in_paper"]]
    found = []
    with Sandbox(workers=1) as sandbox:
        for row in rows:
            name = f"{row['package']}=={row['version']}:{row['module']}:{row['qualname']}"
            subject = _subject(row, options.cache)
            if isinstance(subject, str):
                found.append({"name": name, "steps": [], "ended": subject})
                continue
            found.append({"name": name, **_grown(subject, sandbox, options)})
            if not options.json:
                print(_line(found[-1]), flush=True)
    if options.write is not None:
        options.write.mkdir(parents=True, exist_ok=True)
        (options.write / "growth.json").write_text(json.dumps(found))
        _plot(found, options.write / "growth.png")
    if options.json:
        print(json.dumps(found))
    return 0 if all(one["ended"] in ("enough", "exhausted", "settled") for one in found if one["steps"]) else 1


def _subject(row: dict[str, Any], cache: Path) -> Subject | str:
    """The program of a row, or why there is none."""
    requirement = f"pypi:{row['package']}=={row['version']}"
    items = list(scrape(requirement, cache=cache, options=Options(environment=False)))
    package = next((item for item in items if isinstance(item, Package)), None)
    if package is None:
        return "; ".join(f"{item.reason}: {item.detail}" for item in items if not isinstance(item, Package))
    project = read_project(package)
    for function in functions(project):
        if (function.module.name, function.qualname) == (row["module"], row["qualname"]):
            candidate = signatures.candidate(project, function, package, why_not=lambda _: None)
            if not isinstance(candidate, Candidate):
                return f"{candidate.reason}: {candidate.detail}"
            made = inline(project, candidate)
            if not isinstance(made, Inlined):
                return f"{made.reason}: {made.detail}"
            program = chain.to_program(made, candidate)
            return Subject(row["qualname"], program, program.source, ())
    return "no such function"


def _grown(subject: Subject, sandbox: Sandbox, options: argparse.Namespace) -> dict[str, Any]:
    execute = Watched(subject, sandbox)
    before = cpu()
    steps = []
    ended = "time"
    for now in grow(subject.program, seed=options.seed, wanted=options.novel, execute=execute):
        seconds = cpu() - before
        steps.append(
            {
                "seconds": round(seconds, 3),
                **{name: getattr(now, name) for name in ("executions", "valid", "novel", "outputs", "paths")},
            }
        )
        if now.exhausted:
            ended = "exhausted"
        elif now.settled:
            ended = "settled"
        elif now.novel >= options.novel:
            ended = "enough"
        elif seconds > options.seconds:
            break
    return {"steps": steps, "ended": ended}


def _line(one: dict[str, Any]) -> str:
    last = one["steps"][-1]
    words = {
        "enough": "",
        "exhausted": ", and there are no further inputs",
        "settled": ", and nothing new comes",
        "time": ", time is up",
    }[one["ended"]]
    return (
        f"{one['name']}: {last['novel']} novel of {last['valid']} valid cases in {last['seconds']:.1f} CPU s,"
        f" {last['outputs']} outputs, {last['paths']} paths{words}"
    )


def _plot(found: list[dict[str, Any]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shown = [one for one in found if one["steps"]]
    figure, axes = plt.subplots(-(-len(shown) // 3), 3, figsize=(14, 3.2 * -(-len(shown) // 3)), squeeze=False)
    for axis, one in zip(axes.flat, shown, strict=False):
        seconds = [step["seconds"] for step in one["steps"]]
        for name in ("novel", "outputs", "paths"):
            axis.plot(seconds, [step[name] for step in one["steps"]], label=name)
        axis.set_title(one["name"].rpartition(":")[2], fontsize=9)
        axis.set_xlabel("CPU seconds", fontsize=8)
    for axis in axes.flat[len(shown) :]:
        axis.axis("off")
    axes.flat[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    sys.exit(main())
