"""Pynguin's tests for one program, as calls that the sandbox can run.

Pynguin runs what it tests in its own process. It gets a copy of the program whose hazards are armed, in namespaces of its own: no network, no
file system to write to but one in memory that ends with it.
"""

from __future__ import annotations

import ast
import shlex
import subprocess
from collections.abc import Sequence

MODULE = "prog"
SETTLED = 60.0  # seconds beyond its search after which it has failed

_APART = ("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child")
_SCRIPT = f"""
set -e
mount --rbind / / && mount -o remount,bind,ro / && mount -t tmpfs none /tmp
cd /tmp && mkdir out && cat > {MODULE}.py
export HOME=/tmp PYNGUIN_DANGER_AWARE=1
"$@" --project_path /tmp --module_name {MODULE} --output_path /tmp/out --report_dir /tmp/report > log 2>&1 ||
    {{ tail -n 3 log >&2; exit 1; }}
cat out/test_{MODULE}.py
"""


class PeerFailed(Exception):
    """Pynguin ended without tests; the text says how."""


def tests(command: str, source: str, entry: str, *, seconds: float, seed: int) -> str:
    """The test module that Pynguin writes for the entry of a program after that many seconds of search. Raises PeerFailed."""
    others = [
        f"{MODULE}.{node.name}"
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name != entry.partition(".")[0]
    ]
    words = [
        *shlex.split(command),
        *("--maximum_search_time", str(round(seconds)), "--seed", str(seed), "--assertion_generation", "NONE"),
        *("--element_visibility", "ALL", "--use-master-worker", "False"),
        *(("--ignore_methods", *others) if others else ()),
    ]
    try:
        done = subprocess.run(
            [*_APART, "sh", "-c", _SCRIPT, "sh", *words],
            input=source,
            capture_output=True,
            text=True,
            timeout=seconds + SETTLED,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PeerFailed("it did not end") from error
    if done.returncode:
        raise PeerFailed(done.stderr.strip()[-300:] or f"status {done.returncode}")
    return done.stdout


def with_tests(source: str, written: str) -> tuple[str, tuple[str, ...]]:
    """The program with the tests behind it, and the calls that run them. Places before the tests keep their order.

    What a test expects to raise stands bare: it ends the test there, as the exception would.
    """
    found = [node for node in ast.parse(written).body if isinstance(node, ast.FunctionDef)]
    for node in found:
        node.decorator_list = []
        node.body = list(_bare(node.body)) or [ast.Pass()]
    text = "\n\n".join(ast.unparse(node) for node in found)
    joined = f"{source}\n\nimport sys\n{MODULE}_ = {MODULE} = sys.modules[__name__]\n\n{text}\n"
    return joined, tuple(f"{node.name}()" for node in found)


def _bare(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements without the contexts around them."""
    result: list[ast.stmt] = []
    for node in body:
        result += _bare(node.body) if isinstance(node, ast.With) else [node]
    return result
