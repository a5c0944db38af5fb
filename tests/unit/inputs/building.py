"""Programs for tests: a module written there, one of its functions as the entry."""

from __future__ import annotations

from pathlib import Path

from exe.inputs import Signature, arguments_schema, bind_names, candidate_types, read_schema
from exe.records import Candidate, Origin, Program
from tests.unit.analysis.packages import read

ORIGIN = Origin(package="demo", version="1.0", module="demo", qualname="f", path="demo.py", line=1)


def build(root: Path, source: str, entry: str = "f") -> tuple[Candidate, Program, Signature]:
    """The candidate of a function, a program that is the module itself, and the signature read from its schema."""
    found = read(root, source, entry)
    assert isinstance(found, Candidate), found
    names = {origin: origin.partition(":")[2] for origin in found.origins}
    bound, names = bind_names(source, candidate_types(found), names)
    schema = arguments_schema(found, names)
    program = Program(
        id=entry, entry=entry, source=bound, parameters=schema, returns=found.returns.text, origin=ORIGIN, provenance={}
    )
    return found, program, read_schema(schema)
