from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from exe.errors import InputError, ModelUnavailable, RequestError, UsageError
from exe.grading.grade import grade_text
from exe.records import Tool
from exe.taskset import TaskSet
from exe.taskset import read_set as load
from runners.models import FORMS, open_model
from runners.models.base import Request, clean
from tests.support import tasks
from tests.support.questions import ask, context, question


@pytest.fixture
def odata(tmp_path: Path) -> TaskSet:
    return load(tasks.write_set(tmp_path / "odata", cases=5))


@pytest.fixture
def literal(tmp_path: Path) -> TaskSet:
    return load(tasks.write_set(tmp_path / "python", answer_format="python"))


def text_of(spec: str, taskset: TaskSet, number: int) -> str:
    return ask(open_model(spec, context(taskset)), question(taskset.cases[number].id)).text


def test_the_oracle_is_right_about_every_case_in_both_formats(odata: TaskSet, literal: TaskSet) -> None:
    for taskset in (odata, literal):
        manifest = taskset.manifest
        for number, case in enumerate(taskset.cases):
            text = text_of("oracle", taskset, number)
            _, grade = grade_text(text, case, format=manifest.answer_format, rule=manifest.rule)
            assert grade.verdict == "correct"
    assert any("error" in case.expected for case in odata.cases)


def test_the_oracle_says_what_the_truth_says(odata: TaskSet) -> None:
    case = dataclasses.replace(odata.cases[0], expected={"value": "é\ud800"}, typed={"value": "é\ud800"})
    changed = dataclasses.replace(odata, cases=(case,))
    assert json.loads(text_of("oracle", changed, 0)) == {"value": "é\ud800"}


def test_echo_is_the_first_argument_and_null_is_nothing(odata: TaskSet, literal: TaskSet) -> None:
    assert text_of("baseline:echo", odata, 1) == '{"value":10}'
    assert text_of("baseline:echo", literal, 1) == "10"
    assert text_of("baseline:null", odata, 1) == ""


@pytest.mark.parametrize(
    ("call", "echo"),
    [
        ("f('a, b', 2)", "'a, b'"),
        ("f(*[1, 2])", "[1, 2]"),
        ("f(text={'k': (1,)})", "{'k': (1,)}"),
        ("Box(3).f('é', 2)", "'é'"),
        ("f()", "None"),
        ("f", "None"),
        ("f(", "None"),
    ],
)
def test_echo_reads_the_call_in_the_python_format(literal: TaskSet, call: str, echo: str) -> None:
    case = dataclasses.replace(literal.cases[0], call=call)
    assert text_of("baseline:echo", dataclasses.replace(literal, cases=(case,)), 0) == echo


def test_echo_skips_the_instance_and_follows_the_signature(odata: TaskSet) -> None:
    case = dataclasses.replace(odata.cases[0], arguments={"self": {"x": 1}, "b": 2, "a": [3]})
    assert text_of("baseline:echo", dataclasses.replace(odata, cases=(case,)), 0) == '{"value":[3]}'
    none = dataclasses.replace(odata.cases[0], arguments={})
    assert text_of("baseline:echo", dataclasses.replace(odata, cases=(none,)), 0) == '{"value":null}'


def test_known_models_know_nothing_else(odata: TaskSet) -> None:
    with pytest.raises(RequestError, match="elsewhere"):
        ask(open_model("oracle", context(odata)), question("elsewhere"))


def test_models_without_a_clock_report_no_latency(odata: TaskSet) -> None:
    assert ask(open_model("oracle", context(odata)), question(odata.cases[0].id)).latency_ms is None


def replay_file(tmp_path: Path, *lines: object) -> str:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return f"replay:{path}"


