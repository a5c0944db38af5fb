"""Names that calls need, bound in the program under an expression that is known."""

from __future__ import annotations

import pytest

from exe.inputs.names import bind_names, required_imports, required_names
from exe.records import Type

DATE = Type(kind="datetime.date", text="date")
STAMP = Type(kind="datetime.datetime", text="datetime")
FLOAT = Type(kind="float", text="float")
PATTERN = Type(kind="re.Pattern", text="Pattern")

# source, types, source after, the name that matters, how it is written
CASES = [
    ("x = 1\n", DATE, "import datetime\nx = 1\n", "datetime:date", "datetime.date"),
    ("import datetime\n", DATE, "import datetime\n", "datetime:date", "datetime.date"),
    ("import datetime as dt\n", DATE, "import datetime as dt\n", "datetime:date", "dt.date"),
    ("from datetime import date\n", DATE, "from datetime import date\n", "datetime:date", "date"),
    ("from datetime import date as D\n", DATE, "from datetime import date as D\n", "datetime:date", "D"),
    ("from datetime import datetime\n", DATE, "import datetime as datetime_\nfrom datetime import datetime\n", "datetime:date", "datetime_.date"),
    ("from datetime import date\ndate = 3\n", DATE, "import datetime\nfrom datetime import date\ndate = 3\n", "datetime:date", "datetime.date"),
    ("import datetime\ndef f():\n    global datetime\n", DATE, "import datetime as datetime_\nimport datetime\ndef f():\n    global datetime\n", "datetime:date", "datetime_.date"),
    ("'doc'\nfrom __future__ import annotations\nx = 1\n", PATTERN, "'doc'\nfrom __future__ import annotations\nimport re\nx = 1\n", "re:compile", "re.compile"),
    ("'doc'", PATTERN, "'doc'\nimport re\n", "re:compile", "re.compile"),
    ("float = 1\n", FLOAT, "import builtins\nfloat = 1\n", "builtins:float", "builtins.float"),
    ("def float(): pass\n", FLOAT, "import builtins\ndef float(): pass\n", "builtins:float", "builtins.float"),
    ("def f(float): pass\n", FLOAT, "def f(float): pass\n", "builtins:float", None),
    ("for re in []: pass\n", PATTERN, "import re as re_\nfor re in []: pass\n", "re:compile", "re_.compile"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "found", "after", "key", "expected"), CASES)
def test_bound(source: str, found: Type, after: str, key: str, expected: str | None) -> None:
    text, names = bind_names(source, [found], {"m:C": "C"})
    assert text == after
    assert names.get(key) == expected
    assert names["m:C"] == "C"
    assert bind_names(text, [found], {"m:C": "C"})[0] == text  # nothing more is needed


def test_nested_types_are_seen() -> None:
    inner = Type(kind="list", text="", args=(Type(kind="union", text="", args=(STAMP, FLOAT)),))
    assert required_names([inner]) == ("builtins:float", "datetime:datetime", "datetime:timedelta", "datetime:timezone")
    assert required_imports([inner]) == ("datetime",)
