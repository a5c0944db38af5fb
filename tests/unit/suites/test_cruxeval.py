"""CRUXEval's files: strictly read, faithfully converted, and its published verdicts reproduced."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from exe.codec import from_json, read_json, read_jsonl
from exe.errors import InputError
from exe.grading.grade import grade_text
from exe.records import Attempt, Case, Manifest, Program
from exe.suites.cruxeval import load, replay_lines, write_set
from runners.score import score

SHARED = Path(os.environ.get("EXE_SHARED_DATA", Path(__file__).resolve().parents[4] / "shared" / "data")) / "cruxeval"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason=f"CRUXEval's published files are not in {SHARED}")

ROW = {
    "id": "sample_0",
    "code": "def f(a, b=2, *c, d=1, **e):\n    return (a, b)",
    "input": "1, b='x'",
    "output": "(1, 'x')",
}


def written(folder: Path, *lines: object) -> Path:
    file = folder / "cruxeval.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return file


def test_a_line_becomes_a_program_and_a_case(tmp_path: Path) -> None:
    programs, cases, ids = load(written(tmp_path, ROW))
    (program,), (case,) = programs, cases
    assert (program.entry, program.source) == ("f", ROW["code"])
    assert program.parameters == {
        "type": "object",
        "properties": {"a": {}, "b": {}, "d": {}, "c": {"type": "array"}, "e": {"type": "object"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert (program.origin.package, program.origin.license, program.origin.line) == ("cruxeval", "MIT", 1)
    assert program.origin.version == "sha256-" + str(program.origin.sha256)[:12]
    assert (case.program, case.kind, case.call) == (program.id, "output", "f(1, b='x')")
    assert case.arguments == {"a": 1, "b": "x"}
    assert case.expected == {"value": [1, "x"]}
    assert case.typed == {"value": {"@odata.type": "#tuple", "value": [1, "x"]}}
    assert ids == {"sample_0": case.id}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("1, 2, 3, 4, d=5, z=6", {"a": 1, "b": 2, "c": [3, 4], "d": 5, "e": {"z": 6}}),
        ("", {}),
        ("{1: (2,)}, ", {"a": {"1": [2]}}),
        ("lambda x: x < 2, 'a' + 'b'", {"a": {"@python.expression": "lambda x: x < 2"}, "b": {"@python.expression": "'a' + 'b'"}}),
        ("'# no comment' # a comment", {"a": "# no comment"}),
    ],
)  # fmt: skip
def test_arguments_by_parameter(tmp_path: Path, text: str, arguments: dict[str, Any]) -> None:
    _, (case,), _ = load(written(tmp_path, ROW | {"input": text}))
    assert case.arguments == arguments
    assert case.call == f"f({text})"


BAD = [
    (["{"], "cruxeval.jsonl:1: "),
    ([ROW, "[1]"], "cruxeval.jsonl:2: holds no object"),
    ([ROW | {"extra": 1}], "cruxeval.jsonl:1: unknown field 'extra'"),
    ([{k: v for k, v in ROW.items() if k != "output"}], "cruxeval.jsonl:1: field 'output' is missing"),
    ([ROW | {"input": 3}], "cruxeval.jsonl:1: field 'input' is int, not text"),
    ([ROW, ROW], "cruxeval.jsonl:2: id 'sample_0' stands there twice"),
    ([ROW, ROW | {"id": "sample_1"}], "cruxeval.jsonl:2: 'sample_1' asks the same as 'sample_0'"),
    ([ROW | {"code": "def f(:"}], "cruxeval.jsonl:1: field 'code' is no Python"),
    ([ROW | {"code": "def g(): pass"}], "cruxeval.jsonl:1: the code defines no function 'f'"),
    ([ROW | {"input": "1) + f(2"}], "cruxeval.jsonl:1: the input is no list of arguments"),
    ([ROW | {"input": "1); f(2"}], "cruxeval.jsonl:1: the input is no list of arguments"),
    ([ROW | {"input": "*[1]"}], "cruxeval.jsonl:1: the input unpacks an argument"),
    ([ROW | {"code": "def f(a): pass", "input": "1, 2"}], "cruxeval.jsonl:1: 2 arguments for 1 parameters"),
    ([ROW | {"code": "def f(a): pass", "input": "b=2"}], "cruxeval.jsonl:1: argument 'b' does not fit"),
    ([ROW | {"input": "1, a=2"}], "cruxeval.jsonl:1: argument 'a' does not fit"),
    ([ROW | {"output": "f(1)"}], "cruxeval.jsonl:1: the output is no literal"),
    ([], "holds no line"),
]


@pytest.mark.parametrize(("lines", "message"), BAD, ids=[message for _, message in BAD])
def test_anything_else_is_refused_with_its_line(tmp_path: Path, lines: list[object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, *lines))
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cruxeval\.jsonl: no such file"):
        load(tmp_path)


def test_generations_become_replay_lines(tmp_path: Path) -> None:
    file = tmp_path / "generations.json"
    file.write_text(json.dumps({"sample_1": ["a"], "sample_0": ["b", "c"]}))
    assert list(replay_lines(file, {"sample_0": "x", "sample_1": "y"})) == [
        {"case": "y", "sample": 0, "text": "a"},
        {"case": "x", "sample": 0, "text": "b"},
        {"case": "x", "sample": 1, "text": "c"},
    ]


@pytest.mark.parametrize(
    ("tree", "message"),
    [([], "no object"), ({"other": ["a"]}, "'other' is no id"), ({"s": "a"}, "no list"), ({"s": [1]}, "no list")],
)
def test_other_generations_are_refused(tmp_path: Path, tree: object, message: str) -> None:
    file = tmp_path / "generations.json"
    file.write_text(json.dumps(tree))
    with pytest.raises(InputError, match=message):
        list(replay_lines(file, {"s": "x"}))


def test_a_written_set_reads_back_and_has_the_same_bytes_again(tmp_path: Path) -> None:
    file = written(tmp_path, ROW, ROW | {"id": "sample_1", "input": "2", "output": "(2, 2)"})
    manifest = write_set(file, tmp_path / "one")
    write_set(tmp_path, tmp_path / "two")
    names = ["manifest.json", "programs.jsonl", "cases.jsonl", "rejections.jsonl"]
    assert [(tmp_path / "one" / n).read_bytes() for n in names] == [(tmp_path / "two" / n).read_bytes() for n in names]
    assert from_json(Manifest, read_json(tmp_path / "one" / "manifest.json"), "manifest.json") == manifest
    assert (manifest.answer_format, manifest.rule) == ("python", "python")
    assert manifest.counts == {"packages": 1, "programs": 1, "cases": 2, "rejections": 0}
    programs, cases, _ = load(file)
    assert tuple(read_jsonl(tmp_path / "one" / "programs.jsonl", Program, validate=True)) == programs
    assert tuple(read_jsonl(tmp_path / "one" / "cases.jsonl", Case, validate=True)) == cases


@needs_data
def test_all_published_verdicts_and_scores_are_reproduced() -> None:
    published = json.loads((SHARED / "codellama-7b_output_scored.json").read_bytes())
    programs, cases, ids = load(SHARED)
    by_id, names = {case.id: case for case in cases}, {case: name for name, case in ids.items()}
    attempts, disagreements = [], []
    for line in replay_lines(SHARED / "codellama-7b_output_generations.json", ids):
        name, sample = names[line["case"]], line["sample"]
        _, grade = grade_text(line["text"], by_id[line["case"]], format="python", rule="python")
        if (grade.verdict == "correct") != published["raw_scored_generations"][name][sample]:
            disagreements.append((name, sample, line["text"]))
        attempts.append(
            Attempt(
                case=line["case"],
                sample=sample,
                request_sha256="",
                completion=None,
                repair=None,
                answer=None,
                verdict=grade.verdict,
                reason=grade.reason,
                credit=grade.credit,
                strict={"json": grade.json, "typed": grade.typed, "python": grade.python, "type_only": grade.type_only},
            )
        )
    assert (len(programs), len(cases), len(attempts)) == (800, 800, 8000)
    assert disagreements == []
    found = score(cases, attempts, ks=(1, 5), samples=10)
    assert found.complete
    for k in ("1", "5"):
        entry = found.pass_at[k]
        assert entry is not None
        assert 100 * entry.value == pytest.approx(published[f"pass_at_{k}"], abs=1e-9)
    assert found.rules["typed"] == found.rules["python"] == found.pass_at["1"]
