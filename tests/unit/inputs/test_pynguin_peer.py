"""Pynguin's tests behind a program: calls that the sandbox runs, with the program's branches as before."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from exe.records import Job
from exe.sandbox.branches import sites
from exe.sandbox.host import Sandbox

_PATH = Path(__file__).parents[3] / "benchmarks" / "pynguin_peer.py"
_SPEC = importlib.util.spec_from_file_location("pynguin_peer", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
pynguin_peer = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pynguin_peer)

PROGRAM = "def f(n):\n    if n < 0:\n        raise ValueError(n)\n    return n if n else 'none'\n"
WRITTEN = """
import pytest
import sys
import prog

prog_ = sys.modules["prog"]


@pytest.mark.xfail(strict=True)
def test_0():
    with pytest.raises(ValueError):
        prog_.f(n=-1)


def test_1():
    var_0 = 7
    prog_.f(n=var_0)
"""


def test_tests_run_behind_the_program() -> None:
    source, calls = pynguin_peer.with_tests(PROGRAM, WRITTEN)
    assert calls == ("test_0()", "test_1()")
    assert sites(source)[: len(sites(PROGRAM))] == sites(PROGRAM)
    with Sandbox() as box:
        outcomes = next(iter(box.execute([Job(source=source, calls=calls, cover=True)])))
    assert [(one.status, one.branches) for one in outcomes] == [("error", (0, 2)), ("value", (1, 3))]
