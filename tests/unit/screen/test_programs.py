"""The purity screen: resolved names, reach, and what merely stands there."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from exe.screen import PURITY, PurityRule, findings, mutated_globals, purity


def rules(source: str, entry: str = "f") -> set[str]:
    return {finding.rule for finding in findings(source, entry)}


@pytest.mark.parametrize("rule", PURITY, ids=lambda rule: rule.name)
def test_each_rule_by_its_examples(rule: PurityRule) -> None:
    assert rules(rule.drops) == {rule.name}
    assert rules(rule.keeps) == set()
    assert rule.why


def test_every_reason_of_the_lists_has_its_rule() -> None:
    raw = tomllib.loads(files("exe").joinpath("data/blocklists.toml").read_text("utf-8"))
    reasons = {reason for table in ("imports", "functions", "variables") for reason in raw[table]}

    assert reasons == {rule.name for rule in PURITY} - {"dynamic-attribute"}


def test_no_name_is_listed_twice_with_different_reasons() -> None:
    raw = tomllib.loads(files("exe").joinpath("data/blocklists.toml").read_text("utf-8"))
    seen: dict[str, str] = dict.fromkeys(raw["pure"]["names"], "")
    for table in ("imports", "functions", "variables"):
        for reason, names in raw[table].items():
            for name in names:
                assert seen.setdefault(name, reason) == reason, name


# Of each: a body of f(a), with the imports it needs; all of it is impure.
IMPURE = [
    ("import os", "return os.getcwd()", "environment"),
    ("import os", "return os.environ['A']", "environment"),
    ("import os", "environ = os.environ\n    return environ", "environment"),
    ("import os.path", "return os.path.exists(a)", "files"),
    ("import os.path as p", "return p.abspath(a)", "files"),
    ("from os import path", "return path.expanduser(a)", "environment"),
    ("from os.path import isfile as there", "return there(a)", "files"),
    ("", "import os\n    return os.listdir(a)", "environment"),
    ("", "with open(a) as g:\n        return g.read()", "files"),
    ("import io", "return io.open(a)", "files"),
    ("import pathlib", "return pathlib.Path(a).read_text()", "files"),
    ("from pathlib import Path", "return Path.cwd() / a", "files"),
    ("import time", "return time.monotonic()", "time"),
    ("import time", "return time.strftime('%Y')", "time"),
    ("import time", "return time.localtime(a)", "time"),
    ("import datetime as d", "return d.datetime.now()", "time"),
    ("from datetime import datetime", "return datetime.utcnow().year", "time"),
    ("from datetime import date", "return date.today()", "time"),
    ("from datetime import datetime", "return datetime.fromtimestamp(a)", "time"),
    ("from random import Random as R", "return R(1).random()", "randomness"),
    ("import random", "random.seed(0)\n    return random.random()", "randomness"),
    ("import uuid", "return uuid.uuid4()", "randomness"),
    ("import os", "return os.urandom(a)", "randomness"),
    ("import secrets", "return secrets.token_hex()", "randomness"),
    ("import sys", "return sys.argv", "environment"),
    ("import sys", "return sys.modules[a]", "dynamic-code"),
    ("import sys", "sys.exit(a)", "process"),
    ("import importlib", "return importlib.import_module(a)", "dynamic-code"),
    ("", "return __import__(a)", "dynamic-code"),
    ("", "exec(a)", "dynamic-code"),
    ("", "return compile(a, '', 'eval')", "dynamic-code"),
    ("", "return globals()[a]", "dynamic-code"),
    ("", "return getattr(a, a + 'x', None)", "dynamic-attribute"),
    ("", "return list(map(getattr, [a], ['b']))", "dynamic-attribute"),
    ("import builtins", "return builtins.open(a)", "files"),
    ("", "return id(a)", "identity"),
    ("", "return {hash(x) for x in a}", "identity"),
    ("", "return sorted(a, key=id)", "identity"),
    ("", "return __version__ + a", "identity"),
    ("", "return __file__ + a", "files"),
    ("import inspect", "return inspect.currentframe()", "frames"),
    ("import inspect", "return inspect.stack()[a]", "frames"),
    ("import asyncio", "return asyncio.run(a)", "threads"),
    ("from concurrent.futures import ThreadPoolExecutor", "return ThreadPoolExecutor().map(len, a)", "threads"),
    ("import urllib.request", "return urllib.request.urlopen(a)", "network"),
    ("try:\n    import time as clock\nexcept ImportError:\n    clock = None", "return clock.time()", "time"),
]

PURE = [
    ("import os", "return os.path.join(a, os.sep)"),
    ("import os", "return os.path.splitext(os.path.basename(a))"),
    ("import os", "return os.fspath(a)"),
    ("import datetime", "return datetime.datetime(2020, 1, 1) + datetime.timedelta(a)"),
    ("import datetime", "return datetime.datetime.fromtimestamp(a, datetime.timezone.utc)"),
    ("from datetime import date", "return date.fromisoformat(a)"),
    ("import time", "return time.strftime('%Y', a)"),
    ("import time", "return time.gmtime(a)"),
    ("import uuid", "return uuid.uuid5(uuid.NAMESPACE_DNS, a)"),
    ("import pathlib", "return pathlib.PurePosixPath(a).read_text"),
    ("from pathlib import Path", "return Path(a).with_suffix('.x').name"),
    ("import sys", "return sys.version_info >= (3, 8)"),
    ("import sys", "sys.stderr.write(a)\n    return len(a)"),
    ("import logging", "logging.getLogger('x').info(a)\n    return len(a)"),
    ("import warnings", "warnings.warn(a)\n    return len(a)"),
    ("", "print(a)\n    return len(a)"),
    ("import random", "return isinstance(a, random.Random)"),
    ("import socket", "try:\n        return g(a)\n    except socket.gaierror:\n        return 0"),
    ("import threading", "def g(lock: threading.Thread) -> int:\n        return 1\n    return g(a)"),
    ("", "return getattr(a, 'name', None)"),
    ("", "time = a\n    return time.time()"),
    ("import time", "time = a\n    return time.time()"),
    ("import os", "return [os.environ for os in a]"),
    ("import os", "return (lambda os: os.environ)(a)"),
    ("", "open = len\n    return open(a)"),
    ("", "def eval(x):\n        return x\n    return eval(a)"),
    ("def input(x):\n    return x", "return input(a)"),
    ("import re", "return re.compile(a)"),
    ("def time(x):\n    return x", "return time(a)"),
    ("for code in (1, 2):\n    pass", "return code + a"),
    ("class random:\n    choice = 1", "return random.choice + a"),
    ("import pickle", "return pickle.dumps(a)"),
    ("", "return a.open('x').environ.eval(1)"),
    ("", "return 'open(a) and os.environ'"),
    ("from contextvars import ContextVar\nV = ContextVar('v')", "return V.get(a)"),
]


@pytest.mark.parametrize(("before", "body", "rule"), IMPURE)
def test_impure(before: str, body: str, rule: str) -> None:
    assert rules(f"{before}\ndef f(a):\n    {body}\n") == {rule}


@pytest.mark.parametrize(("before", "body"), PURE)
def test_pure(before: str, body: str) -> None:
    assert findings(f"{before}\ndef f(a):\n    {body}\n", "f") == ()


# Of each: a program, and whether its entry f reaches the impurity in it.
REACH = [
    ("import time\ndef now():\n    return time.time()\ndef f(a):\n    return now() + a", True),
    ("import time\ndef now():\n    return time.time()\ndef f(a):\n    return a", False),
    ("import os\nHOME = os.environ\ndef f(a):\n    return HOME[a]", True),
    ("import os\nHOME = os.environ\ndef f(a):\n    return a", False),
    ("import os\nHOME = os.environ\ndef f(a, HOME):\n    return HOME[a]", False),
    ("import os\nTABLE = {}\nTABLE.update(os.environ)\ndef f(a):\n    return TABLE[a]", True),
    ("import os\nTABLE = {}\nOTHER = {}\nOTHER.update(os.environ)\ndef f(a):\n    return TABLE[a]", False),
    ("import os\nTABLE = {}\nif os.environ:\n    TABLE[1] = 2\ndef f(a):\n    return TABLE[a]", False),
    ("import os\nTABLE = {}\nfor k in os.environ:\n    TABLE[k] = k\ndef f(a):\n    return TABLE[a]", True),
    ("import time\nclass C:\n    def now(self):\n        return time.time()\ndef f(a):\n    return C().now()", True),
    ("import time\nclass C:\n    def now(self):\n        return time.time()\ndef f(a):\n    return C().later()", False),
    ("import time\nclass C:\n    def now(self):\n        return time.time()\ndef f(a):\n    return a.now()", False),
    ("import time\nclass C:\n    def __init__(self):\n        self.t = time.time()\ndef f(a):\n    return C()", True),
    ("import time\nclass B:\n    def __init__(self):\n        self.t = time.time()\nclass C(B):\n    pass\ndef f(a):\n    return C()", True),
    ("import time\nclass C:\n    def __enter__(self):\n        return time.time()\ndef f(a):\n    return C()", False),
    ("import time\nclass C:\n    START = time.time()\ndef f(a):\n    return C.START", True),
    ("import time\ndef deco(g):\n    time.sleep(1)\n    return g\n@deco\ndef f(a):\n    return a + 1", True),
    ("import time\ndef f(a, clock=time.time):\n    return a + clock()", True),
    ("import time\ndef f(a):\n    def g():\n        return time.time()\n    return g() + a", True),
    ("import time\nif True:\n    def g():\n        return time.time()\nelse:\n    def g():\n        return 0\ndef f(a):\n    return g()", True),
    ("import time\nt = time.time\ndef f(a):\n    global COUNT\n    COUNT = a\n    return a", False),
    ("def names(x):\n    return [getattr(x, n) for n in x.names]\ndef f(a):\n    return names(a)", True),
    ("class C:\n    def __eq__(self, o):\n        return [getattr(o, n) for n in o.names]\ndef f(a):\n    return C()", False),
    ("class C:\n    def __repr__(self):\n        return hex(id(self))\ndef f(a):\n    return C()", False),
    ("class C:\n    def key(self):\n        return id(self)\ndef f(a):\n    return C().key()", True),
]  # fmt: skip


@pytest.mark.parametrize(("source", "impure"), REACH)
def test_reach(source: str, impure: bool) -> None:
    assert bool(findings(source, "f")) is impure


def test_a_method_as_entry() -> None:
    source = (
        "import time\nclass C:\n    def __init__(self, a):\n        self.a = a\n"
        "    def pure(self):\n        return self.a + 1\n    def now(self):\n        return time.time()\n"
    )

    assert findings(source, "C.pure") == ()
    assert rules(source, "C.now") == {"time"}


def test_the_entry_itself_is_judged_strictly() -> None:
    source = "class C:\n    def __hash__(self):\n        return hash(self.a)\n\ndef f(a):\n    return {C()}\n"

    assert findings(source, "f") == ()
    assert rules(source, "C.__hash__") == {"identity"}


def test_the_rejection() -> None:
    source = (
        "import os\nHERE = os.getcwd()\ndef g(a):\n    return os.getcwd()\ndef f(a):\n    return open(g(a) + HERE)\n"
    )

    rejection = purity(source, "f", "an id")

    assert rejection is not None
    assert (rejection.subject, rejection.stage, rejection.reason) == ("an id", "screen", "files")
    assert rejection.detail == "open in f, line 6 (and 1 more)"
    assert purity("def f(a):\n    return a + 1\n", "f") is None


def test_what_does_not_parse_is_a_rejection() -> None:
    broken = purity("def f(:\n", "f")
    deep = purity("def f(x):\n    return " + "+".join(["x"] * 20_000) + "\n", "f")

    assert broken is not None
    assert broken.reason == "unparsable"
    assert deep is not None
    assert deep.reason == "too-deep"


def test_a_long_chain_does_not_recurse() -> None:
    source = "import time\ndef f(x):\n    return " + "+".join(["x"] * 1500) + " + time.time()\n"

    assert rules(source) == {"time"}


def test_mutated_globals() -> None:
    source = (
        "N = 0\nM = 0\ndef count():\n    global N\n    N += 1\n    return N\n"
        "def other():\n    global M\n    M += 1\ndef f(a):\n    return count() + a\n"
    )

    assert mutated_globals(source, "f") == ("N",)
    assert mutated_globals(source, "other") == ("M",)
