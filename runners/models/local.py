"""A GGUF file served by llama.cpp in a child of ours and asked like any other OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import secrets
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

from exe.errors import ModelUnavailable, UsageError
from exe.records import Completion, Json
from runners.models import local_server, weights
from runners.models.base import Request, Traits, clean, file_sha256
from runners.models.local_state import SharedState

START_SECONDS = 300.0
STOP_SECONDS = 5.0
ALTERNATIVES = "use --model openai:NAME@BASE_URL, replay:FILE.jsonl or baseline:echo"
DEFAULT_CONTEXT = 8192
SLOTS = 1


class LocalModel:
    """The server starts with the first question and ends with `aclose`, or with us.

    Greedy answers are repeatable: one slot, since batching several prompts changes roundings and so now and then a
    token; and each question starts from the same state, the saved one of the messages that all questions share, or
    from none. `context` is in tokens a slot.
    """

    def __init__(
        self, path: Path, *, name: str, sha256: str, context: int, max_tokens: int = 1024, timeout: float = 600.0
    ) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelUnavailable(_missing_engine())
        self._path, self._name, self._sha256 = path, name, sha256
        self._context, self._slots, self._timeout = context, SLOTS, timeout
        self._max_tokens = max_tokens
        self._starting, self._asking = asyncio.Lock(), asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._log: IO[bytes] | None = None
        self._client: SharedState | None = None
        self._states: tempfile.TemporaryDirectory[str] | None = None

    @property
    def name(self) -> str:
        """`local:NAME`."""
        return f"local:{self._name}"

    @property
    def settings(self) -> dict[str, Json]:
        """File hash, engine version and what decides the numbers; neither port nor path."""
        return {
            "provider": "local",
            "model": self._name,
            "sha256": self._sha256,
            "engine": f"xllamacpp {importlib.metadata.version('xllamacpp')}",
            "slots": self._slots,
            "context": self._context,
            "cache": "shared messages",
        }

    @property
    def traits(self) -> Traits:
        """As many questions at once as there are slots; examples and a schema, since small models need them."""
        return Traits(few_shot=True, structured=True, max_tokens=self._max_tokens, concurrency=self._slots)

    async def complete(self, request: Request) -> Completion:
        """Ask once, starting the server where it does not run yet. Raises ModelUnavailable when it died."""
        async with self._starting:
            if self._client is None:
                self._client = await self._start()
        if self._process is not None and self._process.returncode is not None:
            raise ModelUnavailable(f"the server of {self.name} ended: {self._reason()}")
        async with self._asking:
            return replace(await self._client.complete(request), model=self._name)

    async def aclose(self) -> None:
        """End the server: its stdin closes; after 5 s it is killed."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        process, self._process = self._process, None
        if process is not None:
            await _end(process)
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._states is not None:
            self._states.cleanup()
            self._states = None

    async def _start(self) -> SharedState:
        key = secrets.token_urlsafe(24)
        self._states = tempfile.TemporaryDirectory()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - aclose closes it
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            local_server.__file__,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C in the terminal reaches us alone
        )
        assert process.stdin is not None
        assert process.stdout is not None
        config = {"path": str(self._path), "name": self._name, "key": key, "parent": os.getpid()}
        config |= {"slots": self._slots, "context": self._context, "states": f"{self._states.name}{os.sep}"}
        try:
            process.stdin.write(json.dumps(config).encode() + b"\n")
            line = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
        except (TimeoutError, ConnectionError):
            line = b""
        if b'"address"' not in line:  # a child that gives up writes its reason on its way out
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 5)
        address = self._address(line)
        return SharedState(address, key, name=self._name, timeout=self._timeout)

    def _address(self, line: bytes) -> str:
        """The address that the child reports. Raises ModelUnavailable with its reason where it reports none."""
        try:
            told = json.loads(line)
        except ValueError:
            told = {}
        address = told.get("address")
        if isinstance(address, str):
            return address
        reason = str(told.get("error", "it did not start"))
        if "libgomp" in reason:
            reason = "llama.cpp needs the system library libgomp.so.1 (Debian, Ubuntu: apt-get install libgomp1)"
        elif said := self._reason():
            reason = said
        raise ModelUnavailable(f"{self._path.name} cannot be served: {clean(reason)}")

    def _reason(self) -> str:
        """What llama.cpp wrote last, without its folder names; empty where it wrote nothing."""
        if self._log is None:
            return ""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - 4096))
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        errors = [line.split(" E ", 1)[1] for line in lines if " E " in line] or lines[-1:]
        unique = list(dict.fromkeys(" ".join(error.split()) for error in errors))
        return clean("; ".join(unique[:2]).replace(str(self._path), self._path.name))


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def open_local(rest: str, *, timeout: float, notify: Callable[[str], None]) -> LocalModel:
    """`""` or `NAME` for an embedded model, `PATH.gguf` for a file.

    Raises UsageError for an unknown name or a missing file, ModelUnavailable where it cannot be had here.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelUnavailable(_missing_engine())
    if rest.endswith(".gguf"):
        path = Path(rest).expanduser()
        if not path.is_file():
            raise UsageError(f"local: there is no file {path}")
        sha256 = file_sha256(path)
        return LocalModel(path, name=path.name, sha256=sha256, context=DEFAULT_CONTEXT, timeout=timeout)
    names = [known.name for known in weights.EMBEDDED]
    wanted = rest or names[0]
    for known in weights.EMBEDDED:
        if known.name.lower() == wanted.lower():
            path = weights.ensure(known, notify)
            return LocalModel(
                path,
                name=known.name,
                sha256=known.sha256,
                context=known.context,
                max_tokens=known.max_tokens,
                timeout=timeout,
            )
    raise UsageError(f"local: unknown model {wanted!r}; there are {', '.join(names)}, or a path that ends in .gguf")


def _missing_engine() -> str:
    here = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return (
        "local models need xllamacpp: pip install 'execution-eval[local]'; "
        f"where it has no wheel for this platform ({here}), {ALTERNATIVES}"
    )
