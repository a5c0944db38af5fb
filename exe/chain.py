"""One package through all stages: Package → Candidate → Program → Call → Case, or a Rejection at any of them.

Each function is independent of every other, so that a build can stop anywhere and go on with the next one.
"""

from __future__ import annotations

import hashlib
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from exe import certify, codec, inputs, screen
from exe.analysis import Function, Project, functions, metrics, read_project, signatures
from exe.errors import ExeError
from exe.inline import Block, Inlined, Limits, inline
from exe.inputs.mix import OFFLINE, mix
from exe.inputs.model import Ask
from exe.inputs.validators import trial
from exe.records import Candidate, Case, Job, Json, Origin, Outcome, Package, Program, Rejection
from exe.screen import Suspect

INTERNAL_ERROR = "internal-error"

Execute = Callable[[Iterable[Job]], Iterator[tuple[Outcome, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """What decides the content of a set besides its sources. Everything here counts executions, never seconds.

    `per_package` caps the programs that one package gives, 0 for no cap: functions are then tried in an order drawn by seed.
    `generator` is "offline", a model's name, or several with commas between, whose inputs are pooled; with `errors_only` a model is
    asked for inputs that raise alone. `max_source` is the longest program in characters. `whole_class` keeps methods that a program cannot come to.
    """

    cases: int = 15
    seed: int = 0
    generator: str = OFFLINE
    per_package: int = 0
    max_source: int = 1_200_000
    whole_class: bool = False
    errors_only: bool = False


@dataclass(slots=True, kw_only=True)
class Yield:
    """What one function gave. A rejected one has only rejections; `cpu_seconds` is by case id."""

    subject: str
    program: Program | None = None
    cases: list[Case] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    generation: dict[str, dict[str, Json]] = field(default_factory=dict)  # what each model's one case cost to propose


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What a package is worked with: ways to execute, under different hash seeds, and the models that propose inputs, by name.

    `more` are those that only programs in which hashing shows are certified by.
    """

    first: Execute
    second: Execute
    asks: Mapping[str, Ask] = field(default_factory=dict)
    more: tuple[Execute, ...] = ()


def subject_of(package: Package, module: str = "", qualname: str = "") -> str:
    """The name of a package, module or function in a Rejection: "idna:idna.core:check_label"."""
    return ":".join(part for part in (package.name, module, qualname) if part)


def walk(package: Package, chain: Chain, hands: Hands, done: Callable[[str], Yield | None]) -> Iterator[Yield]:
    """Yields one Yield a function of `package`, and one for the package's own unreadable files.

    `done` answers what an interrupted build already has.
    """
    project = read_project(package)
    yield Yield(subject=subject_of(package), rejections=list(project.rejections))
    accepted = 0
    for function in _drawn(package, project, chain):
        subject = subject_of(package, function.module.name, function.qualname)
        if (known := done(subject)) is not None:
            found = known
        elif chain.per_package and accepted >= chain.per_package:
            found = _rejected(
                subject,
                Rejection(
                    subject=subject,
                    stage="screen",
                    reason="package-cap",
                    detail=f"{chain.per_package} programs of this package are in",
                ),
            )
        else:
            found = _guarded(project, package, function, chain, hands)
        accepted += found.program is not None
        yield found


def _guarded(project: Project, package: Package, function: Function, chain: Chain, hands: Hands) -> Yield:
    """`one`, but a fault of ours on one function is a Rejection `internal-error`, so that it cannot stop a build of thousands.

    The command line counts and shows them; what the sandbox, the disk or the user did is no fault of ours and goes up.
    """
    try:
        return one(project, package, function, chain, hands)
    except (ExeError, OSError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001
        frame = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
        subject = subject_of(package, function.module.name, function.qualname)
        return _rejected(subject, Rejection(subject=subject, stage="execute", reason=INTERNAL_ERROR, detail=detail))


def one(project: Project, package: Package, function: Function, chain: Chain, hands: Hands) -> Yield:
    """One function through the stages."""
    subject = subject_of(package, function.module.name, function.qualname)
    candidate = signatures.candidate(project, function, package, why_not=screen.why_not_function)
    if isinstance(candidate, Rejection):
        return _rejected(subject, candidate)
    inlined = inline(project, candidate, limits=Limits(characters=chain.max_source), whole_class=chain.whole_class)
    if isinstance(inlined, Rejection):
        return _rejected(subject, inlined)
    program = to_program(inlined, candidate)
    made = [inlined.names[origin] for origin in candidate.origins]
    impure = screen.purity(program.source, program.entry, made=made)
    if impure is not None:
        return _rejected(subject, replace(impure, subject=subject))
    try:
        armed = screen.armed(program.source, program.entry, suspects(inlined, program.source), made)
    except screen.Untrappable as error:
        detail = f"no trap can be put before {error}"
        return _rejected(subject, Rejection(subject=subject, stage="screen", reason="untrappable", detail=detail))
    return _with_cases(subject, program, armed, chain, hands)


def suspects(inlined: Inlined, source: str) -> list[Suspect]:
    """The hazards of an inlined program by the lines of their blocks in the source that became of it."""
    if not inlined.hazards:
        return []
    starts = [*map(int, _places(source, inlined.blocks)), source.count("\n") + 2]
    return [
        Suspect(reason=one.reason, first=starts[block], last=starts[block + 1] - 1, piece=one.key, name=one.at)
        for block, one in inlined.hazards
    ]


def to_program(inlined: Inlined, candidate: Candidate) -> Program:
    """Describes what was inlined for a candidate, all but its static metrics: most programs never need them."""
    package = candidate.package
    types = inputs.candidate_types(candidate)
    bound = {origin: inlined.names[origin] for origin in candidate.origins}
    source, names = inputs.bind_names(inlined.source, types, bound)
    origin = Origin(
        package=package.name,
        version=package.version,
        module=candidate.module,
        qualname=candidate.qualname,
        path=candidate.path,
        line=candidate.line,
        license=package.license,
        repository=package.repository,
        commit=package.commit,
        sha256=package.sha256,
        released=package.released,
    )
    return Program(
        id=codec.content_id({"source": source, "entry": inlined.entry}),
        entry=inlined.entry,
        source=source,
        parameters=inputs.arguments_schema(candidate, names),
        returns=candidate.returns.text,
        origin=origin,
        provenance=dict(inlined.provenance),
        places=_places(source, inlined.blocks),
    )


def _places(source: str, blocks: Sequence[Block]) -> dict[str, str]:
    """Where each block was written, by the line that it starts on now. The blocks make up the end of the source."""
    starts: list[int] = []
    for block in reversed(blocks):
        starts.append(source.rindex(block.text, 0, starts[-1] if starts else len(source)))
    found: dict[str, str] = {}
    at, line = 0, 1
    for block, start in zip(blocks, reversed(starts), strict=True):
        line += source.count("\n", at, start)
        found[str(line)] = block.place
        at = start
    return found


def _with_cases(subject: str, program: Program, armed: str, chain: Chain, hands: Hands) -> Yield:
    """Inputs, ground truth and the validators for one program; the validators speak last, on what is certified.

    Inputs are made with the `armed` program, and each that is chosen runs in it by itself before it is certified.
    """
    first, second = hands.first, hands.second
    generated, spent = mix(
        program,
        chain.generator,
        seed=chain.seed,
        count=chain.cases,
        execute=_Instead(first, program, armed),
        asks=hands.asks,
        errors_only=chain.errors_only,
    )
    if armed != program.source:
        generated = _unsprung(program, armed, generated, first)
    found = Yield(
        subject=subject, rejections=[replace(rejection, subject=subject) for rejection in generated.rejections]
    )
    if not generated.calls:
        return found
    clock = _Clock(first)
    certified: dict[str, Case] = {}
    for item in certify.certify(program, generated.calls, clock, _Instead(second, program, armed), hands.more):
        if isinstance(item, Case):
            certified[item.call] = item
        else:
            found.rejections.append(item)
    signature = inputs.read_schema(program.parameters)
    trials = [
        trial(signature, inputs.canonical_key(signature, call.arguments), call, certify.stated(certified[call.call]))
        for call in generated.calls
        if call.call in certified
    ]
    if chain.errors_only:
        found.cases = [case for case in certified.values() if "error" in case.expected]
    else:
        kept, dropped = inputs.final(subject, trials)
        found.rejections.extend(dropped)
        found.cases = [certified[one.call.call] for one in kept if one.call is not None]
    found.cases = found.cases[: chain.cases]
    if found.cases:
        proposed = Counter(case.generator for case in found.cases)
        found.generation = {name: one.share(proposed[name]) for name, one in spent.items() if name in proposed}
        found.program = replace(program, static=metrics.static_metrics(program.source, program.entry))
        found.cpu_seconds = {case.id: clock.seconds[case.call] for case in found.cases if case.call in clock.seconds}
    return found


def _unsprung(program: Program, armed: str, generated: inputs.Generated, execute: Execute) -> inputs.Generated:
    """The calls that come to no trap in a process of their own; what others left behind may have kept them from it."""
    if not generated.calls:
        return generated
    (outcomes,) = execute([Job(source=armed, calls=tuple(call.call for call in generated.calls))])
    kept, rejections = [], list(generated.rejections)
    for call, outcome in zip(generated.calls, outcomes, strict=True):
        if outcome.status == "impure":
            rejections.append(
                Rejection(subject=program.id, stage="execute", reason="impure", detail=f"{call.call}: {outcome.detail}")
            )
        else:
            kept.append(call)
    return inputs.Generated(kept, rejections)


class _Instead:
    """Passes jobs on with the armed text in place of the program's."""

    def __init__(self, execute: Execute, program: Program, armed: str) -> None:
        self._execute, self._source, self._armed = execute, program.source, armed

    def __call__(self, jobs: Iterable[Job]) -> Iterator[tuple[Outcome, ...]]:
        return self._execute(replace(job, source=self._armed) if job.source == self._source else job for job in jobs)


class _Clock:
    """Passes jobs on and notes what each call cost, since a Case must not hold what a clock measured."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self.seconds: dict[str, float] = {}

    def __call__(self, jobs: Iterable[Job]) -> Iterator[tuple[Outcome, ...]]:
        listed = list(jobs)
        for job, outcomes in zip(listed, self._execute(listed), strict=True):
            for call, outcome in zip(job.calls, outcomes, strict=True):
                if outcome.cpu_seconds is not None:
                    self.seconds[call] = outcome.cpu_seconds
            yield outcomes


def _drawn(package: Package, project: Project, chain: Chain) -> list[Function]:
    """All functions; in an order drawn by seed where a cap will stop early, so that no module is favoured."""
    found = list(functions(project))
    if not chain.per_package:
        return found

    def draw(function: Function) -> str:
        return hashlib.sha256(
            f"{chain.seed}:{package.name}:{function.module.name}:{function.qualname}".encode()
        ).hexdigest()

    return sorted(found, key=draw)


def _rejected(subject: str, rejection: Rejection) -> Yield:
    return Yield(subject=subject, rejections=[rejection])


def to_row(found: Yield) -> dict[str, Json]:
    """A Yield as one JSON row of a checkpoint."""
    return {
        "subject": found.subject,
        "program": None if found.program is None else codec.to_json(found.program),
        "cases": [codec.to_json(case) for case in found.cases],
        "rejections": [codec.to_json(rejection) for rejection in found.rejections],
        "cpu_seconds": found.cpu_seconds,
        "generation": found.generation,
    }


def from_row(row: dict[str, Json], where: str) -> Yield:
    """The reverse of `to_row`. Raises InputError."""
    return Yield(
        subject=row["subject"],
        program=None if row["program"] is None else codec.from_json(Program, row["program"], where),
        cases=[codec.from_json(Case, case, where) for case in row["cases"]],
        rejections=[codec.from_json(Rejection, rejection, where) for rejection in row["rejections"]],
        cpu_seconds=row["cpu_seconds"],
        generation=row["generation"],
    )
