"""Two hundred answers of the embedded model, of a run of 500 cases, each labelled by a person: a value, an exception, or cut off.

The labels were given to the texts as they stood, before the reader saw them. An answer that is whole says what its JSON says;
blanks around the name of a class are nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from exe.grading.answer import parse

FILE = Path(__file__).with_name("embedded_answers.jsonl")


def test_two_hundred_answers_are_read_as_a_person_reads_them() -> None:
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 200
    wrongly = [row for row in rows if not _agrees(row["text"], row["label"])]
    assert wrongly == []
    assert set(Counter(row["label"] for row in rows)) == {"value", "error", "cut"}


def _agrees(text: str, label: str) -> bool:
    read = parse(text, "odata")
    if label == "cut":
        return read.status == "unparseable"
    said = json.loads(text)
    if label == "value":
        return read.status == "value" and read.value == said["value"]
    return read.status == "error" and read.error == (said["error"]["code"].strip(), said["error"]["message"])
