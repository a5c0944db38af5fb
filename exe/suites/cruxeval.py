"""CRUXEval's files in, our task set out: output prediction (answer format and headline rule `python`).

`cruxeval.jsonl` holds lines `{"id": "sample_0", "code": "def f…", "input": "argument text", "output": "literal"}`; published
generations are one object `{"sample_0": ["text", …], …}`. Source: Gu et al., *CRUXEval: A Benchmark for Code Reasoning,
Understanding and Execution*, 2024; MIT licence. Nothing is executed: the truth is the output that the file records.

What is altered: the functions have no annotations, so every parameter's schema is `{}`; an argument that is no literal
(`lambda x: x < 2`) becomes `{"@python.expression": "lambda x: x < 2"}` in `arguments`, and stands in `call` as it was.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from exe import __version__, taskset
from exe.codec import content_id, read_json, read_json_lines
from exe.errors import InputError
from exe.records import Case, Json, Manifest, Origin, Program
from exe.values import LiteralError, Unrepresentable, encode, read_literal

FILE = "cruxeval.jsonl"
ENTRY = "f"
LICENSE = "MIT"
REPOSITORY = "https://github.com/facebookresearch/cruxeval"
_FIELDS = ("id", "code", "input", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One line of the file, its fields as they stand there."""

    where: str  # "file:line"
    line: int
    id: str
    code: str
    input: str
    output: str


def load(path: str | Path) -> tuple[tuple[Program, ...], tuple[Case, ...], dict[str, str]]:
    """Read `cruxeval.jsonl` (or the folder that holds it): programs and cases in file order, and sample id → case id.

    Raises InputError with file and line for anything but lines of exactly the four text fields: invalid JSON, unknown or
    missing fields, other types, a repeated id or question, code without the function, text that is no argument list, an
    output that is no literal.
    """
    file = _file(path)
    digest = _sha256(file)
    programs: dict[str, Program] = {}
    cases: dict[str, Case] = {}
    ids: dict[str, str] = {}
    for row in _rows(file):
        if row.id in ids:
            raise InputError(f"{row.where}: id {row.id!r} stands there twice; remove one of the lines")
        program, case = _task(row, digest)
        if case.id in cases:
            first = next(name for name, known in ids.items() if known == case.id)
            raise InputError(f"{row.where}: {row.id!r} asks the same as {first!r}; remove one of the lines")
        programs.setdefault(program.id, program)
        cases[case.id] = case
        ids[row.id] = case.id
    if not cases:
        raise InputError(f"{file}: holds no line; give CRUXEval's {FILE}")
    return tuple(programs.values()), tuple(cases.values()), ids


def replay_lines(path: str | Path, ids: Mapping[str, str]) -> Iterator[dict[str, Json]]:
    """Yield published generations as replay lines `{"case", "sample", "text"}`, samples numbered from 0.

    `ids` comes from `load`. Raises InputError for another shape of the file and for ids that the set does not have. Ids
    without generations are not made up: a run over them stays incomplete.
    """
    tree = read_json(path)
    if not isinstance(tree, dict):
        raise InputError(f"{path}: holds no object of generations by sample id")
    for name, texts in tree.items():
        if name not in ids:
            raise InputError(f"{path}: {name!r} is no id of this set; give the generations that belong to it")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{path}: {name!r} holds no list of texts")
        for sample, text in enumerate(texts):
            yield {"case": ids[name], "sample": sample, "text": text}


def write_set(path: str | Path, directory: str | Path, name: str = "cruxeval", seed: int = 0) -> Manifest:
    """Write `cruxeval.jsonl` as a task set into `directory` (made if need be) and return its manifest.

    The same file gives the same bytes. Raises InputError as `load` does, StorageError where nothing can be written.
    """
    file = _file(path)
    programs, cases, _ = load(file)
    manifest = Manifest(
        name=name,
        format=taskset.FORMAT,
        builder=__version__,
        python=platform.python_version(),
        generator="cruxeval",
        seed=seed,
        sources=(
            {
                "name": "cruxeval",
                "version": _version(_sha256(file)),
                "file": FILE,
                "sha256": _sha256(file),
                "license": LICENSE,
                "repository": REPOSITORY,
            },
        ),
        counts={},
        files={},
        canary="",
        answer_format="python",
        rule="python",
        settings={"truth": "as recorded in the file, not executed"},
    )
    return taskset.write_set(Path(directory), manifest, programs, cases, ())


def _file(path: str | Path) -> Path:
    file = Path(path)
    file = file / FILE if file.is_dir() else file
    if not file.is_file():
        raise InputError(f"{file}: no such file; give CRUXEval's {FILE} or its folder")
    return file


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _version(digest: str) -> str:
    """The data names no version of itself: its own digest."""
    return f"sha256-{digest[:12]}"


