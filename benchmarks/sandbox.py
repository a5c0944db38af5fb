"""What one evaluation costs: CRUXEval's programs through the sandbox, beside executors without its walls.

    python benchmarks/sandbox.py [--cases N] [--json]

CPU milliseconds a case are those of the whole process tree: host, worker and every child, their start included. All
results are checked. The timed run of the sandbox includes attacks, which must be stopped and named.

| name | what it is |
|---|---|
| exe | this sandbox, a process a case |
| exe_batched | this sandbox, a process for the ten inputs of a program |
| process | the usual harness: a new interpreter (`python -I -S`) a case, a time limit and nothing else |
| fork | the floor: a bare interpreter that forks a process a case; no limits, no walls, no typed results |
| fork_batched | the same, a process for the ten inputs of a program |
| evalplus, evalplus_batched | EvalPlus's executor, a process a case, and for the ten inputs of a program (extra `bench`) |
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalplus_peer import UNAVAILABLE

from exe.records import Job, Outcome
from exe.sandbox.host import Limits, Sandbox
from exe.values import decode

ROOT = Path(__file__).resolve().parents[1]
INPUTS = 10  # of a program, in a batch
BATCHED_PROGRAMS = 200
ATTACKS = (
    "import _io\ndef f():\n    return _io.FileIO('/tmp/achieved', 'w').write(b'x')\n",
    "import os\ndef f():\n    return os.fork()\n",
    "import socket\ndef f():\n    return socket.socket().fileno()\n",
)
EACH_BY_PROCESS = "import sys\n{source}\nsys.stdout.write(repr({call}))\n"
# reads [[source, [call, …]], …] from stdin; writes, a line each, the repr of each result or the class of the exception
EACH_BY_FORK = """
import json, os, sys
jobs = json.loads(sys.stdin.read())
def run(source, calls):
    code, told = compile(source, "<program>", "exec"), []
    for call in calls:
        namespace = {"__name__": "program"}
        exec(code, namespace)
        try:
            told.append(repr(eval(call, namespace)))
        except Exception as error:
            told.append("!" + type(error).__name__)
    return told
for source, calls in jobs:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        sys.stdout = None  # what programs print
        with open(write, "w") as pipe:
            pipe.write(json.dumps(run(source, calls)))
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        sys.stdout.write(pipe.read() + "\\n")
    os.waitpid(pid, 0)
"""


class Program(NamedTuple):
    """A program and its calls; `truths` are the values that they must give, None where only peers can tell."""

    source: str
    calls: tuple[str, ...]
    truths: tuple[Any, ...] | None


class Measured(NamedTuple):
    """One run of one executor."""

    cpu_ms: float  # a case
    cases_per_second: float
    right: int
    cases: int


def main() -> int:
    """Print a table, or with `--json` one object. Exit status 1 where a result is wrong, 2 where data is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=800, help="of CRUXEval's 800, from the first on")
    parser.add_argument("--workers", type=int, default=1, help="of the sandbox")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    path = data_file()
    if path is None:
        places = "$EXE_SHARED_DATA/cruxeval/cruxeval.jsonl or ../shared/data/cruxeval/cruxeval.jsonl"
        print(f"CRUXEval's data is not there: {places}", file=sys.stderr)
        return 2
    single = load(path)[: options.cases]
    batched = harmless(more_inputs(program) for program in single)[:BATCHED_PROGRAMS]
    sandbox = ours(single, workers=options.workers, batch=False)
    runs = {
        "exe": sandbox[0],
        "process": by_process(single),
        "fork": by_fork(single)[0],
    }
    runs["fork_batched"], told = by_fork(batched)
    batched = with_truths(batched, told)
    runs["exe_batched"], level = ours(batched, workers=options.workers, batch=True)
    for name, programs in (("evalplus", single), ("evalplus_batched", batched)):
        if (measured := by_evalplus(programs)) is None:
            print(f"{name}: not installed here; pip install 'execution-eval[bench]'", file=sys.stderr)
        else:
            runs[name] = measured
    report(runs, level, as_json=options.json)
    return 0 if all(run.right == run.cases for run in runs.values()) else 1


def data_file() -> Path | None:
    """CRUXEval's file, from the environment or beside this checkout."""
    roots = (os.environ.get("EXE_SHARED_DATA"), ROOT.parent / "shared" / "data")
    paths = [Path(root) / "cruxeval" / "cruxeval.jsonl" for root in roots if root]
    return next((path for path in paths if path.is_file()), None)


