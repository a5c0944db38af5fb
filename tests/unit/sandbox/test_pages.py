"""What is made after `plug` lies close together, in an interpreter whose memory was full of holes before."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from exe.sandbox import pages
held = [bytes(SIZE - 33) for _ in range(COUNT)]
del held[::40]  # few free places, in every pool
if sys.argv[1] == "plugged":
    pages.plug()
made = [bytes(SIZE - 33) for _ in range(64)]
print(len({id(item) >> 12 for item in made}))
"""


@pytest.mark.parametrize(("size", "count"), [(48, 60_000), (256, 15_000), (512, 8_000), (1024, 3_000)])
def test_objects_lie_close_together(size: int, count: int) -> None:
    def spread(how: str) -> int:
        text = PROGRAM.replace("SIZE", str(size)).replace("COUNT", str(count))
        done = subprocess.run([sys.executable, "-c", text, how], capture_output=True, text=True, check=True)
        return int(done.stdout)

    near = 64 * size // 4096 + 3
    assert spread("plugged") <= near < spread("as it was")


def test_it_comes_to_an_end_where_nothing_lies_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from exe.sandbox import pages

    monkeypatch.setattr(pages, "_MOST", 50)
    kept: list[list[object]] = []
    monkeypatch.setattr(pages, "_kept", kept)
    same = object()
    pages._plug(lambda: same, 16)
    assert len(kept[0]) == 49
