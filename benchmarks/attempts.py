"""Memory of `exe run` and `exe score` as attempts grow: the same set with ever more samples a case, by a model that costs nothing.

    python benchmarks/attempts.py [--cases N] [--samples N,N,…] [--json]

Each run is a process of its own; printed are its peak memory in MiB, its CPU seconds, and the seconds of `exe score --regrade` after
it. What is flat, is flat in attempts: nine bytes a planned attempt are kept, and the set itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from runner import EXE, watch, write_set

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print a line a size, or with `--json` one object; exit 1 where attempts are missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--samples", default="10,100", help="samples a case, one run each")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_set(folder / "set", options.cases)
        for samples in map(int, options.samples.split(",")):
            rows.append(measured(folder, options.cases, samples))
            if not options.json:
                print(rows[-1], flush=True)
    if options.json:
        print(json.dumps({"runs": rows, "peak_ratio": round(rows[-1]["peak_mib"] / rows[0]["peak_mib"], 3)}))
    return 0 if all(row["attempts"] == row["recorded"] for row in rows) else 1


def measured(folder: Path, cases: int, samples: int) -> dict[str, Any]:
    """One run and its grading once more."""
    out = folder / f"results-{samples}"
    asked = ("run", "baseline:echo", "--set", str(folder / "set"), "--samples", str(samples), "--out", str(out))
    run = process([*asked, "--quiet", "--json"])
    (file,) = out.rglob("attempts.jsonl")
    graded = process(["score", str(file.parent), "--set", str(folder / "set"), "--regrade", "--json"])
    return {
        "attempts": cases * samples,
        "recorded": json.loads(run["said"])["recorded"],
        "file_mib": round(file.stat().st_size / 2**20),
        "peak_mib": round(run["peak"]),
        "cpu_s": round(run["cpu"], 1),
        "wall_s": round(run["wall"], 1),
        "regrade_peak_mib": round(graded["peak"]),
        "regrade_wall_s": round(graded["wall"], 1),
    }


def process(arguments: list[str]) -> dict[str, Any]:
    """One command to its end. Raises RuntimeError where it fails."""
    started = time.perf_counter()
    child = subprocess.Popen(
        [*EXE, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    peaks = [0.0]
    watcher = threading.Thread(target=watch, args=(child.pid, peaks))
    watcher.start()
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    watcher.join()
    if child.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {child.returncode}")
    wall = time.perf_counter() - started
    return {"said": said, "peak": max(peaks), "cpu": usage.ru_utime + usage.ru_stime, "wall": wall}


if __name__ == "__main__":
    sys.exit(main())
