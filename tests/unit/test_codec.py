"""Codec: strict records, errors with file and line, files whole or not at all, schemas that match records."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import math
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exe import records
from exe.codec import (
    SCHEMAS,
    append_line,
    atomic_write,
    canonical,
    content_id,
    drop_torn_line,
    dump_line,
    from_json,
    open_append,
    read_json,
    read_jsonl,
    schema,
    schema_errors,
    to_json,
    write_jsonl,
)
from exe.errors import InputError, StorageError

ORIGIN = records.Origin(package="idna", version="3.10", module="idna.core", qualname="f", path="idna/core.py", line=3)
PROGRAM = records.Program(
    id="0123456789abcdef", entry="f", source="def f(): ...\n", parameters={"type": "object"}, returns="int", origin=ORIGIN,
    provenance={"f": "idna.core:f"}, static={"loc": 1, "mi": 99.5},
)  # fmt: skip
CASE = records.Case(
    id="fedcba9876543210", program=PROGRAM.id, kind="output", arguments={"a": [1]}, call="f(a=[1])",
    expected={"value": 10**5000}, typed={"value": 10**5000}, runtime={"lines": 3},
)  # fmt: skip
COMPLETION = records.Completion(text='{"value": "\ud800"}', usage={"prompt_tokens": 3, "total": None}, latency_ms=1.5)
ATTEMPT = records.Attempt(
    case=CASE.id, sample=0, request_sha256="0" * 64, completion=COMPLETION, repair=None, answer={"value": 1},
    verdict="correct", reason=None, credit=1.0, strict={"json": True, "python": None},
)  # fmt: skip
REJECTION = records.Rejection(subject="a:b:c", stage="screen", reason="untyped")
MANIFEST = records.Manifest(
    name="x", format=1, builder="0.1.0", python="3.11.7", generator="offline", seed=0, sources=({"name": "idna"},),
    counts={"cases": 1}, files={"cases.jsonl": "0" * 64}, canary="c",
)  # fmt: skip
RECORDS: list[Any] = [PROGRAM, CASE, COMPLETION, ATTEMPT, REJECTION, MANIFEST]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_round_trip(record: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    digest = write_jsonl(path, [record, record])
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert list(read_jsonl(path, type(record), validate=True)) == [record, record]
    line = dump_line(record)
    assert path.read_bytes() == line * 2
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert b'": ' not in line.replace(b'\\": ', b"")


def test_recursive_records_round_trip() -> None:
    inner = records.Type(kind="int", text="int", values=(1, "a"))
    record = records.Type(kind="list", text="list[int]", args=(inner,), fields=(records.Field(name="x", type=inner),))
    assert from_json(records.Type, json.loads(dump_line(record)), "x") == record


def test_a_case_leaves_out_what_does_not_apply() -> None:
    assert "question" not in to_json(CASE)
    assert to_json(dataclasses.replace(CASE, question={"line": 3}))["question"] == {"line": 3}
    assert to_json(ATTEMPT)["repair"] is None
    assert list(to_json(REJECTION)) == ["subject", "stage", "reason", "detail"]


def test_numbers() -> None:
    data = {**to_json(ATTEMPT), "credit": 1}
    assert type(from_json(records.Attempt, data, "x").credit) is float
    assert type(from_json(records.Program, to_json(PROGRAM), "x").static["loc"]) is int


BAD: list[tuple[Any, dict[str, Any], str]] = [
    (ATTEMPT, {"extra": 1}, "field 'extra' is unknown"),
    (ATTEMPT, {"case": ...}, "field 'case' is missing"),
    (ATTEMPT, {"sample": True}, "field 'sample' is a boolean, not an integer"),
    (ATTEMPT, {"sample": 1.0}, "field 'sample' is a number, not an integer"),
    (ATTEMPT, {"sample": "1"}, "field 'sample' is a string, not an integer"),
    (ATTEMPT, {"case": None}, "field 'case' is null, not a string"),
    (ATTEMPT, {"verdict": "right"}, "field 'verdict' is 'right', not one of correct, failed"),
    (ATTEMPT, {"credit": True}, "field 'credit' is a boolean, not a number"),
    (ATTEMPT, {"credit": 10**400}, "field 'credit' is too large"),
    (ATTEMPT, {"completion": []}, "field 'completion' is an array, not an object"),
    (ATTEMPT, {"completion": {"text": 1}}, "field 'completion.text' is an integer, not a string"),
    (ATTEMPT, {"completion": {"text": "", "usage": {"a": "1"}}}, "field 'completion.usage.a' is a string"),
    (ATTEMPT, {"strict": {"json": 1}}, "field 'strict.json' is an integer"),
    (PROGRAM, {"origin": {"package": "x"}}, "field 'origin.line' is missing"),
    (PROGRAM, {"provenance": {"f": 1}}, "field 'provenance.f' is an integer, not a string"),
    (MANIFEST, {"sources": [1]}, "field 'sources[0]' is an integer, not an object"),
    (MANIFEST, {"files": []}, "field 'files' is an array, not an object"),
]


@pytest.mark.parametrize(("record", "change", "message"), BAD)
def test_bad_fields(record: Any, change: dict[str, Any], message: str) -> None:
    data = {key: value for key, value in {**to_json(record), **change}.items() if value is not ...}
    with pytest.raises(InputError) as caught:
        from_json(type(record), data, "some.jsonl:7")
    assert str(caught.value).startswith("some.jsonl:7: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [None, 1, "x", [], [1]])
def test_not_an_object(data: Any) -> None:
    with pytest.raises(InputError, match="not an object; a case is wanted"):
        from_json(records.Case, data, "x:1")


GOOD_LINE = dump_line(REJECTION)
LINES: list[tuple[bytes, str]] = [
    (b"\n", ":2: blank line"),
    (b"  \r\n", ":2: blank line"),
    (b"\xff\n", ":2: not UTF-8 (byte 0)"),
    (b"{\n", ":2: not JSON"),
    (GOOD_LINE[:20], ":2: the last line is cut off"),
    (GOOD_LINE[:20] + b"\n", ":2: not JSON"),
    (GOOD_LINE.replace(b"reason", b"stage"), ':2: not JSON: duplicate key "stage"'),
    (b'{"subject":NaN}\n', "NaN is not strict JSON"),
    (b"[" * 100_000 + b"\n", "nested too deeply"),
    (b'{"subject":' + b"9" * 300_000 + b"}\n", ":2: not JSON"),
    (b"[]\n", ":2: the line is an array, not an object"),
    (b"{}\n", ":2: field 'reason' is missing"),
]


@pytest.mark.parametrize(("line", "message"), LINES, ids=lambda item: str(item[:12]))
def test_bad_lines(line: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD_LINE + line)
    reading = read_jsonl(path, records.Rejection)
    assert next(reading) == REJECTION
    with pytest.raises(InputError) as caught:
        next(reading)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_good_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    odd = dataclasses.replace(REJECTION, detail="a\u2028b\x85c")
    path.write_bytes(GOOD_LINE + json.dumps(to_json(odd), ensure_ascii=False).encode() + b"\r\n" + GOOD_LINE.rstrip())
    assert list(read_jsonl(path, records.Rejection)) == [REJECTION, odd, REJECTION]
    path.write_bytes(b"")
    assert list(read_jsonl(path, records.Rejection)) == []


def test_missing_files(tmp_path: Path) -> None:
    for read in (lambda path: list(read_jsonl(path, records.Case)), read_json):
        for path in (tmp_path / "none", tmp_path):
            with pytest.raises(InputError, match="check the path"):
                read(path)


def test_read_json(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    atomic_write(path, dump_line(MANIFEST))
    assert from_json(records.Manifest, read_json(path), str(path)) == MANIFEST
    for data, message in ((b"{", "not JSON"), (b"\xff", "not UTF-8"), (b'{"a":1,"a":1}', "duplicate key")):
        atomic_write(path, data)
        with pytest.raises(InputError, match=message):
            read_json(path)


def test_foreign_files_are_validated(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write_jsonl(path, [to_json(ATTEMPT) | {"sample": -1}])
    assert len(list(read_jsonl(path, records.Attempt))) == 1
    with pytest.raises(InputError, match=r"x\.jsonl:1: field 'sample': -1 is less than"):
        list(read_jsonl(path, records.Attempt, validate=True))


def test_strict_json_only() -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump_line({"x": math.nan})
    with pytest.raises(TypeError, match="set is no JSON"):
        dump_line({"x": {1}})


def test_an_error_on_the_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write_jsonl(path, [REJECTION])

    def failing() -> Any:
        yield REJECTION
        raise KeyError("on the way")

    with pytest.raises(KeyError):
        write_jsonl(path, failing())
    assert path.read_bytes() == GOOD_LINE
    assert os.listdir(tmp_path) == ["x.jsonl"]


def test_the_mask_of_the_process_holds(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic_write(tmp_path / "x", b"1")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        atomic_write(tmp_path / "none" / "x", b"1")
    with pytest.raises(StorageError, match="cannot be written"):
        open_append(tmp_path / "none" / "x")


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"

    def nested() -> Any:
        yield REJECTION
        with pytest.raises(StorageError, match="another process"):
            atomic_write(path, b"other")

    write_jsonl(path, nested())
    assert path.read_bytes() == GOOD_LINE


def test_a_killed_writer_leaves_nothing_that_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    code = (
        "import os, signal, sys\nfrom exe.codec import write_jsonl\n"
        "def items():\n    yield {'a': 'x' * 100000}\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_jsonl(sys.argv[1], items())"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert not path.exists()
    write_jsonl(path, [REJECTION])
    assert os.listdir(tmp_path) == ["x.jsonl"]
    assert path.read_bytes() == GOOD_LINE


def limited(code: str, folder: Path, size: int) -> subprocess.CompletedProcess[str]:
    """Run code whose files may not grow beyond `size` bytes: writing fails midway, as on a full disk."""
    return subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_no_room(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from exe.codec import append_line, open_append, write_jsonl
from exe.errors import StorageError
folder = Path(sys.argv[1])
write_jsonl(folder / "old.jsonl", [1])
for name in ("old.jsonl", "new.jsonl"):
    try:
        write_jsonl(folder / name, ["x" * 50] * 1000)
    except StorageError as exc:
        print(exc)
file = open_append(folder / "log.jsonl")
try:
    while True:
        append_line(file, "x" * 50)
except StorageError as exc:
    print(exc)
append_line(file, 1, sync=True)
"""
    done = limited(code, tmp_path, 4096)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"cannot be written: {os.strerror(errno.EFBIG)}") == 3
    assert sorted(os.listdir(tmp_path)) == ["log.jsonl", "old.jsonl"]
    assert (tmp_path / "old.jsonl").read_text() == "1\n"
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert set(lines[:-1]) == {json.dumps("x" * 50)}
    assert lines[-1] == "1"
    assert len(lines) == 4096 // 53 + 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_full_device() -> None:
    with open("/dev/full", "ab", buffering=0) as file, pytest.raises(StorageError, match="No space left"):
        append_line(file, REJECTION)


