"""The forms that annotations of parameters really have, each with a place where it occurs, as the table that a test goes through.

    python benchmarks/annotation_forms.py [development|NAME ...] [--rows N] [--write FILE]

Reads the packages (lists: `corpus.toml`), takes the type of every parameter of every function that qualifies, and counts
forms: what is left of a type when names are taken away ("dict[str, union[int, none]]", "dataclass(str, list[enum])"). The most
frequent ones are written, one JSON line each: form, occurrences, package==version:file:line, the annotation as written there,
and the schema that a program with such a parameter carries.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from exe import screen
from exe.analysis import functions, read_project, signatures
from exe.inputs.schema import Signature, signature_schema
from exe.records import Candidate, Package, Parameter, Type
from exe.sources import scrape

LISTS = Path(__file__).resolve().parent / "corpus.toml"
DEPTH = 3
LONGEST = 6_000  # characters of a row: a class of classes of classes shows nothing that its parts do not


def main() -> int:
    """Print how many forms there are, and write the table where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["development"], help="lists of corpus.toml, or packages")
    parser.add_argument("--rows", type=int, default=250, help="the most frequent forms")
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("EXE_CACHE", Path.home() / ".cache" / "exe")))
    parser.add_argument("--write", type=Path, help="the table, one JSON line a form")
    options = parser.parse_args()
    lists = tomllib.loads(LISTS.read_text())
    counted: Counter[str] = Counter()
    first: dict[str, tuple[str, Type]] = {}
    packages = 0
    for name in [name for one in options.names for name in lists.get(one, [one])]:
        for package in scrape(f"pypi:{name}", cache=options.cache):
            if isinstance(package, Package):
                packages += 1
                for where, found in occurrences(package):
                    counted[form(found)] += 1
                    first.setdefault(form(found), (where, found))
    rows = [
        {
            "form": key,
            "occurrences": count,
            "where": first[key][0],
            "annotation": first[key][1].text,
            "schema": signature_schema(
                Signature(
                    parameters=(Parameter(name="x", kind="normal", type=first[key][1]),),
                    how="function",
                    self_type=None,
                    names={},
                )
            ),
        }
        for key, count in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    ]
    rows = [row for row in rows if len(json.dumps(row)) <= LONGEST][: options.rows]
    if options.write is not None:
        options.write.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = sum(row["occurrences"] for row in rows)
    print(
        f"{len(counted)} forms of {counted.total()} parameters in {packages} packages; {len(rows)} of them are {told / counted.total():.1%}"
    )
    return 0


def occurrences(package: Package) -> Iterator[tuple[str, Type]]:
    """Every parameter of the functions that qualify, with its place."""
    project = read_project(package)
    for function in functions(project):
        candidate = signatures.candidate(project, function, package, why_not=screen.why_not_function)
        if isinstance(candidate, Candidate):
            where = f"{package.name}=={package.version}:{candidate.path}:{candidate.line}"
            yield from ((where, parameter.type) for parameter in candidate.parameters)


def form(found: Type, depth: int = 0) -> str:
    """A type without its names."""
    if depth == DEPTH:
        return "…"
    if found.fields:
        return f"{found.kind}({', '.join(form(part.type, depth + 1) for part in found.fields[:6])})"
    if found.kind == "literal":
        return f"literal[{', '.join(dict.fromkeys(type(value).__name__ for value in found.values))}]"
    return f"{found.kind}[{', '.join(form(arg, depth + 1) for arg in found.args)}]" if found.args else found.kind


if __name__ == "__main__":
    sys.exit(main())
