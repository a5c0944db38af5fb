"""Files of a task set that somebody damaged: each kind of damage is named with its file and line, and nothing is scored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exe import taskset
from exe.errors import InputError
from tests.support import tasks

Line = dict[str, Any]


def damaged(folder: Path, name: str, change: Callable[[Line], str | None]) -> Path:
    """The set with the second line of one file changed, its hashes made good."""
    path = folder / name
    lines = path.read_text().splitlines()
    line = json.loads(lines[1])
    text = change(line)
    lines[1] = json.dumps(line) if text is None else text
    path.write_text("\n".join(lines) + "\n")
    return rehashed(folder)


def rehashed(folder: Path) -> Path:
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in manifest["files"]:
        manifest["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def truth(plain: Any, typed: Any) -> Callable[[Line], None]:
    return lambda line: line.update(expected=plain, typed=typed)


def typed_text(text: str) -> Callable[[Line], str]:
    return lambda line: json.dumps({**line, "typed": "HERE"}).replace('"HERE"', text)


ERROR = {"code": "E", "message": "m"}
CASES: list[tuple[Callable[[Line], str | None], str]] = [
    (
        truth({"value": 1}, {"value": {"@odata.type": "#bytes", "value": "!"}}),
        "'typed' is no typed value: .*no base64url",
    ),
    (truth({"value": 1}, {"value": {"@odata.type": "#zzz", "value": 1}}), "'typed' is no typed value: .*#zzz"),
    (truth({"value": 1}, {"value": {"@odata.type": "#ref", "value": 5}}), "'typed' is no typed value"),
    (truth({"value": 1}, {}), "'typed' is neither"),
    (truth({"value": 1}, {"value": 1, "error": ERROR}), "'typed' is neither"),
    (truth({"error": {}}, {"error": {}}), "'expected' is neither"),
    (truth({"error": None}, {"error": None}), "'expected' is neither"),
    (truth({"error": {"code": 1, "message": "m"}}, {"error": ERROR}), "'expected' is neither"),
    (truth({"value": 1}, {"error": ERROR}), "not of one outcome"),
    (typed_text('{"value": 1e999}'), "'typed' is no typed value: .*inf"),
    (typed_text('{"value": NaN}'), "NaN is not strict JSON"),
    (typed_text('{"value": ' + "[" * 600 + "]" * 600 + "}"), "nested too deeply"),
    (typed_text('{"value": ' + "[" * 100_000 + "]" * 100_000 + "}"), "nested too deeply"),
    (lambda line: line.update(zzz=1), "'zzz' is unknown"),
    (lambda line: json.dumps(line)[:-1] + ', "id": "x"}', 'duplicate key "id"'),
    (lambda _: "", "blank line"),
    (lambda _: "{", "not JSON"),
    (lambda _: "null", "is null, not an object"),
]


@pytest.mark.parametrize(("change", "words"), CASES, ids=[words for _, words in CASES])
def test_a_damaged_case_is_named(tmp_path: Path, change: Callable[[Line], str | None], words: str) -> None:
    folder = damaged(tasks.write_set(tmp_path / "set", 2, 2), "cases.jsonl", change)
    with pytest.raises(InputError, match=rf"cases\.jsonl:2: .*{words}"):
        taskset.read_set(folder)


@pytest.mark.parametrize("name", ["manifest.json", "cases.jsonl", "programs.jsonl"])
def test_a_byte_order_mark_is_named(tmp_path: Path, name: str) -> None:
    folder = tasks.write_set(tmp_path / "set", 2, 2)
    (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    if name != "manifest.json":
        rehashed(folder)
    with pytest.raises(InputError, match=rf"{name}.*byte-order mark"):
        taskset.read_set(folder)


def test_a_whole_set_is_read(tmp_path: Path) -> None:
    assert (
        len(taskset.read_set(damaged(tasks.write_set(tmp_path / "set", 2, 2), "cases.jsonl", lambda _: None)).cases)
        == 4
    )
