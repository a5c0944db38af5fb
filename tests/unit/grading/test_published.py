"""A hundred published answers, drawn by seed and labelled by hand before the reader saw them."""

from __future__ import annotations

import ast
import json
import random

import pytest

from exe.grading.answer import parse
from exe.values import encode, same_python
from tests.support.shared import find

SEED = 20261201
CUT_OFF = {("sample_770", 1), ("sample_134", 1), ("sample_154", 7), ("sample_639", 8)}
"""Strings that the limit of tokens ended before their quote. Of the hundred all others are one whole Python literal and nothing else."""


def test_a_hundred_answers_of_a_model_are_read_as_a_person_reads_them() -> None:
    file = find("cruxeval/codellama-7b_output_generations.json")
    if file is None:
        pytest.skip("needs the shared data (cruxeval)")
    answers = json.loads(file.read_text())
    rows = [
        (name, number, text)
        for name, texts in sorted(answers.items(), key=lambda item: int(item[0].partition("_")[2]))
        for number, text in enumerate(texts)
    ]
    random.Random(SEED).shuffle(rows)
    wrongly = []
    for name, number, text in rows[:100]:
        read = parse(text, "python")
        if (name, number) in CUT_OFF:
            right = read.status == "unparseable"
        else:
            right = read.status == "value" and same_python(encode(ast.literal_eval(text))[1], read.value)
        if not right:
            wrongly.append((name, number, text[:80]))
    assert wrongly == []
