from __future__ import annotations

from collections.abc import Iterator

import pytest

from exe.errors import IsolationError
from exe.sandbox.host import Limits, Sandbox

QUICK = Limits(wall_seconds=3.0, cpu_seconds=0.5, memory_bytes=256 << 20, result_bytes=1 << 16, output_bytes=1 << 20)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    try:
        sandbox = Sandbox(workers=1, limits=QUICK)
    except IsolationError as error:
        pytest.skip(str(error))
    with sandbox:
        yield sandbox
