"""Functions that branch: drawn by seed from packages, run with probes at their branches, the CPU time of it all. For the benchmarks of inputs."""

from __future__ import annotations

import hashlib
import os
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exe import chain, screen
from exe.analysis import functions, read_project, signatures
from exe.inline import Inlined, inline
from exe.quality import own_places
from exe.records import Candidate, Job, Package, Program
from exe.sandbox.branches import Site
from exe.sandbox.host import Sandbox
from exe.sources import scrape

LISTS = Path(__file__).resolve().parent / "corpus.toml"
PLACES = 4  # branching places that an entry has at least


@dataclass(frozen=True, slots=True)
class Subject:
    """A program to measure, its armed copy, and the branching places of its entry's own body."""

    name: str
    program: Program
    armed: str
    places: tuple[Site, ...]

    def numbers(self, *kinds: str, but: bool = False) -> set[int]:
        """The outcomes of the places of these kinds, or of all others."""
        return {number for place in self.places if (place.kind in kinds) is not but for number in place.outcomes}


def drawn(names: Sequence[str], cache: Path, count: int, seed: int) -> list[Subject]:
    """The functions, an equal number of each package as far as it has them; in an order drawn by seed."""
    lists = tomllib.loads(LISTS.read_text())
    packages = [name for one in names for name in lists.get(one, [one])]
    found: list[Subject] = []
    waiting = [subjects(name, cache, seed) for name in packages]
    while waiting and len(found) < count:
        for one in list(waiting):
            subject = next(one, None)
            if subject is None:
                waiting.remove(one)
            elif len(found) < count:
                found.append(subject)
    return found


def subjects(name: str, cache: Path, seed: int) -> Iterator[Subject]:
    """The functions of a package that have branches and can be programs."""
    for package in scrape(f"pypi:{name}", cache=cache):
        if not isinstance(package, Package):
            continue
        project = read_project(package)
        order = {
            one: hashlib.sha256(f"{seed}:{one.module.name}:{one.qualname}".encode()).hexdigest()
            for one in functions(project)
        }
        for function in sorted(order, key=order.__getitem__):
            candidate = signatures.candidate(project, function, package, why_not=screen.why_not_function)
            if isinstance(candidate, Candidate):
                made = inline(project, candidate)
                subject = _subject(made, candidate) if isinstance(made, Inlined) else None
                if subject is not None:
                    yield subject


def _subject(made: Inlined, candidate: Candidate) -> Subject | None:
    program = chain.to_program(made, candidate)
    classes = [made.names[origin] for origin in candidate.origins]
    if screen.purity(program.source, program.entry, made=classes) is not None:
        return None
    try:
        armed = screen.armed(program.source, program.entry, chain.suspects(made, program.source), classes)
        places = own_places(armed, program.entry)
    except (screen.Untrappable, SyntaxError):
        return None
    if sum(place.kind != "raise" for place in places) < PLACES:
        return None
    package = candidate.package
    return Subject(f"{package.name}=={package.version}:{candidate.module}:{candidate.qualname}", program, armed, places)


class Watched:
    """The sandbox for one subject: runs its armed copy, with probes, and notes all branches."""

    def __init__(self, subject: Subject, sandbox: Sandbox) -> None:
        self.subject, self.sandbox = subject, sandbox

    def __call__(self, jobs: Iterable[Job]) -> Iterator[Any]:
        yield from self.sandbox.execute(replace(job, source=self.subject.armed) for job in jobs)

    def taken(self, calls: Sequence[str]) -> tuple[set[int], list[Any]]:
        """The branches that any of these calls takes, each in a process of its own, and the outcomes."""
        if not calls:
            return set(), []
        (outcomes,) = self([Job(source="", calls=tuple(calls), cover=True)])
        return {number for one in outcomes for number in one.branches}, list(outcomes)


def cpu() -> float:
    """CPU seconds of this process and of all processes below it, those that are alive included."""
    ours = time.process_time()
    return ours + sum(map(_of_process, _below(os.getpid())))


def _below(pid: int) -> Iterator[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").glob("*/children"))
    except OSError:  # it ended meanwhile
        return
    for task in tasks:
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _below(child)


def _of_process(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its own and its ended children's