def test_replay_gives_each_sample_its_own_text_and_refuses_what_it_has_not(tmp_path: Path, odata: TaskSet) -> None:
    case = odata.cases[0].id
    lines = [{"case": case, "sample": n, "text": f"t{n}"} for n in range(2)]
    model = open_model(replay_file(tmp_path, *lines), context(odata))
    assert [ask(model, question(case, n)).text for n in range(2)] == ["t0", "t1"]
    with pytest.raises(RequestError, match="sample 2"):
        ask(model, question(case, 2))
    assert model.name == "replay:answers.jsonl"
    assert str(tmp_path) not in json.dumps(model.settings)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON|nested"),
        ("[1]", "expected"),
        ("[" * 100_000, "not JSON|nested"),
        ({"case": "c", "sample": 0}, "text missing"),
        ({"case": "c", "sample": 0, "text": "t", "extra": 1}, "unknown 'extra'"),
        ({"case": "c", "sample": -1, "text": "t"}, "expected"),
        ({"case": "c", "sample": True, "text": "t"}, "expected"),
        ({"case": "c", "sample": "0", "text": "t"}, "expected"),
        ({"case": "c", "sample": 0, "text": None}, "expected"),
        ('{"case": "c", "sample": 0, "text": "t", "text": "u"}', "duplicate"),
        ({"case": "ok", "sample": 0, "text": "again"}, "second answer"),
    ],
)
def test_replay_names_the_line_that_is_wrong(tmp_path: Path, line: object, words: str) -> None:
    spec = replay_file(tmp_path, {"case": "ok", "sample": 0, "text": "t"}, line)
    with pytest.raises(InputError, match=words) as caught:
        open_model(spec)
    assert "answers.jsonl:2: " in str(caught.value)


def test_replay_refuses_cases_of_another_set_missing_empty_and_binary_files(tmp_path: Path, odata: TaskSet) -> None:
    spec = replay_file(tmp_path, {"case": "other", "sample": 0, "text": "t"})
    with pytest.raises(InputError, match="not in the task set"):
        open_model(spec, context(odata))
    with pytest.raises(InputError, match="No such file"):
        open_model(f"replay:{tmp_path}/none.jsonl")
    with pytest.raises(InputError, match="holds no answers"):
        open_model(replay_file(tmp_path))
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\n")
    with pytest.raises(InputError, match=r"binary\.jsonl:1: not UTF-8"):
        open_model(f"replay:{tmp_path}/binary.jsonl")


@pytest.mark.parametrize("spec", ["gpt-4", "", "gemini:pro", "oracles", "OpenAI:x"])
def test_an_unknown_model_lists_what_works(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(spec)
    assert all(form in str(caught.value) for form in FORMS)


@pytest.mark.parametrize("spec", ["baseline:", "baseline:best", "oracle:x", "replay:", "local:GPT-9"])
def test_a_form_with_a_wrong_name_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        open_model(spec)


def test_a_request_is_identified_by_all_that_decides_its_reply() -> None:
    base = question("c", 0, temperature=0.2, max_tokens=5, seed=1, stop=("x",))
    changes: list[dict[str, object]] = [
        {"case": "d"},
        {"sample": 1},
        {"messages": ()},
        {"temperature": 0.8},
        {"temperature": None},
        {"top_p": 0.5},
        {"max_tokens": 6},
        {"seed": 2},
        {"stop": ()},
        {"effort": "high"},
        {"schema": {}},
        {"shared": 1},
        {"tool": Tool(name="t", description="", parameters={})},
    ]
    others = {dataclasses.replace(base, **change).sha256({"model": "m"}) for change in changes}  # type: ignore[arg-type]
    assert len(others | {base.sha256({"model": "m"}), base.sha256({"model": "n"})}) == len(changes) + 2
    assert {name for change in changes for name in change} == {each.name for each in dataclasses.fields(Request)}


def test_clean_leaves_no_secret_no_control_character_and_a_bounded_line() -> None:
    assert clean("bad key hunter2\n\x1b[31mred", ("hunter2",)) == "bad key [key] [31mred"
    assert clean("sk-proj-abcdef123456 and sk_live_9876543210") == "[key] and [key]"
    assert len(clean("x" * 1000)) == 300


def test_local_needs_its_engine_and_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    with pytest.raises(UsageError, match="no file"):
        open_model(f"local:{tmp_path}/none.gguf")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ModelUnavailable, match=r"execution-eval\[local\].*openai:NAME@BASE_URL"):
        open_model("local")


def test_a_bad_model_file_fails_at_once_with_its_reason(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + b"\x03" * 500)
    with pytest.raises(ModelUnavailable, match=r"bad\.gguf cannot be served: .*gguf") as caught:
        ask(open_model(f"local:{bad}"))
    assert str(tmp_path) not in str(caught.value)
