"""The command line: one file a verb.

Errors go to stderr as one line; the exit code is the error's own (see `exe/errors.py`), 130 after Ctrl-C.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
import traceback
from typing import Any

import click

from exe import __version__
from exe.errors import ExeError, InputError, StorageError

INTERNAL = 3
"""The exit code of a bug: nothing is known to be wrong with the input, and no check has said no."""

VERBS: tuple[tuple[str, str, str], ...] = (
    ("build", "exe.cli.build", "Make a task set from packages."),
    ("run", "exe.cli.run", "Measure models on a task set."),
    ("score", "exe.cli.score", "Score finished attempts again, without asking a model."),
    ("merge", "exe.cli.merge", "Join the shards of runs."),
    ("leaderboard", "exe.cli.leaderboard", "Rank the runs below a folder."),
    ("show", "exe.cli.show", "Show a set, a program or a case."),
    ("verify", "exe.cli.verify", "Compare programs with the functions they were made from."),
    ("certify", "exe.cli.certify", "Prove that truths are stable and graded rightly."),
    ("import", "exe.cli.importing", "Turn another benchmark's files into a task set."),
    ("doctor", "exe.cli.doctor", "Check what this machine can do."),
)
"""Verb, module that holds its `command`, one line of help. A module is only loaded when its verb is used."""


class Verbs(click.Group):
    """The verbs of the table above, each loaded when it is asked for, so that `exe --help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (the base class has it)
        """The verbs in the order of a first session."""
        return [verb for verb, _, _ in VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The verb's command, or None for an unknown one."""
        for verb, module, _ in VERBS:
            if verb == cmd_name:
                command: click.Command = importlib.import_module(module).command
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Lists the verbs without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, summary) for verb, _, summary in VERBS])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="exe")
@click.option("--verbose", is_flag=True, help="Add the traceback to an error.")
def group(verbose: bool) -> None:
    """Can language models execute real-world code? Builds benchmarks from Python packages, runs and scores models on them."""


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 done, 1 a check failed, 2 bad usage or input, 3 incomplete, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    verbose = "--verbose" in arguments
    if verbose:
        arguments = [argument for argument in arguments if argument != "--verbose"]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name or a program may hold what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        result: Any = group.main(arguments, prog_name="exe", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where what goes wrong is still told
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.exceptions.Abort:
        return _fail("interrupted; the same command resumes", 130, verbose)
    except click.ClickException as error:
        return _fail(_usage(error), 2, verbose)
    except ExeError as error:
        return _fail(str(error), error.exit_code, verbose)
    except KeyboardInterrupt as error:
        return _fail(str(error) or "interrupted; the same command resumes", 130, verbose)
    except (BrokenPipeError, SystemExit):  # click ends a command whose reader went away by SystemExit
        _give_up_output()
        return 0
    except OSError as error:
        return _fail(*_system(error), verbose)
    except Exception as error:  # noqa: BLE001 (the last resort: a bug of ours, told in one line like every other end)
        return _fail(_bug(error), INTERNAL, verbose)
    return result if isinstance(result, int) else 0


def _system(error: OSError) -> tuple[str, int]:
    """Message and exit code for what the system refused."""
    if error.filename is None:
        _give_up_output()
    where = str(error.filename or "output")
    unwritable = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)
    return (
        f"{where if len(where) <= 300 else where[:300] + '…'}: {error.strerror or error}",
        StorageError.exit_code if unwritable or error.filename is None else InputError.exit_code,
    )


def _bug(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    return f"an error of our own, please report it: {type(error).__name__}: {error} ({place}; --verbose adds the traceback)"


def _give_up_output() -> None:
    """What is still in the buffer of a closed or full output must not fail a second time at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "exe"
    return f"{error.format_message()} (see `{command} --help`)"


def _fail(message: str, code: int, verbose: bool) -> int:
    if verbose and sys.exc_info()[0] is not None:
        traceback.print_exc()
    print(f"exe: {' '.join(message.split())}", file=sys.stderr)
    return code
