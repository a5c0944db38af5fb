"""What is kept from one function for the next never shows: each gives what it gives alone, refusals included."""

from __future__ import annotations

import random
from pathlib import Path

from exe.analysis import Project, read_project
from exe.inline import Inlined, inline
from exe.records import Rejection
from tests.inlining import candidate, write_package

HUB = "\n".join(
    f"def h{n}(x):\n    return h{(n * 7 + 1) % 12}(x - 1) if x > {n} else KEPT.get(x, made(x).m{n % 3}())"
    for n in range(12)
)
FILES = {
    "pk/__init__.py": "",
    "pk/base.py": f"""
from pk import late
KEPT = {{}}
class Made:
    def m0(self): return self.value
    def m1(self): return helper(self.value)
    def m2(self): return late.told(self)
    def only_named(self): return beside(self)
def beside(x):
    return "beside"
def helper(x):
    return x + 1
def made(x):
    one = Made()
    one.value = x
    return one
KEPT[0] = helper(0)
{HUB}
""",
    "pk/late.py": "def told(x):\n    return type(x).__name__\ndef odd(x):\n    return nowhere(x)\nODD = odd\n",
    "pk/use.py": "from pk import base, late\n"
    + "\n".join(f"def u{n}(x):\n    return base.h{n}(x)" for n in range(12))
    + "\ndef named(x):\n    return base.made(x).only_named()\n"
    + "def whole(x):\n    return base.h3(x), vars(base)\n"
    + "def hints(x: int) -> int:\n    return hints.__annotations__, base.h1(x)\n"
    + "class K:\n    def m(self):\n        return base.h2(1), late.ODD\n    def refused(self):\n        return __file__, base.h1(2)\n",
}
TARGETS = [*(f"pk.use:u{n}" for n in range(12)), "pk.use:named", "pk.use:whole", "pk.use:hints", "pk.use:K.m"]
TARGETS += ["pk.use:K.refused", "pk.base:made", "pk.base:h5", "pk.late:odd"]


def given(project: Project, target: str) -> tuple[object, ...]:
    found = inline(project, candidate(project.package, target))
    if isinstance(found, Rejection):
        return found.reason, found.detail
    assert isinstance(found, Inlined)
    return found.source, found.hazards, tuple(found.names.items())


def test_what_came_before_does_not_show(tmp_path: Path) -> None:
    package = write_package(tmp_path, FILES)
    alone = {target: given(read_project(package), target) for target in TARGETS}
    assert any(len(found) == 2 for found in alone.values())  # refusals are among them
    assert any(len(found) == 3 and found[1] for found in alone.values())  # and hazards
    for seed in range(6):
        order = TARGETS * 3
        random.Random(seed).shuffle(order)
        project = read_project(package)
        for target in order:
            assert given(project, target) == alone[target], target
