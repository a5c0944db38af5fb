"""Every command has help, a line in the README and loads quickly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from exe.cli import VERBS, group, main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("verb", [verb for verb, _, _ in VERBS])
def test_every_command_and_option_says_what_it_is(verb: str) -> None:
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    assert command.help
    assert all(getattr(p, "help", None) or p.name in ("seed",) for p in command.params if isinstance(p, click.Option))
    assert f"exe {verb}" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["build", "--cases", "0"], "--cases"),
        (["run", "--no-such-option"], "--no-such-option"),
        (["run", "nonsense:x"], "nonsense"),
        (["build", "gopher:x"], "gopher"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1


def test_importing_the_package_pulls_in_nothing_heavy() -> None:
    code = "import sys, exe, exe.cli; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & {"hypothesis", "openai", "jsonschema", "pandas", "numpy", "rich", "radon"}
