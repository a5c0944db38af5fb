"""Answers in the styles of many model families, against truths of every kind: right ones are accepted, wrong ones never.

Where careful people may differ, the table says what was decided: a text that is nearly the requested form but may mean something
else (`Result = 3`, a tool call that was never offered, `P(x=1)`) is unparseable, so that the model is asked once more.
"""

from __future__ import annotations

import datetime
import enum
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest

from exe.grading.grade import grade_text
from exe.records import Case
from exe.values import encode, encode_error


class Color(enum.Enum):
    RED = "red"
    BLUE = 2


class Number(enum.IntEnum):
    ONE = 1


@dataclass
class Pair:
    x: int
    y: str


Named = namedtuple("Named", "a b")
Table = list[tuple[Any, dict[str, list[str]]]]

ODATA: Table = [
    (
        "x",
        {
            "correct": [
                '{"value": "x"}',
                '```json\n{"value": "x"}\n```',
                '"x"',
                'The answer is "x".',
                'The answer is {"value": "x"}.',
                '<answer>{"value": "x"}</answer>',
                '<think>{"value":"y"}</think>\n{"value":"x"}',
                '\\boxed{"x"}',
                '\\boxed{{"value": "x"}}',
                '"{\\"value\\": \\"x\\"}"',
                "{“value”: “x”}",
                '{"value": “x”}',
                "{'value': 'x'}",
                '{"value": "y"}\nWait, actually:\n{"value": "x"}',
                '**Answer:** `{"value": "x"}`',
                '{"value": "x",}',
                'La réponse est {"value": "x"}',
                '答案是：{"value": "x"}',
                'Ответ: {"value": "x"}',
                '```python\nresult = f()\nprint({"value": "y"})\n```\n{"value": "x"}',
                '```json\n{\n  "value": "x"\n}\n```\nHere "value" is ...',
                '{"value": "x", "explanation": "because"}',
                '{"value": "x"}{"value": "x"}',
                '{"value":"x"}}',
                'json\n{"value": "x"}',
                'Output:\n```\n"x"\n```',
                '<|begin_of_box|>{"value": "x"}<|end_of_box|>',
                '<output>{"value": "x"}</output>',
                '{"value": "x"}<|im_end|>',
                '{"value": "x"}</s>',
                'assistant\n\n{"value": "x"}',
                '◁think▷ foo ◁/think▷{"value":"x"}',
                '{"value":"x"}<think>{"value":"y"}</think>',
                '<|channel|>analysis<|message|>maybe {"value":"y"}<|end|><|start|>assistant<|channel|>final<|message|>{"value":"x"}',
                '<reasoning>{"value":"y"}</reasoning>{"value":"x"}',
                '<scratchpad>{"value":"y"}</scratchpad>{"value":"x"}',
            ],
            "wrong": [
                '{"value": "x"} or {"value": "y"}',
                '{"Value": "x"}',
                '{"result": "x"}',
                '{"value": "x"}\n\nExplanation: f returns {"value": "y"} when n<0',
                '{"tool": "answer", "arguments": {"value": "x"}}',
                '[{"value": "x"}]',
                '{"value": {"value": "x"}}',
                '{"value": "X"}',
                '{"value": " x"}',
                '{"value": ["x"]}',
                '{"value": null}',
                '{"value":"x"}\n\nNote: if raised it would be {"error": {"code": "ValueError", "message": "m"}}',
            ],
            "unparseable": [
                "x",
                "$\\boxed{\\text{x}}$",
                'value: "x"',
                '```yaml\nvalue: "x"\n```',
                '<tool_call>\n{"name": "answer", "arguments": {"value": "x"}}\n</tool_call>',
                '答案："x"',
                '{"value":"x"',
                "Output:\n```\nx\n```",
                "<think>hmm",
                '<think>hmm {"value":"x"}',
            ],
        },
    ),
    ("null", {"correct": ['{"value": "null"}', '"null"'], "wrong": ['{"value": null}', "null"]}),
    (
        None,
        {
            "correct": ['{"value": null}', "null", "None", '{"value": None}', "Answer: None"],
            "wrong": ['{"value": "null"}', '{"value": "None"}', "{}", '{"value": ""}'],
            "unparseable": ['{"value": undefined}', "The function returns None."],
        },
    ),
    (
        '{"a": 1}',
        {
            "correct": ['{"value": "{\\"a\\": 1}"}', '"{\\"a\\": 1}"', "{'value': '{\"a\": 1}'}"],
            "wrong": ['{"value": {"a": 1}}'],
        },
    ),
    ('{"value": 1}', {"correct": ['{"value": "{\\"value\\": 1}"}'], "wrong": ['{"value": 1}', '"{\\"value\\": 1}"']}),
    ({"value": 1}, {"correct": ['{"value": {"value": 1}}'], "wrong": ['{"value": 1}']}),
    ({"error": "x"}, {"correct": ['{"value": {"error": "x"}}'], "unparseable": ['{"error": "x"}']}),
    (
        1.5,
        {
            "correct": ['{"value": 1.5}', "1.5", '{"value": 1.50}', '{"value": 15e-1}', "Answer: 1.5", "Answer: 1.5."],
            "wrong": ['{"value": "1.5"}', '{"value": 1.5000000001}'],
            "unparseable": ['{"value": 3/2}', '{"value": 1,5}', "= 1.5"],
        },
    ),
    (0.1 + 0.2, {"correct": ['{"value": 0.30000000000000004}'], "wrong": ['{"value": 0.3}']}),
    (3.0, {"correct": ['{"value": 3}', '{"value": 3.0}'], "wrong": ['{"value": "3.0"}']}),
    (
        float("nan"),
        {
            "correct": [
                '{"value": NaN}',
                '{"value": "NaN"}',
                '{"value": nan}',
                "{'value': float('nan')}",
                '{"value": "nan"}',
            ],
            "wrong": ['{"value": null}'],
        },
    ),
    (
        float("-inf"),
        {
            "correct": [
                '{"value": -Infinity}',
                '{"value": "-INF"}',
                '{"value": "-Infinity"}',
                '{"value": -inf}',
                "{'value': float('-inf')}",
                '{"value": -1e999}',
            ],
            "wrong": ['{"value": "INF"}'],
        },
    ),
    (-0.0, {"correct": ['{"value": -0.0}', '{"value": 0}', '{"value": 0.0}']}),
    (
        10**30,
        {
            "correct": [
                '{"value": 1000000000000000000000000000000}',
                '{"value": 1_000_000_000_000_000_000_000_000_000_000}',
            ],
            "wrong": [
                '{"value": 1e30}',
                '{"value": "1000000000000000000000000000000"}',
                '{"value": 1000000000000000000000000000001}',
            ],
            "unparseable": ['{"value": 10**30}'],
        },
    ),
    (10**23, {"wrong": ['{"value": 1e23}']}),
    (
        1000,
        {
            "correct": [
                '{"value": 1000.0}',
                "1000",
                '{"value": 0x3E8}',
                '{"value": +1000}',
                "\\boxed{1000}",
                "The answer is 1000.",
                "The final answer is: $\\boxed{1000}$.",
                "**1000**",
                "Answer: **1000**",
                "Final answer: `1000`",
                "So the output is 1000",
            ],
            "wrong": ['{"value": "1000"}'],
            "unparseable": [
                '{"value": 1,000}',
                "1,000",
                '{"value": 01000}',
                "$1000$",
                "#### 1000",
                "returns 1000",
                "Result = 1000",
            ],
        },
    ),
    (
        True,
        {
            "correct": ['{"value": true}', '{"value": True}', "true"],
            "wrong": ['{"value": 1}', '{"value": "true"}'],
            "unparseable": ["yes", '{"value": TRUE}'],
        },
    ),
    (1, {"correct": ['{"value": 1.0}'], "wrong": ['{"value": true}', '{"value": "1"}']}),
    (
        b"ab\xff",
        {
            "correct": [
                '{"value": "YWL_"}',
                '{"value": "b\'ab\\\\xff\'"}',
                "{'value': b'ab\\xff'}",
                '{"value": b"ab\\xff"}',
            ],
            "wrong": [
                '{"value": "YWL/"}',
                '{"value": "YWL_="}',
                '{"value": "ab\\u00ff"}',
                '{"value": [97, 98, 255]}',
                '{"value": "6162ff"}',
            ],
        },
    ),
    (b"", {"correct": ['{"value": ""}', "b''"], "wrong": ['{"value": null}']}),
    (
        {3, 1, 2},
        {
            "correct": [
                '{"value": [1,2,3]}',
                '{"value": [3,2,1]}',
                '{"value": {1,2,3}}',
                "{1,2,3}",
                '{"value": set([1,2,3])}',
                '{"value": frozenset({1,2,3})}',
                "[1,2,3]",
            ],
            "wrong": ['{"value": [1,1,2,3]}', '{"value": "{1, 2, 3}"}', '{"value": [1,2]}'],
        },
    ),
    (set(), {"correct": ['{"value": []}', '{"value": set()}', "set()"], "wrong": ['{"value": {}}']}),
    (
        (1, "a"),
        {
            "correct": ['{"value": [1, "a"]}', '{"value": (1, "a")}', '(1, "a")'],
            "wrong": ['{"value": "(1, \'a\')"}'],
            "unparseable": ['1, "a"', '{"value": 1, "a"}'],
        },
    ),
    ((1,), {"correct": ['{"value": [1]}', '{"value": (1,)}', "(1,)"], "wrong": ['{"value": (1)}']}),
    ([], {"correct": ['{"value": []}', "[]", '{"value": ()}'], "wrong": ['{"value": null}', '{"value": {}}']}),
    (
        {1: "a", 2: "b"},
        {
            "correct": [
                '{"value": {"1":"a","2":"b"}}',
                '{"value": {1:"a",2:"b"}}',
                "{1: 'a', 2: 'b'}",
                '{"value": {"2":"b","1":"a"}}',
                '{"1":"a","2":"b"}',
            ],
            "wrong": ['{"value": [[1,"a"],[2,"b"]]}', '{"value": {"1":"a"}}'],
        },
    ),
    (
        {(1, 2): "a", (3, 4): "b"},
        {
            "correct": [
                '{"value": [[[1,2],"a"],[[3,4],"b"]]}',
                '{"value": [[[3,4],"b"],[[1,2],"a"]]}',
                '{"value": {(1,2):"a",(3,4):"b"}}',
            ],
            "wrong": ['{"value": {"(1, 2)":"a","(3, 4)":"b"}}'],
        },
    ),
    (
        {"a": {1: {2: [3]}}},
        {
            "correct": [
                '{"value": {"a":{"1":{"2":[3]}}}}',
                '{"value": {"a":{1:{2:[3]}}}}',
                '{"value": {"a":{"1":{"2":[3,]}}}}',
            ]
        },
    ),
    (
        {None: 1, True: 2},
        {
            "correct": ['{"value": {"null":1,"true":2}}', '{"value": {None:1,True:2}}'],
            "wrong": ['{"value": {"None":1,"True":2}}'],
        },
    ),
    ({}, {"correct": ['{"value": {}}', "{}"], "wrong": ['{"value": []}']}),
    (
        datetime.date(2024, 2, 29),
        {
            "correct": ['{"value": "2024-02-29"}', '{"value": datetime.date(2024,2,29)}', '{"value": "20240229"}'],
            "wrong": ['{"value": "2024-2-29"}'],
            "unparseable": ["2024-02-29"],
        },
    ),
    (
        datetime.datetime(2024, 1, 2, 3, 4, 5),
        {
            "correct": [
                '{"value": "2024-01-02T03:04:05"}',
                '{"value": "2024-01-02 03:04:05"}',
                '{"value": "2024-01-02T03:04:05.000"}',
                '{"value": datetime.datetime(2024, 1, 2, 3, 4, 5)}',
            ],
            "wrong": ['{"value": "2024-01-02T03:04:05Z"}'],
        },
    ),
    (
        datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
        {
            "correct": [
                '{"value": "2024-01-02T03:04:05Z"}',
                '{"value": "2024-01-02T03:04:05+00:00"}',
                '{"value": "2024-01-02T04:04:05+01:00"}',
            ],
            "wrong": ['{"value": "2024-01-02T03:04:05"}'],
        },
    ),
    (
        datetime.timedelta(hours=1, seconds=1),
        {
            "correct": [
                '{"value": "PT1H1S"}',
                '{"value": "PT3601S"}',
                '{"value": datetime.timedelta(seconds=3601)}',
                '{"value": "P0DT1H0M1S"}',
            ],
            "wrong": ['{"value": "1:00:01"}', '{"value": 3601}'],
        },
    ),
    (datetime.time(1, 2), {"correct": ['{"value": "01:02:00"}', '{"value": "01:02"}']}),
    (
        Decimal("1.50"),
        {
            "correct": ['{"value": "1.50"}', '{"value": 1.5}', '{"value": "1.5"}', '{"value": Decimal("1.50")}'],
            "wrong": ['{"value": "Decimal(\'1.50\')"}', '{"value": "1.51"}'],
        },
    ),
    (
        Fraction(1, 3),
        {
            "correct": ['{"value": "1/3"}', '{"value": Fraction(1, 3)}', '{"value": "2/6"}'],
            "wrong": ['{"value": 0.3333333333333333}'],
        },
    ),
    (
        1 + 2j,
        {
            "correct": ['{"value": "(1+2j)"}', '{"value": "1+2j"}', '{"value": 1+2j}', '{"value": (1+2j)}'],
            "wrong": ['{"value": [1, 2]}'],
        },
    ),
    (
        Color.RED,
        {
            "correct": ['{"value": "red"}'],
            "wrong": ['{"value": "Color.RED"}', '{"value": "RED"}', '{"value": "blue"}'],
            "unparseable": ['{"value": Color.RED}'],
        },
    ),
    (Number.ONE, {"correct": ['{"value": 1}'], "wrong": ['{"value": "ONE"}']}),
    (
        Pair(1, "a"),
        {
            "correct": ['{"value": {"x":1,"y":"a"}}', '{"x":1,"y":"a"}'],
            "wrong": ['{"value": [1,"a"]}'],
            "unparseable": ['{"value": P(x=1, y="a")}'],
        },
    ),
    (
        Named(1, 2),
        {"correct": ['{"value": {"a":1,"b":2}}', '{"value": [1,2]}'], "unparseable": ['{"value": NT(a=1,b=2)}']},
    ),
    (
        UUID(int=5),
        {
            "correct": [
                '{"value": "00000000-0000-0000-0000-000000000005"}',
                '{"value": "00000000000000000000000000000005"}',
            ]
        },
    ),
    (PurePosixPath("a/b"), {"correct": ['{"value": "a/b"}'], "wrong": ['{"value": "a/b/"}']}),
    (
        ValueError("bad 'x'\nline"),
        {
            "correct": [
                '{"error": {"code": "ValueError", "message": "bad \'x\'\\nline"}}',
                '{"error": {"code": "builtins.ValueError", "message": "bad \'x\'\\nline"}}',
                '{"error": {"code": "ValueError", "message": "bad \'x\' line"}}',
                "{'error': {'code': 'ValueError', 'message': \"bad 'x'\\nline\"}}",
                '{"error": {"code": "ValueError", "message": "ValueError: bad \'x\'\\nline"}}',
                '{"value": null, "error": {"code": "ValueError", "message": "bad \'x\'\\nline"}}',
                '{"error": {"code": "ValueError", "message": "bad \'x\'\nline"}}',
                '{"error": {"code": "ValueError", "message": "bad \'x\'\\nline", "details": []}}',
                '{"error": {"code": "ValueError", "message": "bad \'x\'\\nline", "target": "f"}}',
            ],
            "wrong": [
                '{"error": {"code": "TypeError", "message": "bad \'x\'\\nline"}}',
                '{"error": {"code": "ValueError", "message": ""}}',
                '{"error": {"code": "ValueError"}}',
                '{"value": "ValueError"}',
                '{"error": {"code": "ValueError", "message": "bad x line"}}',
            ],
            "unparseable": [
                '{"error": "ValueError"}',
                '{"error": {"type": "ValueError", "message": "bad"}}',
                "ValueError: bad",
            ],
        },
    ),
    (
        KeyError("a"),
        {
            "correct": [
                '{"error": {"code": "KeyError", "message": "\'a\'"}}',
                '{"error": {"code": "KeyError", "message": "a"}}',
            ],
            "wrong": ['{"error": {"code": "KeyError", "message": "b"}}'],
        },
    ),
    (
        ValueError(),
        {
            "correct": [
                '{"error": {"code": "ValueError", "message": ""}}',
                '{"error": {"code": "ValueError", "message": null}}',
                '{"error": {"code": "ValueError"}}',
            ],
            "wrong": [
                '{"error": {"code": "ValueError", "message": "x"}}',
                '{"error": {"code": "ValueError", "message": "None"}}',
            ],
        },
    ),
    (
        ZeroDivisionError("division by zero"),
        {
            "correct": [
                '{"error": {"code": "ZeroDivisionError", "message": "division by zero"}}',
                '{"error": {"code": "ZeroDivisionError", "message": "Division by zero."}}',
                '{"error": {"code": "ZeroDivisionError", "message": "integer division or modulo by zero"}}',
            ]
        },
    ),
    (
        OSError("x"),
        {
            "correct": [
                '{"error": {"code": "IOError", "message": "x"}}',
                '{"error": {"code": "EnvironmentError", "message": "x"}}',
            ]
        },
    ),
    (
        "a\nb",
        {
            "correct": ['{"value": "a\\nb"}', '{"value": "a\nb"}'],
            "wrong": ['{"value": "a\\\\nb"}', '{"value": "a b"}'],
            "unparseable": ["{'value': '''a\nb'''}"],
        },
    ),
    (
        'it\'s "q"',
        {
            "correct": ['{"value": "it\'s \\"q\\""}', "{'value': 'it\\'s \"q\"'}"],
            "wrong": ['{"value": "it’s \\"q\\""}'],
        },
    ),
    ("“q”", {"correct": ['{"value": "“q”"}', '{"value": "\\u201cq\\u201d"}'], "wrong": ['{"value": "\\"q\\""}']}),
    (
        "</think>",
        {
            "correct": [
                '{"value": "</think>"}',
                '<think>a</think>{"value": "</think>"}',
                '<think>the output is </think>. ok</think>{"value": "</think>"}',
            ]
        },
    ),
    ("```", {"correct": ['{"value": "```"}', '```json\n{"value": "```"}\n```']}),
    ("😀", {"correct": ['{"value": "😀"}', '{"value": "\\ud83d\\ude00"}', "{'value': '\\U0001f600'}"]}),
    ("é", {"correct": ['{"value": "é"}', '{"value": "\\u00e9"}', '{"value": "\\xe9"}'], "wrong": ['{"value": "é"}']}),
    ("[1, 2]", {"correct": ['{"value": "[1, 2]"}', '"[1, 2]"'], "wrong": ['{"value": [1, 2]}', "[1, 2]"]}),
    (
        [1, 2],
        {
            "correct": [
                '{"value": [1, 2]}',
                "[1, 2]",
                "Result: [1, 2]",
                "The result is [1, 2].",
                "```\n[1, 2]\n```",
                "```python\n[1, 2]\n```",
            ],
            "wrong": ['{"value": "[1, 2]"}'],
            "unparseable": ["[1, 2] is the answer", '{"value": [1, 2, ...]}', "```python\nx = [1, 2]\n```"],
        },
    ),
    ("1", {"correct": ['{"value": "1"}', '"1"'], "wrong": ['{"value": 1}', "1"]}),
    ("", {"correct": ['{"value": ""}', '""', "''"], "unparseable": [""]}),
    (
        [5],
        {
            "correct": [
                '{"value": [5]}\n\n```python\nd = {"value": [6]}\nassert f() == d\n```',
                '```python\ndef f():\n    return {"value": 4}\n```\nSo {"value": [5]}',
                '```python\nprint({"value": [5]})\n```',
                'Earlier {"value": [4]}. So \\boxed{\\{"value": [5]\\}}',
                "\\boxed{[4]} then \\boxed{[5]}",
                "$$\\boxed{[5]}$$",
                '[THINK]{"value": [4]}[/THINK]{"value": [5]}',
                '"{\\"value\\": [5]}"',
                "[5]</s>",
                '{"reasoning": "a", "value": [5]}',
                "The output would be [5]",
            ],
            "wrong": [
                '{"value": [4]}\n```python\nx = {"value": [5]}\n```',
                '"{\\"value\\": [5]"',
                '{"reasoning": "a", "value": [6]}',
            ],
            "unparseable": [
                '[THINK]{"value": [5]}',
                '<|channel|>analysis<|message|>{"value": [5]}',
                '{"reasoning": {"a": 1}, "value": [5]}',
                "The output is [4]... no",
                "The result is [5] or [6]",
                "Is the answer [5]?",
                "The answer is not [5]",
            ],
        },
    ),
]

