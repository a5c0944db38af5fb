"""The records that the paper prints, reproduced from the packages themselves (PAPER.md, records printed in the paper)."""

from __future__ import annotations

from typing import Any

import pytest

from exe import taskset
from exe.records import Job, Program
from exe.sandbox.host import Sandbox
from tests.support.command import exe

SOURCES = ("pypi:idna==3.10", "pypi:email-validator==2.2.0", "pypi:celery==5.4.0")
PRINTED: tuple[tuple[str, str, Any], ...] = (
    ("abbrtask", "abbrtask('module.ClassName', 15)", "mod[.]ClassName"),
    ("abbrtask", "abbrtask('long.module.name.with.many.parts.ClassName', 25)", "long.module.n[.]ClassName"),
    ("abbrtask", "abbrtask('module.ClassName', 3)", "[.]ClassName"),
    ("split_email", "split_email('simple@example.com')", [None, "simple", "example.com", False]),
    ("split_email", "split_email('\"quoted@local\"@example.com')", [None, "quoted@local", "example.com", True]),
    ("split_email", "split_email('user@[IPv6:2001:db8::1]')", [None, "user", "[IPv6:2001:db8::1]", False]),
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    """The programs of a set built from the three packages, by their functions' names."""
    work = tmp_path_factory.mktemp("paper")
    done = exe("build", *SOURCES, "--set", str(work / "paper"), "--quiet", cwd=work, timeout=1500)
    assert done.returncode == 0, done.stderr
    tasks = taskset.read_set(work / "paper")
    return {program.origin.qualname: program for program in tasks.programs.values()}


@pytest.mark.network
@pytest.mark.slow
def test_the_printed_records_come_out_as_printed(programs: dict[str, Program]) -> None:
    modules = {(p.origin.module, p.origin.qualname) for p in programs.values()}
    assert {
        ("celery.utils.text", "abbrtask"),
        ("email_validator.syntax", "split_email"),
        ("idna.core", "valid_contexto"),
    } <= modules
    with Sandbox(workers=1) as sandbox:
        for name, call, printed in PRINTED:
            [[outcome]] = sandbox.execute([Job(source=programs[name].source, calls=(call,))])
            assert outcome.plain == {"value": printed}, call
