"""Do programs carry anything needless? Each top-level statement is deleted by itself; what breaks then was needed.

    python benchmarks/deletion.py SET [SET ...] [--programs N] [--seed N] [--workers N] [--survivors N] [--json]

A deletion breaks something in one of four ways, decided in this order:

| name | what it is |
|---|---|
| reference | a name that the rest of the program, or the call of a case, still reads is bound by nothing any more, or by an earlier statement that gives it something else; or a statement that runs before the name is bound again reads it |
| loading | the program does not load in the sandbox |
| result | a case has another outcome than under the whole program |
| module | a class or function of the program says that it is of another module |

The last is what `f"{type(x)}"`, a `__repr__` with `__module__` and pickling come to for other inputs than those of the cases. The
share without it is told beside.

Names that only annotations mention are no reads: where an annotation is evaluated, loading breaks. Docstrings of the
program and `from __future__` lines are counted apart, since their deletion is not expected to show.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from exe import taskset
from exe.analysis.stdlib import BUILTINS
from exe.inline.changes import immediate
from exe.inline.check import MODULE_NAMES, Facts, facts_of
from exe.records import Case, Job, Outcome, Program
from exe.sandbox.host import Sandbox

TARGET: Final = 0.95
HOW: Final = ("reference", "loading", "result", "module", "survived")
MODULES: Final = "{name: one.__module__ for name, one in globals().items() if isinstance(one, (type, type(lambda: 0)))}"
"""The call by which a program tells the modules of its classes and functions."""

DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
APART: Final = ("docstring", "future import")
KINDS: Final = ("import", "function", "class", "assignment", "call", "block", "other")


@dataclass(frozen=True, slots=True)
class Deletion:
    """One statement taken out. `how` is a word of HOW, "" while the sandbox has not spoken; `source` is what is left."""

    program: Program
    line: int
    kind: str
    text: str
    how: str
    source: str
    bound: frozenset[str]


def main() -> int:
    """Print a table, or with `--json` one object. Exit status 1 below TARGET, 2 where there is nothing to measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET", help="folder of a task set")
    parser.add_argument("--programs", type=int, default=200, help="at most, drawn by seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="of the sandbox")
    parser.add_argument("--survivors", type=int, default=20, help="how many to list")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    listed = draw(options.sets, options.programs, options.seed)
    if not listed:
        print("no program in these sets has a case", file=sys.stderr)
        return 2
    with Sandbox(workers=options.workers) as sandbox:
        found = decided(listed, sandbox)
    report(found, len(listed), options.seed, shown=options.survivors, as_json=options.json)
    return 0 if share(found) >= TARGET else 1


def draw(folders: Iterable[Path], count: int, seed: int) -> list[tuple[Program, tuple[str, ...]]]:
    """Programs with the calls of their cases, each program once, drawn by seed from all sets together."""
    calls: dict[str, list[str]] = {}
    programs: dict[str, Program] = {}
    for folder in folders:
        tasks = taskset.read_set(folder)
        programs.update(tasks.programs)
        for case in tasks.cases:
            _add(calls, case)
    pool = sorted(calls)
    chosen = random.Random(seed).sample(pool, min(count, len(pool)))
    return [(programs[one], tuple(calls[one])) for one in sorted(chosen)]


def _add(calls: dict[str, list[str]], case: Case) -> None:
    known = calls.setdefault(case.program, [])
    if case.call not in known:
        known.append(case.call)


def decided(listed: Sequence[tuple[Program, tuple[str, ...]]], sandbox: Sandbox) -> list[Deletion]:
    """All deletions, each with what it breaks."""
    found = [(one, calls) for program, calls in listed for one in deletions(program, calls)]
    open_ = [(one, calls) for one, calls in found if not one.how]
    wholes = {one.program.id: (one.program, calls) for one, calls in open_}
    jobs = [Job(source=program.source, calls=(*calls, MODULES), batch=True) for program, calls in wholes.values()]
    expected = dict(zip(wholes, sandbox.execute(jobs), strict=True))
    runs = sandbox.execute(Job(source=one.source, calls=(*calls, MODULES), batch=True) for one, calls in open_)
    ways = {
        (one.program.id, one.line): how(expected[one.program.id], outcomes, one.bound)
        for (one, _), outcomes in zip(open_, runs, strict=True)
    }
    return [
        Deletion(one.program, one.line, one.kind, one.text, one.how or ways[one.program.id, one.line], "", one.bound)
        for one, _ in found
    ]


def how(expected: Sequence[Outcome], found: Sequence[Outcome], bound: Set[str]) -> str:
    """What the deletion of what binds some names broke, by the outcomes of the cases before and after it, that of MODULES behind them."""
    if any(outcome.status == "unloadable" for outcome in found):
        return "loading"
    pairs = zip(expected[:-1], found[:-1], strict=True)
    if any((one.status, one.plain, one.typed) != (two.status, two.plain, two.typed) for one, two in pairs):
        return "result"
    before, after = modules_in(expected[-1]), modules_in(found[-1])
    others = (before.keys() & after.keys()) - bound
    return "module" if any(before[name] != after[name] for name in others) else "survived"


def modules_in(outcome: Outcome) -> dict[str, Any]:
    """What a program answered to MODULES, by global; nothing where it could not."""
    return cast("dict[str, Any]", outcome.plain["value"]) if outcome.status == "value" else {}


def deletions(program: Program, calls: Iterable[str]) -> Iterator[Deletion]:
    """Every top-level statement of a program taken out in turn, broken references decided."""
    tree = ast.parse(program.source)
    data = program.source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    spans = [_span(node, starts) for node in tree.body]
    facts = [facts_of(data[first:last].decode()) for first, last in spans]
    binders = Counter(name for one in facts for name in one.bound | one.assigned)
    readers = Counter(name for one in facts for name in one.read)
    readers.update(name for call in calls for name in facts_of(call).read)
    imported = Counter(part for node in tree.body for part in set(_dotted(node)))
    for index, (node, (first, last), own) in enumerate(zip(tree.body, spans, facts, strict=True)):
        rest = (data[:first] + b"pass" + data[last:]).decode()
        broken = any(
            _unbound(name, own, binders, readers)
            or _read_before(name, tree.body[index + 1 :], facts[index + 1 :])
            or (isinstance(node, DEFINITIONS) and _read_later(name, index, tree.body, facts))
            for name in own.bound
        ) or _unloaded(node, tree, imported)
        text = data[first:last].decode().split("\n", 1)[0]
        yield Deletion(program, node.lineno, kind_of(node), text, "reference" if broken else "", rest, own.bound)


def _span(node: ast.stmt, starts: Sequence[int]) -> tuple[int, int]:
    """Byte offsets of a statement with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    first = starts[decorators[0].lineno - 1] if decorators else starts[node.lineno - 1] + node.col_offset
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return first, starts[node.end_lineno - 1] + node.end_col_offset


def _unbound(name: str, own: Facts, binders: Counter[str], readers: Counter[str]) -> bool:
    """Whether a name is read elsewhere, and bound nowhere else."""
    read = readers[name] - (name in own.read)
    return read > 0 and binders[name] == 1 and name not in BUILTINS | MODULE_NAMES


def _read_before(name: str, behind: Sequence[ast.stmt], facts: Sequence[Facts]) -> bool:
    """Whether a statement that runs before a name is bound again, or that binds it again, reads it as it runs."""
    for node, own in zip(behind, facts, strict=True):
        if name in own.read and name not in BUILTINS and any(_reads(part, name) for part in immediate(node)):
            return True
        if name in own.bound:
            return False
    return False


def _read_later(name: str, index: int, body: Sequence[ast.stmt], facts: Sequence[Facts]) -> bool:
    """Whether functions read a name of which this is the last of several definitions."""
    if name in BUILTINS or any(name in own.bound | own.assigned for own in facts[index + 1 :]):
        return False
    others = [(node, own) for at, (node, own) in enumerate(zip(body, facts, strict=True)) if at != index]
    return any(name in own.bound for _, own in others) and any(
        name in own.read and isinstance(node, DEFINITIONS) for node, own in others
    )


def _reads(part: ast.AST, name: str) -> bool:
    return isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load)


def _dotted(node: ast.stmt) -> Iterator[str]:
    """The modules that an import statement makes attributes of their packages: "a.b" and "a.b.c" of `import a.b.c`."""
    if isinstance(node, ast.Import):
        for parts in (alias.name.split(".") for alias in node.names if alias.asname is None):
            yield from (".".join(parts[:count]) for count in range(2, len(parts) + 1))


def _unloaded(node: ast.stmt, tree: ast.Module, imported: Counter[str]) -> bool:
    """Whether a module that no other statement imports under its dotted name is read by that name."""
    alone = {text for text in _dotted(node) if imported[text] == 1}
    return bool(alone) and any(
        isinstance(part, ast.Attribute) and ast.unparse(part) in alone for part in ast.walk(tree)
    )


def kind_of(node: ast.stmt) -> str:
    """A word of KINDS or APART."""
    match node:
        case ast.ImportFrom(module="__future__"):
            return "future import"
        case ast.Import() | ast.ImportFrom():
            return "import"
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return "function"
        case ast.ClassDef():
            return "class"
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            return "assignment"
        case ast.Expr(value=ast.Constant()):
            return "docstring"
        case ast.Expr(value=ast.Call()):
            return "call"
        case ast.If() | ast.Try() | ast.For() | ast.While() | ast.With() | ast.Match():
            return "block"
        case _:
            return "other"


def counted(found: Iterable[Deletion], kind: str | None = None) -> list[Deletion]:
    """The deletions of a kind, or of all kinds that are expected to show."""
    return [one for one in found if (one.kind not in APART if kind is None else one.kind == kind)]


def share(found: Iterable[Deletion], silent: Sequence[str] = ("survived",)) -> float:
    """How many of the deletions break something, 0 to 1; ways that are `silent` do not count."""
    listed = counted(found)
    return sum(one.how not in silent for one in listed) / max(1, len(listed))


def report(found: Sequence[Deletion], programs: int, seed: int, *, shown: int, as_json: bool) -> None:
    """A table by kind and examples of survivors, or one JSON object."""
    survivors = [one for one in counted(found) if one.how == "survived"]
    bare = share(found, ("survived", "module"))
    examples = random.Random(seed).sample(survivors, min(shown, len(survivors)))
    table = {
        kind: {way: sum(one.how == way for one in counted(found, kind)) for way in HOW}
        for kind in (*KINDS, *APART)
        if counted(found, kind)
    }
    if as_json:
        listed = [[one.program.id, one.program.origin.function, one.line, one.kind, one.text] for one in examples]
        total = {"programs": programs, "deletions": len(counted(found)), "share": round(share(found), 4)}
        total["without_module"] = round(bare, 4)
        print(json.dumps({**total, "kinds": table, "survivors": listed}))
        return
    print(
        f"{programs} programs, {len(counted(found))} deletions: {share(found):.1%} break something (at least {TARGET:.0%}),"
        f" {bare:.1%} without what modules say"
    )
    print(f"{'':15}{'deleted':>9}{'break':>8}" + "".join(f"{way:>11}" for way in HOW))
    for kind, ways in table.items():
        tried = sum(ways.values())
        broken = 1 - ways["survived"] / tried
        note = "  (apart)" if kind in APART else ""
        print(f"{kind:15}{tried:9}{broken:8.1%}" + "".join(f"{ways[way]:11}" for way in HOW) + note)
    for one in examples:
        print(f"  {one.kind:11} {one.program.origin.function}:{one.line}  {one.text[:100]}")


if __name__ == "__main__":
    sys.exit(main())
