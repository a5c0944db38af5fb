"""Which programs are pure, by the names in reach of their entry: PURITY, `findings` and `purity`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from exe.analysis.references import Reference, read_program
from exe.analysis.text import SourceFault
from exe.records import Rejection

from .constants import passed_on
from .finding import Finding
from .lists import banned, lists

_BY_NAME: Final = "builtins.getattr"


@dataclass(frozen=True, slots=True)
class Where:
    """Where a reference stands: its piece, whether that is the entry itself, and whether it is asked for by name."""

    piece: str
    entry: bool
    asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PurityRule:
    """One kind of impurity. `drops` and `keeps` are programs whose entry is `f`."""

    name: str
    why: str
    drops: str
    keeps: str
    check: Callable[[Reference, Where], str | None]


def purity(source: str, entry: str, subject: str = "", made: Sequence[str] = ()) -> Rejection | None:
    """Why a program is not pure, as far as names tell: a Rejection of `subject` by the first finding; None if it may be.

    Findings in the entry itself and in what runs at loading count; those in the bodies of other functions are for the run to decide.
    `made` are the classes that calls make objects of.
    """
    try:
        found = [one for one in findings(source, entry, made) if one.piece == entry or not one.deferred]
    except SourceFault as fault:
        return Rejection(subject=subject, stage="screen", reason=fault.reason, detail=str(fault))
    if not found:
        return None
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    detail = f"{first.detail} in {first.piece}, line {first.line}{more}"
    return Rejection(subject=subject, stage="screen", reason=first.rule, detail=detail)


def findings(source: str, entry: str, made: Sequence[str] = ()) -> tuple[Finding, ...]:
    """All impurities in reach of `entry` ("f" or "C.m") and of what calls make, those of the entry itself first, then by line.

    In reach is what a call may run, by name, and what ran to make the constants that it uses; what is there and never used
    (a lock, a context variable) does not count. Annotations, isinstance and except only name things. Raises SourceFault
    where the source does not parse.
    """
    return _findings(source, entry, tuple(name.partition(".")[0] for name in made))


def mutated_globals(source: str, entry: str) -> tuple[str, ...]:
    """Own globals that code in reach of `entry` rebinds (`global x`): a case may then depend on the calls before it."""
    program = read_program(source)
    return tuple(sorted({name for key in program.reach(entry) for name in program.pieces[key].rebinds}))


@lru_cache(maxsize=2)  # whether a program is pure, and where traps go into it, is asked one after the other
def _findings(source: str, entry: str, made: tuple[str, ...]) -> tuple[Finding, ...]:
    program = read_program(source)
    found: dict[tuple[str, str, int], Finding] = {}
    reached = program.reach(entry, *made)
    for key, asked in reached.items():
        where = Where(key, key == entry, asked)
        piece = program.pieces[key]
        own = [Reference(name, 0, False, None) for name in piece.names if name in lists().own]
        for reference in [*piece.references, *own]:
            if reference.passive or not _notable(reference.target):
                continue
            for rule in PURITY:
                detail = rule.check(reference, where)
                if detail is not None:
                    found[rule.name, detail, reference.line] = Finding(
                        rule=rule.name,
                        detail=detail,
                        line=reference.line,
                        piece=key,
                        deferred=key in program.functions,
                        called=reference.call is not None,
                    )
    told = passed_on(program, reached, found.values()) if found else ()
    return tuple(sorted(told, key=lambda f: (f.piece != entry, f.name != "", f.line, f.rule, f.detail)))


@lru_cache(maxsize=20_000)
def _notable(target: str) -> bool:
    """Whether any rule may say something about a name: one that is banned, or by which others are fetched."""
    return banned(target) != "" or target == _BY_NAME


def _category(name: str) -> Callable[[Reference, Where], str | None]:
    def check(reference: Reference, _where: Where) -> str | None:
        return reference.target.removeprefix("builtins.") if banned(reference.target) == name else None

    return check


def _clock(reference: Reference, _where: Where) -> str | None:
    if banned(reference.target) != "time":
        return None
    enough = lists().arguments.get(reference.target)
    if enough is not None and reference.call is not None:
        given = len(reference.call.args) + len(reference.call.keywords)
        if given >= enough:
            return None
    return reference.target


def _identity(reference: Reference, where: Where) -> str | None:
    name = _category("identity")(reference, where)
    if name in {"hash", "id"} and not where.entry and (not where.asked or where.piece.endswith(".__hash__")):
        return None  # how sets find members and reprs tell objects apart; a result that shows it differs between runs
    return name


def _dynamic_name(reference: Reference, where: Where) -> str | None:
    """`getattr` with a name that is computed; the generic special methods of a class that merely is in reach may."""
    if reference.target != _BY_NAME or not (where.asked or where.entry):
        return None
    call = reference.call
    if call is not None and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
        return None
    return "getattr with a computed name"


PURITY: tuple[PurityRule, ...] = (
    PurityRule(
        name="files",
        why="what a file holds differs from machine to machine",
        drops="from pathlib import Path\ndef f(p: str) -> bool:\n    place = Path(p)\n    return place.exists()",
        keeps="import os.path as p\ndef f(a: str) -> str:\n    return p.join(a, 'b')",
        check=_category("files"),
    ),
    PurityRule(
        name="environment",
        why="variables, users, folders and settings of the machine",
        drops="from os import environ as e\ndef f(a: str) -> str:\n    return e.get(a, '')",
        keeps="def f(environ: dict[str, str]) -> str:\n    return environ.get('a', '')",
        check=_category("environment"),
    ),
    PurityRule(
        name="process",
        why="starts, ends or changes processes",
        drops="import subprocess\ndef f(a: str) -> int:\n    return subprocess.run([a]).returncode",
        keeps="import subprocess\ndef f(a: list[str]) -> str:\n    return subprocess.list2cmdline(a)",
        check=_category("process"),
    ),
    PurityRule(
        name="network",
        why="the answer of a server is no result of the code",
        drops="import socket\ndef f(a: str) -> str:\n    return socket.gethostbyname(a)",
        keeps="import socket\ndef f(a: str) -> bytes:\n    return socket.inet_aton(a)",
        check=_category("network"),
    ),
    PurityRule(
        name="time",
        why="clocks and the local time zone",
        drops="from time import time as t\ndef f(a: float) -> float:\n    return t() - a",
        keeps="import datetime\ndef f(a: int) -> datetime.timedelta:\n    return datetime.timedelta(days=a)",
        check=_clock,
    ),
    PurityRule(
        name="randomness",
        why="not repeatable, or (seeded) a computation that nobody can follow",
        drops="import random\ndef f(a: list[int]) -> int:\n    return random.Random(0).choice(a)",
        keeps="def f(random: list[int]) -> int:\n    return random.index(1)",
        check=_category("randomness"),
    ),
    PurityRule(
        name="threads",
        why="the order of what runs at the same time is not the program's",
        drops="import threading\ndef f(a: int) -> int:\n    threading.Thread(target=print).start()\n    return a",
        keeps="import threading\nLOCK = threading.Lock()\ndef f(a: int) -> int:\n    with LOCK:\n        return a + 1",
        check=_category("threads"),
    ),
    PurityRule(
        name="identity",
        why="addresses and string hashes differ between runs, versions between releases",
        drops="def f(a: str) -> int:\n    return hash(a) % 7",
        keeps="class K:\n    def __hash__(self):\n        return hash(self.a)\n\ndef f(a: str) -> bool:\n    return K() in {a}",
        check=_identity,
    ),
    PurityRule(
        name="interactive",
        why="waits for a person",
        drops="def f(a: str) -> str:\n    return input(a)",
        keeps="def f(input: str) -> str:\n    return input.upper()",
        check=_category("interactive"),
    ),
    PurityRule(
        name="dynamic-code",
        why="runs code or fetches modules that are not in the program",
        drops="def f(a: str) -> int:\n    return eval(a)",
        keeps="import re\ndef f(a: str) -> bool:\n    return re.compile('a+').match(a) is not None",
        check=_category("dynamic-code"),
    ),
    PurityRule(
        name="dynamic-attribute",
        why="which attribute is taken cannot be read from the code, so neither can what it does",
        drops="def f(a: str) -> object:\n    return getattr(a, a)()",
        keeps="def f(a: str) -> object:\n    return getattr(a, 'upper')()",
        check=_dynamic_name,
    ),
    PurityRule(
        name="frames",
        why="who called, and from which file and line, is not the function's own",
        drops="import sys\ndef f(a: int) -> str:\n    return sys._getframe(a).f_code.co_name",
        keeps="import sys\ndef f(a: int) -> bool:\n    return a > sys.maxsize",
        check=_category("frames"),
    ),
)
