"""The import table: which room may import which. No cycle, no arrow upward."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BASE = {"exe", "exe.errors", "exe.records"}
DATA = BASE | {"exe.codec", "exe.values"}
ALLOWED: dict[str, set[str]] = {
    "exe": set(),
    "exe.errors": set(),
    "exe.records": set(),
    "exe.values": set(),
    "exe.codec": BASE | {"exe.values"},
    "exe.taskset": DATA,
    "exe.sources": BASE,
    "exe.analysis": BASE,
    "exe.screen": BASE | {"exe.analysis"},
    "exe.inline": BASE | {"exe.analysis"},
    "exe.inputs": DATA | {"exe.analysis"},
    "exe.sandbox": BASE | {"exe.values"},
    "exe.hashing": set(),
    "exe.certify": DATA | {"exe.hashing"},
    "exe.grading": DATA,
    "exe.proof": DATA | {"exe.grading"},
    "exe.recertify": DATA | {"exe.certify", "exe.proof", "exe.taskset", "exe.sandbox"},
    "exe.suites": DATA | {"exe.analysis", "exe.taskset", "exe.grading"},
    "exe.chain": DATA | {"exe.analysis", "exe.screen", "exe.inline", "exe.inputs", "exe.certify"},
    "exe.build": DATA | {"exe.certify", "exe.taskset", "exe.chain", "exe.inputs", "exe.sources", "exe.sandbox"},
    "exe.quality": DATA | {"exe.inputs", "exe.taskset", "exe.sandbox"},
    "exe.verify": DATA | {"exe.analysis", "exe.taskset", "exe.sources", "exe.sandbox"},
    "runners": DATA | {"exe.grading", "exe.taskset", "exe.sandbox"},
}
EVERYTHING = {"exe.cli"}


def room(module: str) -> str:
    parts = module.split(".")
    return parts[0] if parts[0] == "runners" else ".".join(parts[:2])


def sources() -> list[tuple[str, Path]]:
    found = []
    for path in sorted([*(ROOT / "exe").rglob("*.py"), *(ROOT / "runners").rglob("*.py")]):
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        found.append((".".join(parts), path))
    return found


def imported(module: str, path: Path) -> set[str]:
    names: set[str] = set()
    modules = {name for name, _ in sources()}
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(
                    [*package.split(".")[: len(package.split(".")) - node.level + 1], *([base] if base else [])]
                )
            for alias in node.names:
                full = f"{base}.{alias.name}"
                names.add(full if full in modules else base)
    return {name for name in names if name.split(".")[0] in ("exe", "runners")}


@pytest.mark.parametrize(("module", "path"), sources(), ids=[name for name, _ in sources()])
def test_a_module_imports_only_what_its_room_may(module: str, path: Path) -> None:
    here = room(module)
    if here in EVERYTHING:
        return
    assert here in ALLOWED, f"{here} has no line in the import table"
    for name in imported(module, path):
        there = room(name)
        assert there == here or there in ALLOWED[here], f"{module} imports {name}"


def test_the_table_has_no_cycle() -> None:
    def reach(start: str, seen: frozenset[str] = frozenset()) -> None:
        assert start not in seen, f"cycle through {start}"
        for target in ALLOWED.get(start, set()):
            reach(target, seen | {start})

    for start in ALLOWED:
        reach(start)


def test_the_sandbox_worker_and_values_use_the_standard_library_only() -> None:
    import sys

    for module, path in sources():
        if module.startswith("exe.values") or module == "exe.sandbox.worker":
            for node in ast.walk(ast.parse(path.read_bytes())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module or ""]
                for name in names:
                    top = name.split(".")[0]
                    assert top in sys.stdlib_module_names or top == "exe", f"{module} imports {name}"