def test_append_and_resume(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    assert drop_torn_line(path) == 0
    with open_append(path) as file:
        append_line(file, REJECTION)
        append_line(file, REJECTION, sync=True)
        assert path.read_bytes() == GOOD_LINE * 2
    for torn in (b"{", b"x" * 200_000, GOOD_LINE.rstrip()):
        path.write_bytes(GOOD_LINE + torn)
        with open_append(path) as file:
            append_line(file, REJECTION)
        assert path.read_bytes() == GOOD_LINE * 2
    path.write_bytes(b"torn from the start")
    assert drop_torn_line(path) == 19
    assert path.read_bytes() == b""


def test_canonical_and_ids() -> None:
    assert (
        canonical({"b": [1, 1.0, -0.0, 10**20], "a": "\u00e9"})
        == '{"a":"\\u00e9","b":[1,1.0,-0.0,100000000000000000000]}'
    )
    assert content_id({"a": 1, "b": 2}) == content_id({"b": 2, "a": 1})
    assert content_id({"a": 1}) != content_id({"a": 1.0})
    assert content_id([]) == hashlib.sha256(b"[]").hexdigest()[:16]
    assert len(content_id(10**5000)) == 16


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_equal_trees_have_equal_ids(tree: Any) -> None:
    again = json.loads(dump_line(tree))
    assert content_id(again) == content_id(tree)
    assert dump_line(again) == dump_line(tree)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid(name: str) -> None:
    found = schema(name)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == f"urn:execution-eval:{name}"
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["description"]
    assert all("description" in part or "$ref" in part for part in found["properties"].values())


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_schemas_match_records(record: Any) -> None:
    cls = type(record)
    found = schema(cls)
    fields = dataclasses.fields(cls)
    assert list(found["properties"]) == [field.name for field in fields]
    required = [f.name for f in fields if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
    assert found["required"] == required
    assert found["additionalProperties"] is False
    check = schema_errors(cls)
    assert check(to_json(record)) is None
    for name in required:
        assert check({key: value for key, value in to_json(record).items() if key != name}) is not None
    assert check({**to_json(record), "unknown": 1}) is not None


def test_origin_and_words_match() -> None:
    origin = schema("program")["properties"]["origin"]
    assert list(origin["properties"]) == [field.name for field in dataclasses.fields(records.Origin)]
    hints = {"stage": (schema("rejection"), records.Stage), "verdict": (schema("attempt"), records.Verdict)}
    for name, (found, words) in hints.items():
        assert found["properties"][name]["enum"] == list(words.__args__)


def test_typed_outcomes_fit_the_schema() -> None:
    check = schema_errors("case")
    for outcome in (
        {"value": None},
        {"error": {"code": "E", "message": "m"}},
        {"error": {"code": "E", "message": {"@odata.type": "#str", "value": "\\ud800"}, "unprintable": "TypeError"}},
    ):
        assert check({**to_json(CASE), "expected": outcome, "typed": outcome}) is None
    for outcome in ({}, {"value": 1, "error": {"code": "E", "message": ""}}, {"error": {"code": 1, "message": ""}}):
        assert check({**to_json(CASE), "expected": outcome}) is not None


def test_no_other_schema() -> None:
    with pytest.raises(KeyError, match="no schema for package"):
        schema(records.Package)
