"""The files of a task set: read whole and checked, written whole and atomically.

A task set is a folder (see DESIGN, files): manifest.json, programs.jsonl, cases.jsonl, rejections.jsonl, and beside them
measurements.jsonl for what a clock measured. The manifest holds the sha256 of each file but the last, and is written last: a
folder without one is not a task set yet.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from exe import codec
from exe.errors import InputError, UsageError
from exe.records import Case, Json, Manifest, Program, Rejection
from exe.values import DecodeError, decode

FORMAT = 1
"""Raised whenever grading or these files change so that scores stop being comparable."""

MANIFEST = "manifest.json"
FILES: tuple[tuple[str, type], ...] = (
    ("programs.jsonl", Program),
    ("cases.jsonl", Case),
    ("rejections.jsonl", Rejection),
)
MEASUREMENTS = "measurements.jsonl"
COMPLETIONS = "completions.jsonl"
"""What models answered that proposed inputs: outside every hash, as what a clock measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """A task set in memory: `cases` in file order, `programs` by id.

    `sha256` identifies it: the hash of its manifest's bytes, which hold the hashes of the other files.
    """

    directory: Path
    manifest: Manifest
    programs: Mapping[str, Program]
    cases: tuple[Case, ...]
    sha256: str

    @property
    def name(self) -> str:
        """The set's own name."""
        return self.manifest.name

    def program(self, case: Case) -> Program:
        """The program that a case belongs to."""
        return self.programs[case.program]

    def by_id(self) -> dict[str, Case]:
        """The cases by id."""
        return {case.id: case for case in self.cases}

    def known(self) -> dict[str, tuple[Program, Case]]:
        """Case id → its program and itself, as models that answer from the truth want them."""
        return {case.id: (self.programs[case.program], case) for case in self.cases}


def is_set(directory: Path) -> bool:
    """Whether a finished task set lies in this folder."""
    return (directory / MANIFEST).is_file()


def refuse_foreign(directory: Path) -> None:
    """Raise UsageError where a set would be written into a folder that holds something else."""
    ours = {MANIFEST, MEASUREMENTS, COMPLETIONS, *(name for name, _ in FILES), ".build", ".lock"}
    try:
        found = sorted(entry.name for entry in directory.iterdir()) if directory.is_dir() else []
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror}") from None
    foreign = [name for name in found if name not in ours and not name.endswith(".part")]
    if foreign:
        raise UsageError(
            f"{directory} is no folder of a task set, it holds {', '.join(foreign[:3])}; choose another --set"
        )


def read_manifest(directory: Path) -> tuple[Manifest, str]:
    """The manifest and the sha256 of its bytes. Raises InputError where there is none or it is malformed."""
    path = directory / MANIFEST
    if not path.is_file():
        raise InputError(f"{directory}: no task set here ({MANIFEST} is missing); `exe build` makes one")
    data = codec.read_json(path)
    manifest = codec.from_json(Manifest, data, str(path))
    if manifest.format != FORMAT:
        raise InputError(
            f"{path}: task-set format {manifest.format}, this version reads {FORMAT}; rebuild the set, or use the version "
            f"of execution-eval that wrote it ({manifest.builder})"
        )
    return manifest, _file_sha256(path)


def read_set(directory: Path) -> TaskSet:
    """Reads a task set and checks every hash, so that an edited or truncated file is never scored.

    Raises InputError naming the file (and line) and what to do.
    """
    manifest, sha256 = read_manifest(directory)
    for name, _ in FILES:
        path = directory / name
        if not path.is_file():
            raise InputError(f"{path}: missing, although the manifest lists it; rebuild the set")
        found = _file_sha256(path)
        if manifest.files.get(name) != found:
            raise InputError(
                f"{path}: sha256 {found[:12]}… is not the manifest's; the file was edited or cut, rebuild the set"
            )
    programs: dict[str, Program] = {}
    for number, program in enumerate(codec.read_jsonl(directory / "programs.jsonl", Program), 1):
        if program.id in programs:
            raise InputError(f"{directory / 'programs.jsonl'}:{number}: program {program.id} stands there twice")
        programs[program.id] = program
    return TaskSet(
        directory=directory,
        manifest=manifest,
        programs=MappingProxyType(programs),
        cases=tuple(_cases(directory / "cases.jsonl", programs)),
        sha256=sha256,
    )


