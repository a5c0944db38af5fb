"""Twenty thousand cases, some of them attacks, through one sandbox: is every result right, and is nothing left behind?

    python benchmarks/soak.py [--cases N] [--json]

Cases are CRUXEval's programs, a process a case and in batches by turns; three of a hundred are attacks of the kinds that
`tests/security` knows, each of which must be named for what it is. Checked: every value, the number of living workers,
open descriptors, the memory of host and workers after the first tenth against the end, and processes left when the
sandbox is closed, and when a host is killed while it works. Exit status 1 where anything is amiss.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sandbox import ROOT, data_file, load, matches

from exe.records import Job, Outcome
from exe.sandbox.host import Limits, Sandbox

ONE_IN = 33  # cases a case that is an attack
BATCH = 10  # calls of a job
GROWTH = 1.2  # times the memory after the warm part, at most
LIMITS = Limits(wall_seconds=1.0, cpu_seconds=0.25, memory_bytes=128 << 20, output_bytes=1 << 20, result_bytes=1 << 18)
ATTACKS = (
    ("impure", "import _io\ndef f():\n    return _io.FileIO('/tmp/achieved', 'w').write(b'x')\n"),
    ("impure", "import os\ndef f():\n    return os.fork()\n"),
    ("impure", "import socket\ndef f():\n    return socket.socket().fileno()\n"),
    ("impure", "import os\ndef f():\n    os.kill(os.getppid(), 9)\n"),
    ("impure", "import os\ndef f():\n    os.memfd_create('x')\n"),
    ("timeout", "def f():\n    while True:\n        pass\n"),
    ("memory", "def f():\n    kept = []\n    while True:\n        kept.append(bytearray(1 << 22))\n"),
    ("overflow", "def f():\n    while True:\n        print('x' * 10000)\n"),
    ("overflow", "def f():\n    return 'x' * (1 << 20)\n"),
    ("crashed", "import os\ndef f():\n    os._exit(0)\n"),
    ("crashed", "import os\ndef f():\n    os.closerange(0, 64)\n    return 1\n"),
    ("forged", "import os\ndef f():\n    for d in range(3, 64):\n        try:\n            os.write(d, b'junk')\n"
               "        except OSError:\n            pass\n    return 1\n"),
)  # fmt: skip
HOST = """
import sys
from exe.records import Job
from exe.sandbox.host import Sandbox
jobs = [Job(source="import time\\ndef f():\\n    time.sleep(60)\\n", calls=("f()",))] * 4
with Sandbox(workers=2) as sandbox:
    print("ready", flush=True)
    list(sandbox.execute(jobs))
"""


class Soak(NamedTuple):
    """What was seen."""

    cases: int
    attacks: int
    wrong: int
    misnamed: dict[str, int]  # what became of attacks that were not classified as they should be
    workers: tuple[int, int]  # wanted, living at the end
    started: int  # workers, those that replaced others included
    descriptors: tuple[int, int]  # of the host, early and at the end
    memory_mb: tuple[float, float]  # of host and workers, early and at the end
    left: int  # processes below the host when the sandbox was closed
    left_by_killed_host: int
    seconds: float

    @property
    def well(self) -> bool:
        """Whether nothing is amiss."""
        flat = self.memory_mb[1] <= GROWTH * self.memory_mb[0] and self.descriptors[1] <= self.descriptors[0]
        whole = self.workers[0] == self.workers[1] and not self.left and not self.left_by_killed_host
        return not self.wrong and not self.misnamed and flat and whole


class Part(NamedTuple):
    """A job, and what each of its calls must give: a value's program, or an attack's status."""

    job: Job
    truth: object
    status: str


def main() -> int:
    """Print what was seen. Exit status 1 where something is amiss, 2 where data is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    path = data_file()
    if path is None:
        print("CRUXEval's data is not there: see benchmarks/sandbox.py", file=sys.stderr)
        return 2
    seen = soak(path, options.cases, options.workers)
    if options.json:
        print(json.dumps({**seen._asdict(), "well": seen.well}))
    else:
        for name, value in seen._asdict().items():
            print(f"{name:20} {value}")
    return 0 if seen.well else 1


def parts(path: Path, cases: int) -> Iterator[Part]:
    """Jobs of `cases` cases in all: single calls, batches of the same call, attacks in between."""
    programs = load(path)
    made = attacks = turn = 0
    while made < cases:
        if attacks * ONE_IN <= made:
            status, source = ATTACKS[attacks % len(ATTACKS)]
            batch = attacks // len(ATTACKS) % 2 == 1
            yield Part(Job(source=source, calls=("f()",), batch=batch), None, status)
            attacks, made = attacks + 1, made + 1
            continue
        program = programs[turn % len(programs)]
        calls = program.calls * (min(BATCH, cases - made) if turn % 2 else 1)
        yield Part(Job(source=program.source, calls=calls, batch=len(calls) > 1), (program.truths or ())[0], "value")
        turn, made = turn + 1, made + len(calls)


def soak(path: Path, cases: int, workers: int) -> Soak:
    """Everything through one sandbox, watched from outside."""
    began = time.monotonic()
    planned = list(parts(path, cases))
    early = None
    wrong = done = 0
    misnamed: Counter[str] = Counter()
    pids: set[int] = set()
    with Sandbox(workers=workers, limits=LIMITS) as sandbox:
        for part, outcomes in zip(planned, sandbox.execute(part.job for part in planned), strict=True):
            done += len(outcomes)
            pids.update(worker.process.pid for worker in sandbox._workers)
            for outcome in outcomes:
                if part.status != "value" and outcome.status != part.status:
                    misnamed[_shown(part, outcome)] += 1
                wrong += part.status == "value" and not matches(outcome, part.truth)
            if early is None and done >= cases // 10:
                early = _descriptors(), _memory()
        late = _descriptors(), _memory()
        living = sum(worker.process.poll() is None for worker in sandbox._workers)
    assert early is not None
    return Soak(
        cases=done,
        attacks=sum(part.status != "value" for part in planned),
        wrong=wrong,
        misnamed=dict(misnamed),
        workers=(workers, living),
        started=len(pids),
        descriptors=(early[0], late[0]),
        memory_mb=(round(early[1], 1), round(late[1], 1)),
        left=len(_below(os.getpid())),
        left_by_killed_host=killed_host(),
        seconds=round(time.monotonic() - began, 1),
    )


def killed_host() -> int:
    """Kill a host with SIGKILL while its workers are busy: the processes that are left of it after two seconds."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, text=True, env=environment) as host:
        assert host.stdout is not None
        host.stdout.readline()
        time.sleep(1.0)
        family = _below(host.pid)
        assert len(family) >= 2, "its workers have not started"
        host.send_signal(signal.SIGKILL)
        host.wait()
        until = time.monotonic() + 2.0
        while (left := [pid for pid in family if _alive(pid)]) and time.monotonic() < until:
            time.sleep(0.05)
    return len(left)


def _shown(part: Part, outcome: Outcome) -> str:
    return f"{part.status} was {outcome.status}: {outcome.detail or outcome.plain}: {part.job.source[-60:]!r}"


def _below(pid: int) -> list[int]:
    """All living processes below one."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [descendant for child in map(int, children) for descendant in (child, *_below(child))]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _memory() -> float:
    """Resident megabytes of host and workers, whose children come and go."""
    workers = [pid for child in _below(os.getpid()) for pid in [child] if _age(pid) > 0.5]
    return sum(_resident(pid) for pid in (os.getpid(), *workers))


def _age(pid: int) -> float:
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except FileNotFoundError:
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except FileNotFoundError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


if __name__ == "__main__":
    sys.exit(main())
