"""Static metrics of a program (paper, A.6). Counts need no recursion; what radon cannot compute is left out, not guessed."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterable

from radon.metrics import h_visit_ast, mi_compute
from radon.visitors import ComplexityVisitor

from .modules import FunctionNode
from .references import Program, read_program
from .text import SourceFault, parse

_NOT_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


def static_metrics(source: str, entry: str) -> dict[str, int | float]:
    """Metrics of a program by name; all are counts but `maintainability_index` (0 to 100) and `halstead_volume` (bits).

    - `characters`; `lines_of_code`: lines with code on them, no blank or comment lines; `python_tokens`: what Python's
      tokenizer finds, layout and comments apart (not the tokens of any model: those depend on what is installed);
    - `ast.X`: nodes of each type X (expression contexts apart); `ifs` (if and elif statements); `identifiers`: distinct
      names of variables, parameters, functions, classes, imports, attributes apart;
    - `call_depth`: the longest chain of functions of the program from `entry`, itself 1, by name; functions
      that call each other count as one;
    - `cyclomatic_complexity` of the program, `entry_cyclomatic_complexity`, `halstead_volume`, and
      `maintainability_index` from volume, complexity and lines of code (radon).

    Left out: all that needs a syntax tree where the source has none (or one too deep for Python), radon's where the tree
    is too deep for it. Never raises for what a program holds.
    """
    metrics: dict[str, int | float] = {"characters": len(source), **_lexical(source)}
    try:
        tree = parse(source)
    except SourceFault:
        return metrics
    counts = Counter(type(node).__name__ for node in ast.walk(tree))
    for context in ("Load", "Store", "Del"):
        counts.pop(context, None)
    metrics["ifs"] = counts["If"]
    metrics["identifiers"] = len(_identifiers(tree))
    metrics["call_depth"] = call_depth(read_program(source), entry)
    metrics.update({f"ast.{name}": counts[name] for name in sorted(counts) if counts[name]})
    metrics.update(_radon(tree, entry, int(metrics.get("lines_of_code", 0))))
    return metrics


def _lexical(source: str) -> dict[str, int]:
    """Lines of code and Python tokens; nothing where the source cannot be cut into tokens."""
    lines: set[int] = set()
    tokens = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type not in _NOT_CODE:
                tokens += 1
                if token.start[0] == token.end[0]:
                    lines.add(token.start[0])
                else:
                    lines.update(range(token.start[0], token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        return {}
    blank = {number for number, line in enumerate(source.split("\n"), start=1) if not line.strip()}
    lines -= blank  # inside of a long string
    return {"lines_of_code": len(lines), "python_tokens": tokens}


def _identifiers(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.add(other or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)):
                names.add(name)
    return names


def _radon(tree: ast.Module, entry: str, lines: int) -> dict[str, int | float]:
    """Complexity, volume and maintainability; none of them where the tree is too deep for radon's visitors."""
    try:
        complexity = int(ComplexityVisitor.from_ast(tree).total_complexity)
        volume = float(h_visit_ast(tree).total.volume)
        result: dict[str, int | float] = {
            "cyclomatic_complexity": complexity,
            "halstead_volume": round(volume, 6),
            "maintainability_index": round(float(mi_compute(volume, complexity, lines, 0)), 6),
        }
        node = _definition(tree, entry.split("."))
        if node is not None:
            found = ComplexityVisitor.from_ast(node)
            result["entry_cyclomatic_complexity"] = int(found.functions[0].complexity)
    except RecursionError:
        return {}
    return result


def _definition(tree: ast.Module, path: list[str]) -> FunctionNode | None:
    """The last function definition at a dotted path of names."""
    body: list[ast.stmt] = tree.body
    for name in path[:-1]:
        inner = [node for node in body if isinstance(node, ast.ClassDef) and node.name == name]
        body = inner[-1].body if inner else []
    found = [node for node in body if isinstance(node, FunctionNode) and node.name == path[-1]]
    return found[-1] if found else None


def call_depth(program: Program, entry: str) -> int:
    """The longest chain of functions from `entry` (1: it calls none of the program's own); 0 where there is no such piece.

    Edges are by name: an own function named is taken as called, a class as made, an attribute as any method so called of
    a class in reach.
    """
    reached = program.reach(entry)
    methods: dict[str, list[str]] = {}
    for owner, names in program.methods.items():
        if owner in reached:
            for name in names:
                methods.setdefault(name, []).append(f"{owner}.{name}")
    edges: dict[str, list[str]] = {}
    for key in reached:
        piece = program.pieces[key]
        targets = [binder for name in piece.names for binder in program.binders.get(name, ())]
        targets += [f"{owner}.__init__" for owner in targets if owner in program.methods]
        targets += [method for name in piece.attributes for method in methods.get(name, ())]
        edges[key] = sorted({target for target in targets if target in reached})
    functions = {key for key in reached if key in program.functions}
    return _longest(entry, edges, functions) if entry in reached else 0


def _longest(start: str, edges: dict[str, list[str]], counted: Iterable[str]) -> int:
    """The longest path from `start`, in counted nodes; each strongly connected component counts once (Tarjan 1972)."""
    weights = set(counted)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    depth: dict[str, int] = {}
    pending: list[str] = []
    work: list[tuple[str, int]] = [(start, 0)]
    while work:
        node, position = work.pop()
        if node not in index:
            index[node] = low[node] = len(index)
            pending.append(node)
        for offset, target in enumerate(edges.get(node, ())[position:], start=position):
            if target not in index:
                work += [(node, offset), (target, 0)]
                break
            low[node] = min(low[node], low[target] if target not in depth else low[node])
        else:
            if low[node] == index[node]:
                component = pending[pending.index(node) :]
                del pending[pending.index(node) :]
                below = [depth[target] for member in component for target in edges.get(member, ()) if target in depth]
                value = max(below, default=0) + (1 if weights & set(component) else 0)
                depth.update(dict.fromkeys(component, value))
    return depth[start]
