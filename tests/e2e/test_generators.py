"""`exe show --generators`: what the generators of sets gave and cost, on the same functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exe import taskset
from tests.e2e.test_model_generator import answer, build, project, right
from tests.support.chat_server import Reply, chat_server
from tests.support.command import exe

__all__ = ["project"]


def shown(folder: Path, *arguments: str) -> Any:
    done = exe("show", "--generators", "--json", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_generators_are_compared_on_the_functions_that_all_tried(project: Path) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}

    def behave(body: dict[str, Any], _number: int) -> Reply:
        good = right(body) if "`cut`" in body["messages"][1]["content"] else answer([{"a": 1, "b": 0}])
        return Reply(text=good.text, usage=usage)  # nothing but one echo for `merged`: no case comes of it

    with chat_server(behave) as server:
        assert build(project, server).returncode == 0
        model, requests = f"openai:m@{server.url}", len(server.requests)
    folder = project.parent
    (project / "demo.py").write_text(
        (project / "demo.py").read_text() + "\n\ndef twice(n: int) -> int:\n    return 2 * n\n"
    )
    assert exe("build", f"path:{project}", "--set", "offline", "--quiet", cwd=folder).returncode == 0
    found = shown(folder, "--set", "mine", "--with", "offline")
    assert (found["functions"], found["left_out"]) == (2, 1)  # `twice` was not there when the model was asked
    proposed, drawn = found["rows"]
    assert (proposed["set"], proposed["generator"], drawn["generator"]) == ("mine", model, "offline")
    assert (proposed["with_cases"], proposed["functions"], drawn["with_cases"]) == (1, 2, 2)
    cases = taskset.read_set(folder / "tasks/mine").cases
    assert proposed["cases"] == len(cases) == 2 * proposed["median_cases"]
    assert proposed["outcomes"] == len({json.dumps(case.typed) for case in cases})
    assert proposed["own"] <= proposed["outcomes"]
    assert proposed["raising"] == pytest.approx(sum("error" in case.expected for case in cases) / len(cases))
    spent = {"requests": requests, "retries": 0, "input_tokens": 100 * requests, "output_tokens": 10 * requests}
    assert requests == 1 + 2 * 3  # `merged` in two conversations of three questions; in the second the echo is no news
    told = {"echo": 2, "constant": 2, "enough": 4, "duplicates": 2}
    assert proposed["spent"] == {**spent, "cost_usd": None, "told": told}
    assert drawn["spent"] is None
    assert 0 < proposed["branches"] <= drawn["branches"] == 1.0


def test_one_pooled_set_and_its_table(project: Path) -> None:
    with chat_server(lambda body, _number: right(body)) as server:
        model = f"openai:m@{server.url}"
        arguments = ("build", f"path:{project}", "--set", "mine", "--generator", f"offline,{model}", "--price", "1,2")
        assert exe(*arguments, cwd=project.parent).returncode == 0
    found = shown(project.parent, "--set", "mine")
    assert [row["generator"] for row in found["rows"]] == ["offline", model]
    tasks = taskset.read_set(project.parent / "tasks/mine")
    assert sum(row["cases"] for row in found["rows"]) == len(tasks.cases)
    cost = found["rows"][1]["spent"]["cost_usd"]
    assert cost == pytest.approx(2 * (11 * 1 + 3 * 2) / 1e6)  # two questions of 11 tokens, answers of 3
    measured = [
        json.loads(line) for line in (project.parent / "tasks/mine/measurements.jsonl").read_text().splitlines()
    ]
    makers = {case.id: case.generator for case in tasks.cases}
    assert {makers[row["case"]] for row in measured if "generation" in row} == {model}
    assert sum(row["generation"]["cost_usd"] for row in measured if "generation" in row) == pytest.approx(
        cost, rel=1e-3
    )
    done = exe("show", "--generators", "--set", "mine", cwd=project.parent)
    assert done.stdout.splitlines()[0] == "2 functions compared"
    assert f"{cost:.4f}  nothing" in done.stdout.splitlines()[3]
    assert "–" in done.stdout.splitlines()[2]


def test_what_does_not_go_together(project: Path) -> None:
    for arguments in (("--with", "x"), ("--generators", "abc")):
        done = exe("show", *arguments, cwd=project.parent)
        assert done.returncode == 2
        assert "--generators compares whole sets" in done.stderr
