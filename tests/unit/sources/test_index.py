"""`pypi:`: wheels and sdists from an index in a folder, the cache, and that no code of an sdist is ever run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from exe.errors import SourceError, StorageError
from exe.records import Package, Rejection
from exe.sources import index as index_module
from exe.sources import scrape
from exe.sources.fetch import Fetched, _address

from .test_archives import make_tar, make_zip

METADATA = (
    b"Metadata-Version: 2.1\nName: exe-trial\nVersion: %s\nLicense: MIT\nProject-URL: Source, https://github.com/t/t\n"
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that serves as the package index, the only one that pip knows of."""
    folder = tmp_path / "simple" / "exe-trial"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", folder.parent.as_uri())
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONSTRAINT", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str | None, Path]:
    """Archives by the version that is asked for, in place of pip: for what happens after the download."""
    archives: dict[str | None, Path] = {}

    def fetch(name: str, version: str | None, into: Path) -> Fetched:
        target = into / archives[version].name
        target.write_bytes(archives[version].read_bytes())
        return Fetched(path=target, url=f"https://index.example/{name}/{target.name}")

    monkeypatch.setattr(index_module, "fetch", fetch)
    return archives


def publish(index: Path, *archives: Path) -> None:
    lines = [f'<a href="{path.as_uri()}">{path.name}</a>' for path in archives]
    (index / "index.html").write_text("<!DOCTYPE html><html><body>" + "\n".join(lines) + "</body></html>", "utf-8")


def wheel(folder: Path, version: str = "1.0") -> Path:
    info = f"exe_trial-{version}.dist-info"
    return make_zip(
        folder / f"exe_trial-{version}-py3-none-any.whl",
        {
            "exe_trial/__init__.py": b"X = 1\n",
            f"{info}/METADATA": METADATA % version.encode(),
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
        },
    )


def sdist(folder: Path, marker: Path, backend: bool) -> Path:
    """An sdist whose build code leaves a mark where it is run."""
    mark = f"open({str(marker)!r}, 'w').close()\n".encode()
    top = "exe_trial-1.0"
    files = [
        (f"{top}/PKG-INFO", METADATA % b"1.0"),
        (f"{top}/exe_trial.py", mark + b"X = 1\n"),
        (f"{top}/setup.py", mark),
    ]
    if backend:
        settings = b'[build-system]\nrequires = []\nbuild-backend = "hook"\nbackend-path = ["."]\n'
        files += [(f"{top}/pyproject.toml", settings), (f"{top}/hook.py", mark)]
    return make_tar(folder / "exe_trial-1.0.tar.gz", [*files])


def test_a_wheel_and_then_the_cache(index: Path, tmp_path: Path) -> None:
    archive = wheel(tmp_path)
    publish(index, archive)

    (package,) = scrape("pypi:exe_trial==1.0", cache=tmp_path / "cache")
    (index / "index.html").unlink()
    again = scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache")

    assert isinstance(package, Package)
    assert again == [package]
    assert (package.name, package.version, package.spec) == ("exe-trial", "1.0", "pypi:exe-trial==1.0")
    assert package.sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert package.url is None  # a folder of this machine is no address
    assert package.released == "2024-05-17"
    assert package.repository == "https://github.com/t/t"
    assert package.files == ("exe_trial/__init__.py",)
    assert Path(package.root).is_relative_to(tmp_path / "cache")


@pytest.mark.parametrize("backend", [False, True])
def test_no_code_of_an_sdist_is_run(backend: bool, index: Path, tmp_path: Path) -> None:
    marker = tmp_path / "was run"
    archive = sdist(tmp_path, marker, backend)
    publish(index, archive)

    try:
        found = scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache")
    finally:
        assert not marker.exists()

    package = found[0]
    assert isinstance(package, Package)
    assert "exe_trial.py" in package.files
    assert "setup.py" not in package.files
    assert package.sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()


