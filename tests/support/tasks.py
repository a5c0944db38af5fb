"""Small task sets written for tests: real programs, arguments and truths."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from exe import codec
from exe.records import Case, Manifest, Origin, Program

SOURCE = "def add_{n}(a: int, b: int = 0) -> int:\n    if b < 0:\n        raise ValueError('negative')\n    return a + b + {n}\n"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def program(n: int) -> Program:
    source = SOURCE.format(n=n)
    return Program(
        id=digest(source),
        entry=f"add_{n}",
        source=source,
        parameters={"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
        returns="int",
        origin=Origin(package="demo", version="1.0", module="demo", qualname=f"add_{n}", path="demo.py", line=1),
        provenance={f"add_{n}": f"demo:add_{n}"},
    )


def case(n: int, turn: int) -> Case:
    """Case `turn` of program `n`; every fifth raises."""
    b = -1 if turn % 5 == 4 else turn
    plain = {"error": {"code": "ValueError", "message": "negative"}} if b < 0 else {"value": 10 + b + n}
    return Case(
        id=digest(f"{n}/{turn}"),
        program=program(n).id,
        kind="output",
        arguments={"a": 10, "b": b},
        call=f"add_{n}(a=10, b={b})",
        expected=plain,
        typed=plain,
    )


def write_set(
    folder: Path, programs: int = 3, cases: int = 4, answer_format: Literal["odata", "python"] = "odata"
) -> Path:
    """A whole set of `programs` × `cases` in `folder`; no case raises in the python format."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [case(n, turn) for n in range(programs) for turn in range(cases)]
    if answer_format == "python":
        chosen = [each for each in chosen if "value" in each.expected]
    files = {
        "programs.jsonl": codec.write_jsonl(folder / "programs.jsonl", [program(n) for n in range(programs)]),
        "cases.jsonl": codec.write_jsonl(folder / "cases.jsonl", chosen),
        "rejections.jsonl": codec.write_jsonl(folder / "rejections.jsonl", []),
    }
    manifest = Manifest(
        name="demo",
        format=1,
        builder="0.1.0",
        python="3.11.7",
        generator="offline",
        seed=0,
        sources=(),
        counts={"programs": programs, "cases": len(chosen)},
        files=files,
        canary="00000000-0000-0000-0000-000000000000",
        answer_format=answer_format,
        rule="python" if answer_format == "python" else "json",
    )
    codec.atomic_write(folder / "manifest.json", codec.dump_line(manifest))
    return folder
