"""What asking costs: `exe run` against a server with a fixed latency, beside other harnesses and bare clients.

    python benchmarks/runner.py [--requests N] [--peers DIR|none] [--json]

All ask the same questions of the same server (`chat_stub.py`), one after the other in one run: 200 ms latency with 64 requests at
once, 500 ms with 256. `exe run` is a process like any user's: it reads the set, asks, parses, grades, writes each attempt, sorts and
scores; so are the others. The ideal is requests x latency / concurrency. Processor time is that of the process and all below it,
peak memory that of the process, the start included; what the start alone takes (one request) is told beside. Peers get environments of their own
below DIR (default: the cache), made where they are missing.

| name | what it is |
|---|---|
| exe | `exe run openai:stub@URL` |
| sdk, sdk_aiohttp | the official SDK in a loop that drops each text: the floor of everything that uses it |
| aiohttp | no SDK: JSON over aiohttp |
| inspect_ai | `inspect eval` with `-M responses_api=false` |
| lm_eval | `lm_eval --model local-chat-completions` |
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from runner_peers import INSPECT_TASK, LM_EVAL_TASK, UNAVAILABLE

from exe import codec, taskset
from exe.cli.options import cache_folder
from exe.codec import content_id
from exe.records import Case, Manifest, Origin, Program
from runners.job import RunSettings, prepare
from runners.models import open_model
from runners.results import ATTEMPTS, read_attempts

HERE = Path(__file__).resolve().parent
EXE = (sys.executable, "-c", "import sys; from exe.cli import main; sys.exit(main())")
SETTINGS = ((64, 0.2), (256, 0.5))
"""(Requests at once, seconds that each takes)."""
CASES_A_PROGRAM = 10
PEERS = {"inspect_ai": ("inspect-ai", "openai"), "lm_eval": ("lm-eval[api]",)}
BARE = ("sdk", "sdk_aiohttp", "aiohttp")
SOURCE = '''\
def spread_{n}(text: str, width: int = 4) -> list[str]:
    """Cut a text into lines of a width and number them."""
    lines = []
    for start in range(0, len(text), max(1, width)):
        piece = text[start : start + width]
        if piece.strip():
            lines.append(f"{{len(lines) + {n}}}: {{piece}}")
    return lines
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One process that asked everything. Seconds; `peak_mib` of the process itself."""

    wall: float
    cpu: float
    peak_mib: float
    served: int


