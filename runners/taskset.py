"""A task set as runners read it: manifest, programs and cases of one folder, checked against each other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exe.codec import from_json, read_json, read_jsonl
from exe.errors import InputError
from exe.records import Case, Manifest, Program


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """One set: `cases` in file order, `programs` by id, `sha256` over manifest, programs and cases."""

    manifest: Manifest
    programs: dict[str, Program]
    cases: tuple[Case, ...]
    sha256: str

    @property
    def name(self) -> str:
        """The set's own name."""
        return self.manifest.name

    def program(self, case: Case) -> Program:
        """The program a case belongs to."""
        return self.programs[case.program]

    def by_id(self) -> dict[str, Case]:
        """The cases by id."""
        return {case.id: case for case in self.cases}

    def known(self) -> dict[str, tuple[Program, Case]]:
        """Case id → its program and itself, as `runners.models.Context` wants them."""
        return {case.id: (self.programs[case.program], case) for case in self.cases}


def load(directory: Path) -> TaskSet:
    """Read the set in `directory`.

    Raises InputError where a file is missing, malformed, differs from the manifest's sha256, repeats an id or names a
    program that is not there.
    """
    path = directory / "manifest.json"
    if not path.is_file():
        raise InputError(f"{directory} is no task set: it has no manifest.json (make one with `exe build`)")
    manifest = from_json(Manifest, read_json(path), str(path))
    digest = hashlib.sha256(path.read_bytes())
    for name in ("programs.jsonl", "cases.jsonl"):
        digest.update(_checked(directory / name, manifest.files.get(name)))
    programs = {}
    for program in read_jsonl(directory / "programs.jsonl", Program):
        if program.id in programs:
            raise InputError(f"{directory / 'programs.jsonl'}: program {program.id} stands there twice")
        programs[program.id] = program
    cases = tuple(_cases(directory / "cases.jsonl", programs))
    return TaskSet(manifest=manifest, programs=programs, cases=cases, sha256=digest.hexdigest())


def _checked(path: Path, expected: str | None) -> bytes:
    """The digest of a file that the manifest vouches for."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256")
    except FileNotFoundError:
        raise InputError(f"{path} is missing; build the set again") from None
    if expected is not None and found.hexdigest() != expected:
        raise InputError(f"{path} is not the file its manifest names (sha256 differs); build the set again")
    return found.digest()


def _cases(path: Path, programs: dict[str, Program]) -> Iterator[Case]:
    seen: set[str] = set()
    for number, case in enumerate(read_jsonl(path, Case), start=1):
        if case.id in seen:
            raise InputError(f"{path}:{number}: case {case.id} stands there twice")
        if case.program not in programs:
            raise InputError(f"{path}:{number}: case {case.id} names the unknown program {case.program}")
        seen.add(case.id)
        yield case
