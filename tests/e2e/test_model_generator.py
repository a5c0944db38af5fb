"""A model proposes inputs: against a real server that misbehaves in each of the seven ways, is killed, capped, or fails."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exe import taskset
from tests.support.chat_server import ChatServer, Reply, chat_server, error_body
from tests.support.command import exe, start

PROJECT = """
def merged(a: int, b: int) -> int:
    \"\"\"Adds, unless.\"\"\"
    if b < 0:
        raise ValueError(f"negative: {b}")
    if b == 0:
        return a
    return 7 if a == 0 else a * b + 1


def cut(text: str, at: int) -> list[str]:
    if at > len(text):
        raise IndexError(at)
    return [text[:at], text[at:].upper()]
"""
GOOD = [{"a": n, "b": n % 5 - 1} for n in range(1, 16)]
CUTS = [{"text": "word" * (n % 3) + str(n), "at": n % 4} for n in range(15)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "demo"\nversion = "1"\nlicense = "MIT"\n')
    (folder / "demo.py").write_text(PROJECT)
    return folder


def answer(inputs: list[Any]) -> Reply:
    return Reply(text=json.dumps({"inputs": inputs}))


def right(body: dict[str, Any]) -> Reply:
    return answer(CUTS if "`cut`" in body["messages"][1]["content"] else GOOD)


def build(project: Path, server: ChatServer, *options: str, name: str = "mine") -> Any:
    arguments = ("build", f"path:{project}", "--set", name, "--generator", f"openai:m@{server.url}", "--workers", "1")
    return exe(*arguments, *options, cwd=project.parent)


def cases(project: Path, name: str = "mine") -> Counter[str]:
    tasks = taskset.read_set(project.parent / "tasks" / name)
    return Counter(tasks.program(case).entry for case in tasks.cases)


BAD: dict[str, tuple[list[Any], str]] = {
    "schema": ([{"a": "one", "b": 2}, *GOOD], "do not fit the parameter schema"),
    "duplicates": ([*GOOD, GOOD[0]], "occur more than once"),
    "enough": (GOOD[:4], "at least 10"),
    "echo": ([{"a": n, "b": 0} for n in range(1, 16)], "input"),
    "constant": ([{"a": 0, "b": n} for n in range(1, 16)], "same"),
    "errors": ([{"a": n, "b": 2 if n < 7 else -n} for n in range(1, 16)], "raise"),
}


@pytest.mark.parametrize("name", BAD)
def test_each_misbehaviour_is_answered_and_what_is_right_is_kept(name: str, project: Path) -> None:
    wrong, words = BAD[name]
    asked: list[int] = []

    def behave(body: dict[str, Any], _number: int) -> Reply:
        if "`merged`" in body["messages"][1]["content"]:
            asked.append(len(body["messages"]))
            if len(asked) == 1:
                return answer(wrong)
        return right(body)

    with chat_server(behave) as server:
        done = build(project, server)
        assert done.returncode == 0, done.stderr
        again = [body for body in server.requests if len(body["messages"]) == 4]
        assert len(server.requests) == 3
        assert words in again[0]["messages"][3]["content"]
        assert json.loads(again[0]["messages"][2]["content"]) == {"inputs": wrong}
    found = cases(project)
    assert found["merged"] >= 10
    assert found["cut"] >= 10
    measured = [
        json.loads(line) for line in (project.parent / "tasks/mine/measurements.jsonl").read_text().splitlines()
    ]
    total = sum(row["generation"]["requests"] for row in measured)
    assert total == pytest.approx(3)
    assert all(row["generation"]["cost_usd"] is None for row in measured)  # nobody lists a price of this server
    kept = [json.loads(line) for line in (project.parent / "tasks/mine/completions.jsonl").read_text().splitlines()]
    assert sorted(row["told"] for row in kept) == [[], [], [name]]


@pytest.mark.slow
def test_an_input_that_does_not_end_is_told(project: Path) -> None:
    source = (project / "demo.py").read_text()
    (project / "demo.py").write_text(
        source.replace("    return 7 if", "    while a == 99:\n        pass\n    return 7 if")
    )

    def behave(body: dict[str, Any], _number: int) -> Reply:
        first = "`merged`" in body["messages"][1]["content"] and len(body["messages"]) == 2
        return answer([*GOOD[:14], {"a": 99, "b": 1}]) if first else right(body)

    with chat_server(behave) as server:
        done = build(project, server)
        assert done.returncode == 0, done.stderr
        again = next(body for body in server.requests if len(body["messages"]) == 4)
        assert "seconds of CPU time" in again["messages"][3]["content"]
        assert "merged(99" in again["messages"][3]["content"]


@pytest.mark.parametrize(
    "text", ["", "no JSON here", '{"inputs": "none"}', "[" * 100_000, '{"inputs": [' + "1," * 200_000]
)
def test_answers_that_cannot_be_read_end_as_rejections(text: str, project: Path) -> None:
    with chat_server(lambda _body, _number: Reply(text=text)) as server:
        done = build(project, server)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 2 * 6  # two functions, two attempts of three cycles
    rows = [json.loads(line) for line in (project.parent / "tasks/mine/rejections.jsonl").read_text().splitlines()]
    assert {row["subject"].rpartition(":")[2] for row in rows if row["reason"] == "no-cases"} == {"merged", "cut"}


def test_a_failing_server_ends_the_build_and_the_same_command_goes_on(project: Path) -> None:
    broken = True

    def behave(body: dict[str, Any], _number: int) -> Reply:
        if broken and "`merged`" in body["messages"][1]["content"]:
            return Reply(status=400, body=error_body("no such parameter"))
        return right(body)

    with chat_server(behave) as server:
        done = build(project, server)
        assert done.returncode == 3
        assert "no such parameter" in done.stderr
        assert "same command" in done.stderr
        broken = False
        before = [body for body in server.requests if "`cut`" in body["messages"][1]["content"]]
        server.requests.clear()
        assert build(project, server).returncode == 0
        assert len(server.requests) + len(before) == 2  # what was answered for `cut` is not asked again
    assert cases(project)["merged"] >= 10


def test_a_cap_on_requests(project: Path) -> None:
    with chat_server(lambda body, _number: right(body)) as server:
        done = build(project, server, "--max-requests", "1")
        assert done.returncode == 3
        assert "--max-requests 1 is reached" in done.stderr
        assert build(project, server, "--max-requests", "1").returncode == 0
        assert len(server.requests) == 2


def test_errors_only(project: Path) -> None:
    raising = [{"a": n, "b": -1 - n} for n in range(12)]

    def behave(body: dict[str, Any], _number: int) -> Reply:
        assert "Every input has to make the call raise" in body["messages"][1]["content"]
        return answer(
            [*raising, {"a": 1, "b": 1}] if "`merged`" in body["messages"][1]["content"] else [{"text": "", "at": 9}]
        )

    with chat_server(behave) as server:
        done = build(project, server, "--errors-only")
        assert done.returncode == 0, done.stderr
        told = [body["messages"][3]["content"] for body in server.requests if len(body["messages"]) == 4]
        assert any("These inputs do not raise" in text and "merged(1, 1)" in text for text in told)
    tasks = taskset.read_set(project.parent / "tasks/mine")
    assert all("error" in case.expected for case in tasks.cases)
    assert cases(project)["merged"] == 12
    assert build(project, server, "--errors-only", name="other").returncode == 3  # the server is gone
    assert exe("build", f"path:{project}", "--errors-only", cwd=project.parent).returncode == 2


def test_offline_and_model_are_pooled(project: Path) -> None:
    with chat_server(lambda body, _number: right(body)) as server:
        model = f"openai:m@{server.url}"
        done = exe(
            "build",
            f"path:{project}",
            "--set",
            "mine",
            "--generator",
            f"offline,{model}",
            "--cases",
            "20",
            cwd=project.parent,
        )
        assert done.returncode == 0, done.stderr
        assert all("These are there already" in body["messages"][1]["content"] for body in server.requests)
    tasks = taskset.read_set(project.parent / "tasks/mine")
    makers = Counter(case.generator for case in tasks.cases)
    assert set(makers) == {"offline", model}
    assert len({(case.program, case.call) for case in tasks.cases}) == len(tasks.cases)


def test_more_cases_than_a_batch_holds(project: Path) -> None:
    (project / "demo.py").write_text(PROJECT.partition("def cut")[0])
    numbers: list[int] = []

    def behave(_body: dict[str, Any], number: int) -> Reply:
        numbers.append(number)
        return answer([{"a": n + 15 * number, "b": n % 5 - 1} for n in range(1, 16)])

    with chat_server(behave) as server:
        assert build(project, server, "--cases", "40", "--max-requests", "2").returncode == 3
        done = build(project, server, "--cases", "40")
        assert done.returncode == 0, done.stderr
        assert numbers == [0, 1, 2]
        shown = [body["messages"][1]["content"].count('\n{"a": ') for body in server.requests]
        assert shown == [0, 15, 30]
    assert cases(project)["merged"] == 40
    rows = [json.loads(line) for line in (project.parent / "tasks/mine/completions.jsonl").read_text().splitlines()]
    assert sorted((row["function"], row["attempt"], row["cycle"]) for row in rows) == [
        ("demo:demo:merged", attempt, 0) for attempt in (0, 2, 4)
    ]


def called(inputs: list[Any]) -> Reply:
    """An answer by two calls of the tool at once."""
    parts = [json.dumps({"inputs": part}) for part in (inputs[:7], inputs[7:])]
    calls = [
        {"id": part, "type": "function", "function": {"name": "propose_inputs", "arguments": part}} for part in parts
    ]
    return Reply(message={"content": None, "tool_calls": calls}, finish_reason="tool_calls")


def test_inputs_come_by_calls_of_the_tool(project: Path) -> None:
    def behave(body: dict[str, Any], _number: int) -> Reply:
        inputs = json.loads(right(body).text)["inputs"]
        return called(inputs if len(body["messages"]) == 4 else inputs[:9])

    with chat_server(behave) as server:
        done = build(project, server)
        assert done.returncode == 0, done.stderr
        tools = [body["tools"][0]["function"] for body in server.requests]
        assert all(set(tool["parameters"]["properties"]) == {"inputs"} for tool in tools)
        assert {"a", "b"} in [set(tool["parameters"]["properties"]["inputs"]["items"]["properties"]) for tool in tools]
        assert [len(body["messages"]) for body in server.requests] == [2, 4, 2, 4]
        server.requests.clear()
        assert build(project, server).returncode == 0
        assert server.requests == []
    assert min(cases(project).values()) >= 10


def test_a_server_without_tools_or_schemas_is_asked_for_text(project: Path) -> None:
    def behave(body: dict[str, Any], _number: int) -> Reply:
        strange = {"tools", "response_format"} & set(body)
        return Reply(status=400, body=error_body("unknown field")) if strange else right(body)

    with chat_server(behave) as server:
        done = build(project, server)
        assert done.returncode == 0, done.stderr
        kinds = ["tools" in body or 2 * ("response_format" in body) for body in server.requests]
        assert kinds == [1, 2, 0, 0]  # what is not taken is not tried again
    assert min(cases(project).values()) >= 10


def test_a_program_too_long_for_the_model_is_a_rejection(project: Path) -> None:
    def behave(body: dict[str, Any], _number: int) -> Reply:
        if "`merged`" in body["messages"][1]["content"]:
            return Reply(status=400, body=error_body("too long", code="context_length_exceeded"))
        return right(body)

    with chat_server(behave) as server:
        done = build(project, server)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 2
    rows = [json.loads(line) for line in (project.parent / "tasks/mine/rejections.jsonl").read_text().splitlines()]
    (row,) = [row for row in rows if row["reason"] == "withheld"]
    assert row["subject"].endswith(":merged")
    assert "context_overflow" in row["detail"]


def killed(project: Path, server: ChatServer, when: Callable[[], bool]) -> None:
    """Start the build, kill all of it when the time has come."""
    arguments = ("build", f"path:{project}", "--set", "mine", "--generator", f"openai:m@{server.url}", "--workers", "1")
    process = start(*arguments, cwd=project.parent)
    until = time.monotonic() + 60
    while not when() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_killed_build_asks_nothing_that_was_answered(project: Path) -> None:
    answered: list[str] = []

    def behave(body: dict[str, Any], _number: int) -> Reply:
        answered.append(json.dumps(body["messages"]))
        first = len(body["messages"]) == 2
        return answer(GOOD[:3] if "`merged`" in body["messages"][1]["content"] else CUTS[:3]) if first else right(body)

    with chat_server(behave) as server:
        assert build(project, server, name="whole").returncode == 0
        asked = len(server.requests)
        for stop in range(1, asked + 1):
            server.requests.clear()
            killed(project, server, lambda stop=stop: len(server.requests) >= stop)  # type: ignore[misc]
            time.sleep(0.3)
        del answered[:]
        assert build(project, server).returncode == 0
        again = Counter(answered)
        assert max(again.values(), default=1) == 1
        server.requests.clear()
        assert build(project, server).returncode == 0
        assert server.requests == []
    whole, mine = (project.parent / "tasks" / which for which in ("whole", "mine"))
    for name in ("programs.jsonl", "cases.jsonl", "rejections.jsonl"):
        assert (whole / name).read_bytes() == (mine / name).read_bytes(), name
    keys = [
        [json.loads(line)["key"] for line in (one / "completions.jsonl").read_text().splitlines()]
        for one in (whole, mine)
    ]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    "generator", ["", "offline,", "offline,offline", "nonsense", "oracle", "baseline:null", "replay:x"]
)
def test_generators_that_cannot_be(generator: str, project: Path) -> None:
    done = exe("build", f"path:{project}", "--generator", generator, cwd=project.parent)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