def _rows(file: Path) -> Iterator[_Row]:
    for line, (where, data) in enumerate(read_json_lines(file), start=1):
        if not isinstance(data, dict):
            raise InputError(f"{where}: holds no object; a line has the fields {', '.join(_FIELDS)}")
        for name in sorted(data.keys() - set(_FIELDS)):
            raise InputError(f"{where}: unknown field {name!r}; a line has the fields {', '.join(_FIELDS)}")
        for name in _FIELDS:
            if name not in data:
                raise InputError(f"{where}: field {name!r} is missing")
            if not isinstance(data[name], str):
                raise InputError(f"{where}: field {name!r} is {type(data[name]).__name__}, not text")
        yield _Row(where=where, line=line, **data)


def _task(row: _Row, digest: str) -> tuple[Program, Case]:
    function = _function(row)
    program = Program(
        id=content_id({"source": row.code, "entry": ENTRY}),
        entry=ENTRY,
        source=row.code,
        parameters=_schema(function.args),
        returns="Any",
        origin=Origin(
            package="cruxeval",
            version=_version(digest),
            module="cruxeval",
            qualname=row.id,
            path=FILE,
            line=row.line,
            license=LICENSE,
            repository=REPOSITORY,
            sha256=digest,
        ),
        provenance={ENTRY: f"cruxeval:{row.id}"},
    )
    try:
        plain, typed = encode(read_literal(row.output))
    except (LiteralError, Unrepresentable) as error:
        raise InputError(f"{row.where}: the output is no literal: {error}") from None
    arguments = _arguments(row, function.args)
    identity = {"program": program.id, "kind": "output", "question": None, "arguments": arguments}
    case = Case(
        id=content_id(identity),
        program=program.id,
        kind="output",
        arguments=arguments,
        call=f"{ENTRY}({row.input})",
        expected={"value": plain},
        typed={"value": typed},
        generator="cruxeval",
    )
    return program, case


def _function(row: _Row) -> ast.FunctionDef:
    """The entry, as the module leaves it bound: its last definition."""
    found = [node for node in _tree(row.code, row, "code") if isinstance(node, ast.FunctionDef)]
    for node in reversed(found):
        if node.name == ENTRY:
            return node
    raise InputError(f"{row.where}: the code defines no function {ENTRY!r}")


def _tree(text: str, row: _Row, field: str) -> list[ast.stmt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in their code is their business
        try:
            return ast.parse(text).body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise InputError(f"{row.where}: field {field!r} is no Python: {error}") from None


def _schema(arguments: ast.arguments) -> dict[str, Json]:
    """JSON Schema of the arguments object: names and what must be there, no types, for there are no annotations."""
    normal = [*arguments.posonlyargs, *arguments.args]
    defaults = len(arguments.defaults)
    required = [arg.arg for arg in normal[: len(normal) - defaults]]
    required += [
        arg.arg for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    ]
    properties: dict[str, Json] = {arg.arg: {} for arg in (*normal, *arguments.kwonlyargs)}
    if arguments.vararg:
        properties[arguments.vararg.arg] = {"type": "array"}
    if arguments.kwarg:
        properties[arguments.kwarg.arg] = {"type": "object"}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _arguments(row: _Row, parameters: ast.arguments) -> dict[str, Json]:
    """The arguments of the call by parameter name, in the order in which they stand in the call."""
    text = f"{ENTRY}({row.input}\n)"
    match _tree(text, row, "input"):
        case [ast.Expr(value=ast.Call(func=ast.Name(id="f"), args=given, keywords=named))]:
            pass
        case _:
            raise InputError(f"{row.where}: the input is no list of arguments")
    names = [arg.arg for arg in (*parameters.posonlyargs, *parameters.args)]
    if any(isinstance(node, ast.Starred) for node in given) or any(keyword.arg is None for keyword in named):
        raise InputError(f"{row.where}: the input unpacks an argument with a star; write the arguments out")
    out: dict[str, Json] = {}
    for index, node in enumerate(given):
        if index < len(names):
            out[names[index]] = _argument(node, text)
        elif parameters.vararg:
            out.setdefault(parameters.vararg.arg, []).append(_argument(node, text))
        else:
            raise InputError(f"{row.where}: {len(given)} arguments for {len(names)} parameters")
    accepted = {*names, *(arg.arg for arg in parameters.kwonlyargs)}
    for keyword in named:
        name = str(keyword.arg)
        if name in accepted and name not in out:
            out[name] = _argument(keyword.value, text)
        elif name not in accepted and parameters.kwarg:
            out.setdefault(parameters.kwarg.arg, {})[name] = _argument(keyword.value, text)
        else:
            raise InputError(f"{row.where}: argument {name!r} does not fit the parameters")
    return out


def _argument(node: ast.expr, text: str) -> Json:
    """The plain form of a literal argument, else its source text under an annotation."""
    source = ast.get_source_segment(text, node) or ast.unparse(node)
    try:
        return encode(read_literal(source))[0]
    except (LiteralError, Unrepresentable):
        return {"@python.expression": source}
