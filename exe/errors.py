"""The error tree: what can go wrong on our side, and the exit code that each kind ends a command with.

    ExeError                    2
    ├── UsageError              2   the command line asks for something that does not exist
    ├── InputError              2   a file or a value given to us is malformed; says what, where and what to do
    ├── SourceError             2   a package could not be had or read
    ├── IsolationError          2   no sandbox can be had on this machine (see `exe doctor`)
    ├── SandboxError            3   the sandbox itself failed, not the program in it
    ├── StorageError            3   a result could not be written (disk full, no permission)
    ├── ModelError              3   a provider failed; the attempt is `failed`, never wrong
    │   ├── AuthError           2   the key is missing or refused; asking again cannot help
    │   ├── ModelUnavailable    2   the model or its server cannot be had at all
    │   ├── TransientError      3   worth another try: rate limit, overload, time-out, lost connection
    │   └── RequestError        3   the provider refuses this one request; other requests may pass
    ├── IncompleteError         3   a run has not all its attempts; the same command resumes it
    └── CheckFailed             1   a gate or a check did its work and says no

What the world does to one function, case or answer is not an error but a record: a `Rejection` or a verdict.
"""

from __future__ import annotations


class ExeError(Exception):
    """An expected failure: shown as one line, without a traceback unless `--verbose` is given."""

    exit_code = 2


class UsageError(ExeError):
    """The command line names something that does not exist or does not fit."""


class InputError(ExeError):
    """A file or a value given to us is malformed. The message says what, where (`file:line`) and what to do."""


class SourceError(ExeError):
    """A package could not be had or read."""


class IsolationError(ExeError):
    """No sandbox can be had on this machine."""


class SandboxError(ExeError):
    """The sandbox itself failed; nothing is known about the program in it."""

    exit_code = 3


class StorageError(ExeError):
    """A result could not be written."""

    exit_code = 3


class ModelError(ExeError):
    """A model provider failed. The attempt is `failed`, never wrong."""

    exit_code = 3


class AuthError(ModelError):
    """The key is missing or refused: every further request would fail too."""

    exit_code = 2


class ModelUnavailable(ModelError):
    """The model, its package or its server cannot be had at all."""

    exit_code = 2


class TransientError(ModelError):
    """Worth another try. `retry_after` is the wait in seconds that the server asked for, if it did."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RequestError(ModelError):
    """The provider refuses this request, and would again."""


class IncompleteError(ExeError):
    """A run has not all its planned attempts yet; the same command resumes it."""

    exit_code = 3


class CheckFailed(ExeError):
    """A gate or a check did its work and says no."""

    exit_code = 1
