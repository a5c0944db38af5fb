"""Constants made of something impure: who uses them is judged, not that they are made."""

from __future__ import annotations

import pytest

from exe.screen import armed, findings, purity
from exe.screen.traps import EVENT

LEFT_ALONE = [
    # made and used by nobody whom the entry comes to, or only in a body that a call may not come to
    "import random\nbits = random.getrandbits\ndef g():\n    return bits(8)\ndef f(a):\n    return g() if a > 9 else a\n",
    "import time\nA = time.timezone\nB = -A\ndef g():\n    return B\ndef f(a):\n    return g() if a > 9 else a\n",
    "import time\nif time.daylight:\n    A = time.altzone\nelse:\n    A = 0\ndef g():\n    return A\ndef f(a):\n    return g()\n",
    "import sys\nwrite = lambda: sys.stdout\ndef g():\n    return write()\ndef f(a):\n    return g()\n",
    "import sys\ndef keep(m):\n    return m\nw = keep(lambda: sys.stdout)\ndef g():\n    return w()\ndef f(a):\n    return g()\n",
    "import sys\nask = input\nclass C:\n    def m(self):\n        return ask()\ndef f(a):\n    return C().m() if a else a\n",
]


@pytest.mark.parametrize("source", LEFT_ALONE)
def test_a_constant_that_only_other_bodies_use(source: str) -> None:
    assert purity(source, "f") is None
    found = findings(source, "f")
    assert found
    assert all(one.deferred and one.name for one in found)
    text = armed(source, "f")
    traps = [number for number, line in enumerate(text.splitlines()) if EVENT in line]
    used = [number for number, line in enumerate(text.splitlines()) if found[0].name in line and "def " not in line]
    assert len(traps) == 1
    assert any(traps[0] in (number, number - 1) for number in used)


REFUSED = [
    # the entry itself, what runs while loading, and what may tell others
    "import time\nA = time.timezone\ndef f(a):\n    return A\n",
    "import time\nA = time.timezone\nB = A\ndef f(a):\n    return B\n",
    "import time\nA = time.timezone\nclass C:\n    zone = A\ndef f(a):\n    return C.zone if a else a\n",
    "import time\nA = time.timezone\ndef g(a=A):\n    return a\ndef f(a):\n    return g()\n",
    "import time\nA = time.timezone\nT = {}\nT[0] = A\ndef f(a):\n    return T\n",
    "import time\nT = []\ndef put(a):\n    T.append(a)\n    return a\nA = put(time.time())\ndef g():\n    return A\n"
    "def f(a):\n    return T if a else g()\n",
    "import os\nA = os.path.exists('a')\ndef g():\n    return A\ndef f(a):\n    return g() if a else a\n",
    "import time\nA = (B := time.time())\ndef g():\n    return A\ndef f(a):\n    return g() if a else a\n",
]


@pytest.mark.parametrize("source", REFUSED)
def test_a_constant_that_counts(source: str) -> None:
    assert purity(source, "f") is not None


def test_what_calls_make_counts_as_reached() -> None:
    source = (
        "import random\nbits = random.getrandbits\nclass C:\n    def __init__(self, a=None):\n"
        "        self.a = a or bits(8)\ndef f(a):\n    return a.a\n"
    )
    assert armed(source, "f") == source
    text = armed(source, "f", made=["C"])
    assert text.splitlines()[4].strip() == f"__import__('sys').audit('{EVENT}randomness'); self.a = a or bits(8)"
    assert findings(source.replace("bits = random", "class D:\n    at = random"), "f", ["D"])
    assert (
        purity("import time\nclass C:\n    at = time.time()\ndef f(a):\n    return a\n", "f", made=["C.D"]) is not None
    )