PYTHON: Table = [
    (
        "x",
        {
            "correct": [
                "'x'",
                '"x"',
                "```python\n'x'\n```",
                "assert f() == 'x'",
                "```python\nassert f(1) == 'x'\n```",
                "[ANSWER]\nassert f() == 'x'\n[/ANSWER]",
                "[ANSWER]'x'[/ANSWER]",
                "The output is 'x'.",
                "**'x'**",
                "Answer: **'x'**",
                "\\boxed{'x'}",
                "\\boxed{\\text{'x'}}",
                "f() == 'x'",
                "'x' == f()",
                "'x' # comment",
                "<think>'y'</think>'x'",
                "[THINK]'y'[/THINK]'x'",
                "The answer is `'x'`",
                "```\nf() == 'x'\n```",
                "Output: 'x'\n",
                "'x'<|im_end|>",
                "'x'</s>",
                "Final Answer: 'x'",
                "result = 'x'",
                "u'x'",
                "r'x'",
                "'''x'''",
            ],
            "wrong": [
                "{'value': 'x'}",
                '{"value": "x"}',
                "'x' 'y'",
                "{'error': {'code': 'ValueError', 'message': 'm'}}",
                "b'x'",
            ],
            "unparseable": [
                "x",
                "f() returns 'x'",
                "print('x')",
                "'x' or 'y'",
                "str: 'x'",
                "assert f() == 'y'\nassert f() == 'x'",
                "assert f() == 'x', 'msg'",
                "‘x’",
                "“x”",
                "return 'x'",
                ">>> 'x'",
                ">>> f()\n'x'",
                "```python\n>>> f()\n'x'\n```",
                "f('a') = 'x'",
                "f('a') -> 'x'",
                "答案: 'x'",
                "f'x'",
            ],
        },
    ),
    (
        1000,
        {
            "correct": [
                "1000",
                "1000.",
                "1_000",
                "1000.0",
                "0x3e8",
                "The final answer is: $\\boxed{1000}$.",
                "So the output is 1000.",
            ],
            "wrong": ["1,000", "True"],
            "unparseable": ["10**3", "int(1000)", "#### 1000", "Answer: 1000 because"],
        },
    ),
    (None, {"correct": ["None", "assert f() is None"], "unparseable": ["null", "", "The function returns None."]}),
    ({1: "a"}, {"correct": ["{1: 'a'}", "dict({1: 'a'})", "{1: 'a',}"], "wrong": ['{"1": "a"}']}),
    ({1, 2}, {"correct": ["{1, 2}", "{2, 1}", "set([1, 2])"], "wrong": ["[1,2]"]}),
    (
        (1, 2),
        {
            "correct": ["(1, 2)", "1, 2", "assert f() == (1, 2)"],
            "wrong": ["[1, 2]"],
            "unparseable": ["assert f() == 1, 2"],
        },
    ),
    (1.5, {"correct": ["1.5", "1.50"], "wrong": ["'1.5'"]}),
    (True, {"correct": ["True", "1", "assert f() is True", "1.0"], "unparseable": ["true", "assert f()"]}),
    (float("nan"), {"correct": ["nan", "float('nan')"]}),
]


def case(truth: object) -> Case:
    if isinstance(truth, BaseException):
        plain, typed = encode_error(truth)
    else:
        plain, typed = ({"value": form} for form in encode(truth))
    return Case(id="x", program="p", kind="output", arguments={}, call="f()", expected=plain, typed=typed)


def _rows(table: Table) -> list[Any]:
    return [
        pytest.param(truth, text, verdict, id=f"{truth!r:.30}-{text:.60}")
        for truth, by_verdict in table
        for verdict, texts in by_verdict.items()
        for text in texts
    ]


@pytest.mark.parametrize(("truth", "text", "verdict"), _rows(ODATA))
def test_odata(truth: object, text: str, verdict: str) -> None:
    assert grade_text(text, case(truth), format="odata", rule="json")[1].verdict == verdict


@pytest.mark.parametrize(("truth", "text", "verdict"), _rows(PYTHON))
def test_python(truth: object, text: str, verdict: str) -> None:
    assert grade_text(text, case(truth), format="python", rule="python")[1].verdict == verdict