def main() -> int:
    """Print a table, or with `--json` one object; exit 1 where somebody did not ask every question once."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--peers", default=None, metavar="DIR|none", help="where their environments are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    peers = {} if options.peers == "none" else environments(Path(options.peers or cache_folder() / "peers"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        questions = prepared(folder, options.requests)
        found: dict[str, dict[int, Run]] = {}
        starts: dict[str, float] = {}
        for who, command in commands(folder, peers).items():
            start = measured(command, 1, folder / "one", 0.0)
            if start is None:
                print(f"{who}: not installed here", file=sys.stderr)
                continue
            starts[who] = start.cpu
            for concurrency, latency in SETTINGS:
                run = measured(command, concurrency, folder, latency)
                if run is not None:
                    found.setdefault(who, {})[concurrency] = run
                    print(f"{who} at {concurrency}: {run}", file=sys.stderr)
        answered = sum(1 for path in folder.rglob(ATTEMPTS) for one in read_attempts(path) if one.verdict != "failed")
    told = report(found, starts, questions)
    told["exe_attempts"] = answered
    print(json.dumps(told) if options.json else table(told))
    whole = all(run.served == questions for runs in found.values() for run in runs.values())
    return 0 if whole and answered == questions * len(SETTINGS) + 1 else 1


def prepared(folder: Path, count: int) -> int:
    """The set and the same questions for everybody, and one of them alone for the start; how many there are."""
    for place, wanted in ((folder, count), (folder / "one", 1)):
        write_set(place / "set", wanted)
        tasks = taskset.read_set(place / "set")
        job = prepare(open_model("openai:stub@http://127.0.0.1:9/v1"), tasks, RunSettings())
        requests = [job.request(*job.plan.at(position)) for position in range(len(job.plan))]
        questions = [
            {
                "messages": [codec.to_json(message) for message in request.messages],
                "max_tokens": request.max_tokens,
                "temperature": request.temperature,
            }
            for request in requests
        ]
        (place / "questions.json").write_text(json.dumps(questions))
        (place / "inspect_stub.py").write_text(INSPECT_TASK.format(path=str(place / "questions.json")))
        rows = ({"prompt": one["messages"][-1]["content"], "target": "7"} for one in questions)
        (place / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (place / "lm").mkdir()
        (place / "lm" / "stub.yaml").write_text(LM_EVAL_TASK.format(path=place / "questions.jsonl", **questions[0]))
    return count


def write_set(folder: Path, count: int) -> None:
    """A task set of so many cases. What they state is not looked at: the server says one thing to all."""
    folder.mkdir(parents=True)
    programs: list[Program] = []
    cases: list[Case] = []
    for number in range(count):
        if number % CASES_A_PROGRAM == 0:
            programs.append(_program(number // CASES_A_PROGRAM))
        cases.append(_case(programs[-1], number % CASES_A_PROGRAM))
    manifest = Manifest(
        name="stub",
        format=taskset.FORMAT,
        builder="benchmark",
        python="{}.{}.{}".format(*sys.version_info),
        generator="offline",
        seed=0,
        sources=(),
        counts={},
        files={},
        canary="",
    )
    taskset.write_set(folder, manifest, programs, cases, [], [])


def _program(number: int) -> Program:
    source = SOURCE.format(n=number)
    entry = f"spread_{number}"
    return Program(
        id=content_id({"entry": entry, "source": source}),
        entry=entry,
        source=source,
        parameters={"type": "object", "properties": {"text": {"type": "string"}, "width": {"type": "integer"}}},
        returns="list[str]",
        origin=Origin(package="stub", version="1", module="stub", qualname=entry, path="stub.py", line=1),
        provenance={},
    )


def _case(program: Program, turn: int) -> Case:
    arguments = {"text": "the quick brown fox " * (turn + 1), "width": turn + 3}
    plain = {"value": [str(turn)]}
    return Case(
        id=content_id({"program": program.id, "turn": turn}),
        program=program.id,
        kind="output",
        arguments=arguments,
        call=f"{program.entry}(text={arguments['text']!r}, width={arguments['width']})",
        expected=plain,
        typed=plain,
    )


class Started(NamedTuple):
    """How a process is started: `environment` is what it has beside ours."""

    arguments: list[str]
    folder: Path
    environment: dict[str, str]


Command = Callable[[str, int, Path], Started]
"""Base URL, requests at once, folder with the questions."""


def commands(folder: Path, peers: dict[str, Path]) -> dict[str, Command]:
    """How everybody is started."""

    def ours(url: str, concurrency: int, place: Path) -> Started:
        out = folder / f"results-{place.name}-{concurrency}"
        asked = ("run", f"openai:stub@{url}", "--set", str(place / "set"), "--concurrency", str(concurrency))
        arguments = [*EXE, *asked, "--out", str(out), "--quiet", "--json"]
        return Started(arguments, place, {"PYTHONPATH": str(HERE.parent)})

    def bare(kind: str) -> Command:
        def command(url: str, concurrency: int, place: Path) -> Started:
            script = str(HERE / "runner_peers.py")
            arguments = [sys.executable, script, kind, str(place / "questions.json"), url, str(concurrency)]
            return Started(arguments, place, {})

        return command

    def inspect(url: str, concurrency: int, place: Path) -> Started:
        asked = ("eval", "inspect_stub.py", "--model", "openai/stub", "-M", "responses_api=false")
        limits = ("--max-connections", str(concurrency), "--max-samples", str(concurrency), "--display", "none")
        logs = ("--log-dir", str(place / f"logs-{concurrency}"), "--no-fail-on-error")
        arguments = [str(peers["inspect_ai"] / "bin" / "inspect"), *asked, *limits, *logs]
        return Started(arguments, place, {"OPENAI_BASE_URL": url})

    def lm_eval(url: str, concurrency: int, place: Path) -> Started:
        model = f"model=stub,base_url={url}/chat/completions,num_concurrent={concurrency},max_retries=1,tokenized_requests=False"
        asked = ("--model", "local-chat-completions", "--model_args", model, "--tasks", "stub", "--apply_chat_template")
        arguments = [str(peers["lm_eval"] / "bin" / "lm_eval"), *asked, "--include_path", str(place / "lm")]
        return Started(arguments, place, {})

    found: dict[str, Command] = {"exe": ours, **{kind: bare(kind) for kind in BARE}}
    known = {"inspect_ai": inspect, "lm_eval": lm_eval}
    return found | {name: known[name] for name in peers}


def environments(folder: Path) -> dict[str, Path]:
    """The peers' environments, made where they are missing; one that cannot be made is told of and left out."""
    found = {}
    for name, packages in PEERS.items():
        place = folder / name
        if not (place / "made").exists():
            print(f"{name}: making an environment in {place}", file=sys.stderr)
            steps = ([sys.executable, "-m", "venv", str(place)], [str(place / "bin/pip"), "install", "-q", *packages])
            failed = next((step for step in steps if subprocess.run(step, check=False).returncode), None)
            if failed:
                print(f"{name}: {shlex.join(failed)} failed", file=sys.stderr)
                continue
            (place / "made").touch()
        found[name] = place
    return found