def _cases(path: Path, programs: Mapping[str, Program]) -> Iterator[Case]:
    seen: set[str] = set()
    for number, case in enumerate(codec.read_jsonl(path, Case), 1):
        if case.program not in programs:
            raise InputError(f"{path}:{number}: program {case.program} is not in programs.jsonl")
        if case.id in seen:
            raise InputError(f"{path}:{number}: case {case.id} stands there twice")
        if problem := _truth_problem(case):
            raise InputError(f"{path}:{number}: case {case.id}: {problem}; rebuild the set")
        seen.add(case.id)
        yield case


def _truth_problem(case: Case) -> str | None:
    """Why nothing can be graded against this case's truth; None where all is well."""
    for name, form in (("expected", case.expected), ("typed", case.typed)):
        match form:
            case {"value": _, **rest} if not rest:
                continue
            case {"error": {"code": str(), "message": str()}, **rest} if not rest:
                continue
        return f"field {name!r} is neither {{'value': …}} nor {{'error': {{'code': text, 'message': text}}}}"
    if case.expected.keys() != case.typed.keys():
        return "field 'expected' and field 'typed' are not of one outcome"
    try:
        if "value" in case.typed:
            decode(case.typed["value"])
    except DecodeError as error:
        return f"field 'typed' is no typed value: {error}"
    return None


def write_set(
    directory: Path,
    manifest: Manifest,
    programs: Sequence[Program],
    cases: Sequence[Case],
    rejections: Sequence[Rejection],
    measurements: Iterable[Json] = (),
) -> Manifest:
    """Writes all files, the manifest last, each atomically; fills the manifest's counts, files and canary.

    Order is content order: programs by origin, cases by program and id, rejections by stage and subject, whatever order they
    arrive in. Raises StorageError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    programs = sorted(programs, key=lambda p: (p.origin.package, p.origin.module, p.origin.qualname, p.id))
    rank = {program.id: index for index, program in enumerate(programs)}
    cases = sorted(cases, key=lambda case: (rank[case.program], case.kind, case.id))
    rejections = sorted(rejections, key=lambda r: (r.stage, r.subject, r.reason, r.detail))
    (directory / MANIFEST).unlink(missing_ok=True)
    rows: dict[str, Sequence[Program] | Sequence[Case] | Sequence[Rejection]] = {
        "programs.jsonl": programs,
        "cases.jsonl": cases,
        "rejections.jsonl": rejections,
    }
    files = {name: codec.write_jsonl(directory / name, rows[name]) for name, _ in FILES}
    lines = "".join(codec.canonical(row) + "\n" for row in measurements)
    codec.atomic_write(directory / MEASUREMENTS, lines.encode())
    finished = replace(
        manifest,
        format=FORMAT,
        files=files,
        counts={
            **manifest.counts,
            "packages": len({(p.origin.package, p.origin.version) for p in programs}),
            "programs": len(programs),
            "cases": len(cases),
            "rejections": len(rejections),
        },
        canary=canary(manifest.name, manifest.seed),
    )
    text = json.dumps(codec.to_json(finished), indent=1) + "\n"
    codec.atomic_write(directory / MANIFEST, text.encode())
    return finished


def rewrite(tasks: TaskSet, cases: Sequence[Case], rejections: Iterable[Rejection]) -> Manifest:
    """Writes the set anew in its folder with these of its cases, the programs that they need, and more rejections.

    Raises StorageError.
    """
    path = tasks.directory / MEASUREMENTS
    measured = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []
    used, ids = {case.program for case in cases}, {case.id for case in cases}
    return write_set(
        tasks.directory,
        tasks.manifest,
        [program for program in tasks.programs.values() if program.id in used],
        cases,
        [*codec.read_jsonl(tasks.directory / "rejections.jsonl", Rejection), *rejections],
        [row for row in measured if row.get("case") in ids],
    )


def canary(name: str, seed: int) -> str:
    """The GUID that marks this set's text in any training corpus: a name-based UUID (RFC 9562, version 5)."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"execution-eval:{name}:{seed}"))


def _file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