def test_the_newest_and_offline(served: dict[str | None, Path], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with pytest.raises(SourceError, match="not in the cache"):
        scrape("pypi:exe-trial", cache=cache, offline=True)

    served[None] = wheel(tmp_path, "1.1")
    first = scrape("pypi:exe-trial", cache=cache)
    served[None] = wheel(tmp_path, "1.2")
    offline = scrape("pypi:exe-trial", cache=cache, offline=True)
    pinned = scrape("pypi:exe-trial==1.1", cache=cache)
    newest = scrape("pypi:exe-trial", cache=cache)

    versions = [found[0].version for found in (first, offline, pinned, newest) if isinstance(found[0], Package)]
    assert versions == ["1.1", "1.1", "1.1", "1.2"]
    assert isinstance(pinned[0], Package)
    assert pinned[0].url == "https://index.example/exe-trial/exe_trial-1.1-py3-none-any.whl"


def test_a_damaged_cache_is_fetched_again(served: dict[str | None, Path], tmp_path: Path) -> None:
    served["1.0"] = wheel(tmp_path)
    cache = tmp_path / "cache"
    first = scrape("pypi:exe-trial==1.0", cache=cache)
    (kept,) = (cache / "artefacts").glob("*/*.whl")
    kept.write_bytes(b"damaged")

    assert scrape("pypi:exe-trial==1.0", cache=cache) == first
    assert kept.read_bytes() == served["1.0"].read_bytes()


def test_a_hostile_archive_is_a_rejection(served: dict[str | None, Path], tmp_path: Path) -> None:
    members = [("exe_trial-1.0/PKG-INFO", METADATA % b"1.0"), ("../evil.py", b"")]
    served["1.0"] = make_tar(tmp_path / "exe_trial-1.0.tar.gz", [*members])

    (only,) = scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache")

    assert isinstance(only, Rejection)
    assert (only.subject, only.reason) == ("exe-trial", "path-traversal")
    assert list((tmp_path / "cache" / "unpacked").iterdir()) == []


@pytest.mark.parametrize(
    "members",
    [
        [("exe_trial-1.0/PKG-INFO", b"Name: other\nVersion: 1.0\n")],
        [("exe_trial-1.0/PKG-INFO", b"Name: exe-trial\n")],
        [("exe_trial-1.0/exe_trial.py", b"")],
        [("exe_trial-1.0/PKG-INFO", METADATA % b"1.0"), ("other/a.py", b"")],
    ],
)
def test_an_sdist_that_is_not_what_it_is_called(
    members: list[tuple[str, bytes]], served: dict[str | None, Path], tmp_path: Path
) -> None:
    served["1.0"] = make_tar(tmp_path / "exe_trial-1.0.tar.gz", [*members])

    (only,) = scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache")

    assert isinstance(only, Rejection)
    assert only.reason == "metadata"


def test_no_such_version(index: Path, tmp_path: Path) -> None:
    publish(index, wheel(tmp_path))

    with pytest.raises(SourceError, match=r"exe-trial==9: no such version for this Python; the newest one is 1\.0"):
        scrape("pypi:exe-trial==9", cache=tmp_path / "cache")


@pytest.mark.usefixtures("index")
def test_no_such_package(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="the index has no package exe-other"):
        scrape("pypi:exe-other", cache=tmp_path / "cache")


@pytest.mark.usefixtures("index")
def test_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")

    with pytest.raises(SourceError, match=r"cannot reach 127\.0\.0\.1") as raised:
        scrape("pypi:exe-trial", cache=tmp_path / "cache")

    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StorageError, match="cannot be used"):
        scrape("pypi:exe-trial", cache=tmp_path / "file" / "cache")


def test_addresses_lose_their_credentials(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "12:00 Found link https://u:p@host.example:8/a/x-1.whl?t=1#sha256=0 (from https://host.example/), version: 1\n"
    )

    assert _address("x-1.whl", log) == "https://host.example:8/a/x-1.whl"
    assert _address("y-1.whl", log) is None


@pytest.mark.network
@pytest.mark.parametrize(("spec", "file"), [("pypi:idna==3.10", "idna/core.py"), ("pypi:docopt==0.6.2", "docopt.py")])
def test_the_real_index(spec: str, file: str, tmp_path: Path) -> None:
    try:
        found = scrape(spec, cache=tmp_path / "cache")
    except SourceError as error:
        pytest.skip(f"no package index: {error}")

    package = found[0]
    assert isinstance(package, Package)
    assert file in package.files
    assert package.url is not None
