"""A package imported once in the zygote, for every call to find."""

from __future__ import annotations

from pathlib import Path

import pytest

from exe.errors import SandboxError
from exe.records import Job, Outcome
from exe.sandbox import isolation
from exe.sandbox.host import Preload, Sandbox
from tests.unit.sandbox.conftest import QUICK

FILES = {
    "guest/__init__.py": "COUNT = []\ndef count(step):\n    COUNT.append(step)\n    return len(COUNT)\n",
    "guest/lazy.py": "WORD = 'late'\n",
    "guest/late.py": "def late(times):\n    from guest.lazy import WORD\n    return WORD * times\n",
    "guest/reads.py": "def reads(path):\n    with open(path) as file:\n        return file.read()\n",
    "guest/broken.py": "raise RuntimeError('not today')\n",
    "guest/ends.py": "import os\nos._exit(0)\n",
}


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def outcomes(folder: Path, source: str, *calls: str, preload: str = "import guest") -> tuple[Outcome, ...]:
    with Sandbox(workers=1, limits=QUICK, preload=Preload(folders=(str(folder),), source=preload)) as box:
        return next(box.execute([Job(source=source, calls=calls)]))


def test_every_call_finds_the_package_as_its_import_left_it(guest: Path) -> None:
    found = outcomes(guest, "from guest import count\n", "count(1)", "count(2)", "count(3)")
    assert [each.plain for each in found] == [{"value": 1}] * 3


def test_a_module_may_still_be_imported_by_a_call(guest: Path) -> None:
    found = outcomes(guest, "from guest.late import late\n", "late(2)")
    assert found[0].plain == {"value": "latelate"}


def test_without_a_preload_the_package_is_not_there(sandbox: Sandbox) -> None:
    ((outcome,),) = sandbox.execute([Job(source="import guest\n", calls=("guest.count(1)",))])
    assert (outcome.status, outcome.detail) == ("unloadable", "ModuleNotFoundError: No module named 'guest'")


@pytest.mark.parametrize("path", ["/etc/hostname", "/box/exe/__init__.py", "/site/0/../../etc/passwd"])
def test_a_call_may_read_the_package_and_nothing_else(guest: Path, path: str) -> None:
    source = "import guest.reads\nfrom guest.reads import reads\n"
    found = outcomes(guest, source, f"reads({path!r})", "reads(guest.__file__)")
    assert (found[0].status, found[0].detail) == ("impure", "open")
    assert found[1].plain == {"value": FILES["guest/__init__.py"]}


@pytest.mark.parametrize(
    "attempt",
    [
        "open(guest.__file__, 'a')",
        "open('/etc/passwd')",
        "__import__('socket').socket()",
        "__import__('os').execv('/bin/sh', ['sh'])",
    ],
)
def test_a_preload_stands_behind_the_walls_itself(guest: Path, attempt: str) -> None:
    before = (guest / "guest" / "__init__.py").read_bytes()
    preload = Preload(folders=(str(guest),), source=f"import guest\n{attempt}\n")
    with Sandbox(workers=1, limits=QUICK, preload=preload) as box:
        next(box.execute([Job(source="", calls=("1",))]))
        assert box.preload_failure.startswith(("PermissionError", "FileNotFoundError", "OSError"))
    assert (guest / "guest" / "__init__.py").read_bytes() == before


def test_what_an_import_raises_is_told_and_meets_every_call(guest: Path) -> None:
    preload = Preload(folders=(str(guest),), source="import guest.broken")
    with Sandbox(workers=1, limits=QUICK, preload=preload) as box:
        ((outcome,),) = box.execute([Job(source="import guest.broken\n", calls=("guest.count(1)",))])
        assert box.preload_failure == "RuntimeError: not today"
    assert (outcome.status, outcome.detail) == ("unloadable", "RuntimeError: not today")


def test_an_import_that_ends_the_process_is_a_sandbox_error_before_any_worker_is_ready(guest: Path) -> None:
    preload = Preload(folders=(str(guest),), source="import guest.ends")
    with Sandbox(workers=1, limits=QUICK, preload=preload) as box:
        with pytest.raises(SandboxError):
            next(box.execute([Job(source="", calls=("1",))]))
        assert not box.preloaded


def test_the_folders_bear_neutral_names_inside_a_namespace(guest: Path) -> None:
    level = isolation.probe()
    found = isolation.hello(level, QUICK, preload=Preload(folders=(str(guest),), source=""))["preload"]
    assert found["folders"] == (["/site/0"] if level.namespaces else [str(guest)])


def test_a_preload_works_without_namespaces_too(guest: Path) -> None:
    level = isolation.Isolation(level=3, name=isolation.NAMES[3])
    facts = isolation.attempt(level)
    if isinstance(facts, str):
        pytest.skip(f"level 3 cannot be had here: {facts}")
    guest.chmod(0o755)
    preload = Preload(folders=(str(guest),), source="import guest")
    with Sandbox(workers=1, limits=QUICK, preload=preload, isolation_level=level) as box:
        ((outcome,),) = box.execute([Job(source="from guest import count\n", calls=("count(1)",))])
    assert outcome.plain == {"value": 1}, outcome.detail