def load(path: Path) -> list[Program]:
    """The programs with their one call each."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Program(row["code"], (f"f({row['input']})",), (ast.literal_eval(row["output"]),)) for row in rows]


def more_inputs(program: Program) -> Program:
    """The program with INPUTS distinct inputs: the known one, and others made from it."""
    call = ast.parse(program.calls[0], mode="eval").body
    assert isinstance(call, ast.Call)
    calls = [program.calls[0]]
    for step in range(1, INPUTS):
        tree = ast.parse(program.calls[0], mode="eval")
        calls.append(ast.unparse(Vary(step).visit(tree)) if call.args else f"f(*[{step}])")
    unique = [*dict.fromkeys(calls)]
    unique += [f"f({', '.join(['None'] * number)})" for number in range(9, 9 + INPUTS - len(unique))]
    return Program(program.source, tuple(unique), None)


class Vary(ast.NodeTransformer):
    """Another input of the same shape: numbers moved, texts lengthened."""

    def __init__(self, step: int) -> None:
        self.step = step

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """One literal."""
        match node.value:
            case bool() | None:
                return node
            case int() | float():
                return ast.Constant(abs(node.value + self.step))
            case str():
                return ast.Constant(node.value + "ab 1x"[: self.step % 6] * (1 + self.step // 6))
        return node


def harmless(programs: Iterable[Program]) -> list[Program]:
    """Those that come to an end on all their inputs, since the peers here have nothing that would stop them."""
    listed = list(programs)
    limits = Limits(cpu_seconds=0.5, memory_bytes=256 << 20)
    with Sandbox(limits=limits) as sandbox:
        found = sandbox.execute(Job(source=program.source, calls=program.calls, batch=True) for program in listed)
        return [
            program
            for program, outcomes in zip(listed, found, strict=True)
            if all(outcome.status in ("value", "error") for outcome in outcomes)
        ]


def with_truths(programs: Sequence[Program], told: Sequence[Sequence[str]]) -> list[Program]:
    """The programs with what the floor said of each call: a value, or the class of an exception as text."""
    return [
        program._replace(truths=tuple(Told(text) for text in texts))
        for program, texts in zip(programs, told, strict=True)
    ]


class Told(str):
    """What another executor said: a repr, or an exception's class behind an exclamation mark."""