def measured(command: Command, concurrency: int, folder: Path, latency: float) -> Run | None:
    """One process against a server of its own; None where a library is missing. Raises RuntimeError where it fails."""
    stub = subprocess.Popen(
        [sys.executable, str(HERE / "chat_stub.py"), str(latency)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert stub.stdout is not None
    url = f"http://127.0.0.1:{stub.stdout.readline().strip()}/v1"
    arguments, place, extra = command(url, concurrency, folder)
    started = time.perf_counter()
    quiet = {"OPENAI_API_KEY": "sk-none", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    process = subprocess.Popen(
        arguments,
        cwd=place,
        env={**os.environ, **quiet, **extra},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said: list[str] = []
    peaks = [0.0]
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: said.append(process.stdout.read() if process.stdout else ""))
    watcher = threading.Thread(target=watch, args=(process.pid, peaks))
    reader.start()
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = code = os.waitstatus_to_exitcode(status)
    reader.join()
    watcher.join()
    served = json.loads(stub.communicate("")[0].splitlines()[-1])["requests"]
    if code == UNAVAILABLE and "runner_peers" in shlex.join(arguments):
        return None
    if code:
        raise RuntimeError(f"{shlex.join(arguments)} ended with {code}:\n{said[0][-2000:]}")
    cpu = usage.ru_utime + usage.ru_stime
    return Run(wall=wall, cpu=cpu, peak_mib=max(peaks), served=served)


def watch(pid: int, peaks: list[float]) -> None:
    """Note the most memory (MiB) that a process ever held, as long as it lives; what `wait4` says begins at our own."""
    path = Path(f"/proc/{pid}/status")
    while True:
        try:
            text = path.read_text()
        except OSError:
            return
        peak = next((line.split()[1] for line in text.splitlines() if line.startswith("VmHWM:")), None)
        if peak is None:  # it has ended
            return
        peaks.append(int(peak) / 1024)
        time.sleep(0.1)


def report(found: dict[str, dict[int, Run]], starts: dict[str, float], questions: int) -> dict[str, Any]:
    """All figures. Those of `exe` stand in front of a bar; ratios are of one run."""
    ideal = {concurrency: questions * latency / concurrency for concurrency, latency in SETTINGS}
    first = SETTINGS[0][0]
    cpu = {who: runs[first].cpu * 1000 / questions for who, runs in found.items() if first in runs}
    peers = [cpu[who] for who in PEERS if who in cpu]
    return {
        "requests": questions,
        "wall_over_ideal": {str(at): round(found["exe"][at].wall / seconds, 3) for at, seconds in ideal.items()},
        "cpu_ms_per_request": {who: round(value, 3) for who, value in cpu.items()},
        "over_sdk_ms": round(cpu["exe"] - cpu["sdk"], 3) if "sdk" in cpu else None,
        "better_peer_over_exe": round(min(peers) / cpu["exe"], 2) if peers else None,
        "start_cpu_s": {who: round(value, 2) for who, value in starts.items()},
        "others_wall_over_ideal": {
            who: {str(at): round(run.wall / ideal[at], 3) for at, run in runs.items()}
            for who, runs in found.items()
            if who != "exe"
        },
        "cpu_ms_per_request_at": {
            who: {str(at): round(run.cpu * 1000 / questions, 3) for at, run in runs.items()}
            for who, runs in found.items()
        },
        "peak_mib": {who: round(max(run.peak_mib for run in runs.values())) for who, runs in found.items()},
        "served": {who: [run.served for run in runs.values()] for who, runs in found.items()},
    }


def table(told: dict[str, Any]) -> str:
    """The figures for people, with what is asked of them."""
    at: Sequence[str] = [str(concurrency) for concurrency, _ in SETTINGS]
    walls = {"exe": told["wall_over_ideal"], **told["others_wall_over_ideal"]}
    lines = [
        f"{told['requests']:,} requests",
        "",
        "| | wall / ideal at " + " | at ".join(at) + " | CPU ms a request | MiB | start, CPU s |",
    ]
    lines.append("|---" * 6 + "|")
    for who, cpu in told["cpu_ms_per_request"].items():
        over = " | ".join(f"{walls[who][one]:.2f}" for one in at)
        lines.append(f"| {who} | {over} | {cpu:.2f} | {told['peak_mib'][who]} | {told['start_cpu_s'][who]:.2f} |")
    lines += ["", f"over the SDK: {told['over_sdk_ms']} ms a request (asked: at most 1)"]
    lines.append(f"better peer / exe: {told['better_peer_over_exe']} (asked: at least 5)")
    lines.append(f"wall over ideal: {told['wall_over_ideal']} (asked: at most 1.15 and 1.3)")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
