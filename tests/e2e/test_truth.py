"""The harness on itself: gold answers score 100, empty ones 0, and gold answers to altered questions 0 again."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from exe import taskset
from exe.values import dumps, loads
from tests.support.command import exe


def measured(model: str, folder: Path, cwd: Path) -> dict[str, Any]:
    done = exe("run", model, "--set", str(folder), "--json", "--quiet", cwd=cwd)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def altered(tree: Any) -> Any:
    """The same tree with one leaf changed; an empty container gets a leaf.

    Of a pair the value is changed, of a set a member is exchanged: the tree stays well formed.
    """
    match tree:
        case {"@odata.type": "#float", "value": str(name)}:
            return {**tree, "value": "NaN" if name != "NaN" else "INF"}
        case {"@odata.type": "#bytes" | "#bytearray", "value": str(text)}:
            return {**tree, "value": "AAAA" if text != "AAAA" else ""}
        case {"@odata.type": "#object", "fields": dict(fields)}:
            return {**tree, "fields": altered(fields)}
        case {"@odata.type": _, "value": str(text)}:
            return {**tree, "value": text + "0"}
        case {"@odata.type": "#set" | "#frozenset", "value": list(members)}:
            return {**tree, "value": ["altered", *members[1:]]}
        case {"@odata.type": _, "value": [[key, value], *rest]} if all(
            isinstance(p, list) and len(p) == 2 for p in rest
        ):
            return {**tree, "value": [[key, altered(value)], *rest]}
        case {"@odata.type": _, "value": value}:
            return {**tree, "value": altered(value)}
        case dict():
            inner = next((key for key in tree if not key.startswith("@")), None)
            return {**tree, inner: altered(tree[inner])} if inner is not None else {**tree, "altered": 0}
        case [first, *rest]:
            return [altered(first), *rest]
        case []:
            return [0]
        case None:
            return 0
        case bool():
            return not tree
        case int() | float():
            return tree + 1 if tree + 1 != tree else 0
        case str():
            return tree + "x"
    raise AssertionError(f"not JSON: {tree!r}")


def alter_set(source: Path, target: Path) -> None:
    """A copy of a set with one leaf of every expected value altered, ids as they were, hashes made good."""
    shutil.copytree(source, target)
    lines = []
    for line in (target / "cases.jsonl").read_text("utf-8").splitlines():
        case = loads(line)
        for form in ("expected", "typed"):
            if "error" in case[form]:
                case[form]["error"] = {**case[form]["error"], "code": "Altered"}
            else:
                case[form] = {**case[form], "value": altered(case[form]["value"])}
        lines.append(dumps(case) + "\n")
    (target / "cases.jsonl").write_text("".join(lines), "utf-8")
    manifest = json.loads((target / "manifest.json").read_text("utf-8"))
    manifest["files"]["cases.jsonl"] = hashlib.sha256((target / "cases.jsonl").read_bytes()).hexdigest()
    (target / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def check_truth(folder: Path, work: Path) -> None:
    """Oracle 100.0, null 0.0, the oracle's answers against the altered set 0.0."""
    gold = measured("oracle", folder, work)
    assert gold["complete"]
    assert gold["pass_at"]["1"]["value"] == 1.0
    assert measured("baseline:null", folder, work)["pass_at"]["1"]["value"] == 0.0
    answers = [json.loads(line) for line in (work / gold["run"] / "attempts.jsonl").read_text("utf-8").splitlines()]
    replay = work / "gold.jsonl"
    rows = [{"case": a["case"], "sample": a["sample"], "text": a["completion"]["text"]} for a in answers]
    replay.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    alter_set(folder, work / "altered")
    wrong = measured(f"replay:{replay}", work / "altered", work)
    assert wrong["complete"]
    assert wrong["planned"] == gold["planned"] == len(taskset.read_set(folder).cases)
    assert wrong["verdicts"]["correct"] == 0


def test_a_built_set_knows_right_from_wrong(tidings: Path, tmp_path: Path) -> None:
    check_truth(tidings, tmp_path)


def test_the_altered_leaf_is_one_leaf() -> None:
    tree = {"@odata.type": "#tuple", "value": [{"a": [1, "b"]}, None]}
    assert altered(copy.deepcopy(tree)) == {"@odata.type": "#tuple", "value": [{"a": [2, "b"]}, None]}
    assert altered([]) == [0]
    assert altered(1e300) == 0


@pytest.fixture(scope="module")
def cruxeval(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CRUXEval as a task set, beside the published answers as a replay file."""
    work = tmp_path_factory.mktemp("cruxeval")
    data = shared_data / "cruxeval"
    done = exe(
        "import",
        "cruxeval",
        str(data / "cruxeval.jsonl"),
        str(data / "codellama-7b_output_generations.json"),
        "--replay",
        "answers.jsonl",
        cwd=work,
    )
    assert done.returncode == 0, done.stderr
    return work


def test_cruxeval_knows_right_from_wrong(cruxeval: Path, tmp_path: Path) -> None:
    check_truth(cruxeval / "tasks" / "cruxeval", tmp_path)


def test_the_published_answers_score_as_published(cruxeval: Path, shared_data: Path) -> None:
    """CodeLlama-7b on CRUXEval's output task: pass@1, pass@5 and each of the 8,000 verdicts."""
    done = exe(
        "run",
        "replay:answers.jsonl",
        "--set",
        "cruxeval",
        "--samples",
        "10",
        "--k",
        "1,5",
        "--json",
        "--quiet",
        cwd=cruxeval,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    published = json.loads((shared_data / "cruxeval" / "codellama-7b_output_scored.json").read_text("utf-8"))
    assert 100 * found["pass_at"]["1"]["value"] == pytest.approx(published["pass_at_1"], abs=1e-9)
    assert 100 * found["pass_at"]["5"]["value"] == pytest.approx(published["pass_at_5"], abs=1e-9)
    rows = [json.loads(line) for line in (cruxeval / found["run"] / "attempts.jsonl").read_text("utf-8").splitlines()]
    right: dict[str, int] = {}
    for row in rows:
        right[row["case"]] = right.get(row["case"], 0) + (row["verdict"] == "correct")
    assert sorted(right.values()) == sorted(sum(marks) for marks in published["raw_scored_generations"].values())