def ours(programs: Sequence[Program], *, workers: int, batch: bool) -> tuple[Measured, str]:
    """Through the sandbox, with three attacks among the cases; also its level of isolation."""
    jobs = [Job(source=program.source, calls=program.calls, batch=batch) for program in programs]
    attacks = [Job(source=source, calls=("f()",), batch=batch) for source in ATTACKS]
    step = max(1, len(jobs) // len(attacks))
    spread = [job for place, job in enumerate(jobs) for job in (job, *attacks[place // step :][: place % step == 0])]
    attacked = [job for job in spread if job in attacks]
    before, began = time.process_time(), time.perf_counter()
    with Sandbox(workers=workers) as sandbox:
        outcomes = list(sandbox.execute(spread))
        seconds = time.perf_counter() - began
        started = [worker.process.pid for worker in sandbox._workers]
        cpu = time.process_time() - before + sum(map(tree_cpu, started))
        level = f"{sandbox.isolation.level} {sandbox.isolation.name}"
    stopped = sum(of[0].status == "impure" for job, of in zip(spread, outcomes, strict=True) if job in attacks)
    found = [of for job, of in zip(spread, outcomes, strict=True) if job not in attacks]
    right = sum(
        matches(outcome, truth)
        for program, of in zip(programs, found, strict=True)
        for outcome, truth in zip(of, program.truths or (), strict=True)
    )
    cases = sum(len(job.calls) for job in spread)
    assert len(attacked) == len(ATTACKS)
    return Measured(cpu * 1000 / cases, cases / seconds, right + stopped, cases), level


def matches(outcome: Outcome, truth: Any) -> bool:
    """Whether an outcome is the known value, of the known type, or what another executor said."""
    if outcome.typed is None:
        return False
    if outcome.status == "error":
        return isinstance(truth, Told) and truth == "!" + str(outcome.typed["error"]["code"])
    value = decode(outcome.typed["value"])
    return repr(value) == truth if isinstance(truth, Told) else type(value) is type(truth) and bool(value == truth)


def by_process(programs: Sequence[Program]) -> Measured:
    """A new interpreter a case."""
    executable = getattr(sys, "_base_executable", None) or sys.executable

    def run() -> Iterator[bool]:
        for program in programs:
            text = EACH_BY_PROCESS.format(source=program.source, call=program.calls[0])
            command = [executable, "-I", "-S", "-c", text]
            done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
            yield done.returncode == 0 and ast.literal_eval(done.stdout) == (program.truths or ())[0]

    return timed(len(programs), lambda: sum(run()))


def by_fork(programs: Sequence[Program]) -> tuple[Measured, list[list[str]]]:
    """A fork of a bare interpreter a program; also what each call gave."""
    executable = getattr(sys, "_base_executable", None) or sys.executable
    told: list[list[str]] = []

    def run() -> int:
        text = json.dumps([[program.source, program.calls] for program in programs])
        command = [executable, "-I", "-S", "-c", EACH_BY_FORK]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        told.extend(json.loads(line) for line in done.stdout.splitlines())
        return sum(
            program.truths is None or ast.literal_eval(text) == program.truths[0]
            for program, texts in zip(programs, told, strict=True)
            for text in texts
        )

    return timed(sum(len(program.calls) for program in programs), run), told


def by_evalplus(programs: Sequence[Program]) -> Measured | None:
    """EvalPlus's executor; None where it is not installed. A call that it cannot be given counts as no case of it."""
    rows = []
    for program in programs:
        pairs = [
            (arguments, _literal(truth))
            for call, truth in zip(program.calls, program.truths or (), strict=True)
            if (arguments := _positional(call)) is not None
        ]
        rows.append([program.source, [pair[0] for pair in pairs], [pair[1] for pair in pairs]])
    told: list[str] = []
    trouble: list[int] = []

    def run() -> int:
        command = [sys.executable, str(ROOT / "benchmarks" / "evalplus_peer.py")]
        done = subprocess.run(command, input=json.dumps(rows), stdout=subprocess.PIPE, text=True, check=False)
        trouble.append(done.returncode)
        told.extend(done.stdout.splitlines())
        return 0

    measured = timed(sum(len(row[1]) for row in rows), run)
    if trouble == [UNAVAILABLE]:
        return None
    right = sum(
        said == (truth is not None)
        for row, line in zip(rows, told, strict=True)
        for said, truth in zip(json.loads(line), row[2], strict=True)
    )
    return measured._replace(right=right)


def _positional(call: str) -> list[str] | None:
    """The texts of the arguments of a call; None where they are not literals by position."""
    tree = ast.parse(call, mode="eval").body
    if not isinstance(tree, ast.Call) or tree.keywords:
        return None
    texts = [ast.unparse(argument) for argument in tree.args]
    try:
        for text in texts:
            ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return texts


def _literal(truth: Any) -> str | None:
    """A truth as text, None for an exception."""
    if isinstance(truth, Told):
        return None if truth.startswith("!") else str(truth)
    return repr(truth)


def timed(cases: int, run: Callable[[], int]) -> Measured:
    """Runs what starts and awaits its own processes."""
    before, began = _used(), time.perf_counter()
    right = run()
    return Measured((_used() - before) * 1000 / cases, cases / (time.perf_counter() - began), right, cases)


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def tree_cpu(pid: int) -> float:
    """CPU seconds of a living process, of all below it, and of those of its children that it has awaited."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        below = sum(tree_cpu(int(child)) for child in children)
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0.0  # it has ended just now, and is told of by its parent, which is read after it
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + below


def report(runs: dict[str, Measured], level: str, *, as_json: bool) -> None:
    """A table with ratios to the sandbox of the same kind, or one JSON object."""
    if as_json:
        print(
            json.dumps(
                {
                    "cpu_ms_per_case": {name: round(run.cpu_ms, 3) for name, run in runs.items()},
                    "cases_per_second": {name: round(run.cases_per_second, 1) for name, run in runs.items()},
                    "right": {name: [run.right, run.cases] for name, run in runs.items()},
                    "isolation": level,
                }
            )
        )
        return
    print(f"isolation level {level}; Python {sys.version.split()[0]}; {len(os.sched_getaffinity(0))} CPUs")
    print(f"{'':14}{'CPU ms a case':>14}{'to exe':>8}{'to batch':>9}{'cases/s':>9}{'right':>12}")
    for name, run in runs.items():
        ratios = [f"{run.cpu_ms / runs[of].cpu_ms:.1f}x" for of in ("exe", "exe_batched")]
        print(
            f"{name:14}{run.cpu_ms:14.2f}{ratios[0]:>8}{ratios[1]:>9}{run.cases_per_second:9.0f}"
            f"{f'{run.right}/{run.cases}':>12}"
        )


if __name__ == "__main__":
    sys.exit(main())
