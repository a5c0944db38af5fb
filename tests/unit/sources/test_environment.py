"""Locked environments: of wheels from an index in a folder, of what is installed, of a project folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path
from types import MappingProxyType

import pytest

from exe.records import Package, Rejection
from exe.sources import Options, scrape
from exe.sources.installed import from_environment, installed_environment

from .test_archives import make_tar, make_zip
from .test_files import lay
from .test_installed import install


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that serves as the package index, the only one that pip knows of."""
    folder = tmp_path / "simple"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", folder.as_uri())
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONSTRAINT", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    return folder


def metadata(name: str, version: str, requires: tuple[str, ...], license: str) -> bytes:
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", f"License-Expression: {license}"]
    return "".join(f"{line}\n" for line in [*lines, *(f"Requires-Dist: {one}" for one in requires)]).encode()


def wheel(
    index: Path,
    name: str,
    version: str = "1.0",
    requires: tuple[str, ...] = (),
    license: str = "MIT",
    more: Mapping[str, bytes] = MappingProxyType({}),
) -> Path:
    """A wheel of one module, published. `more`: further members."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    members = {
        f"{module}.py": f"X = {version!r}\n".encode(),
        f"{info}/METADATA": metadata(name, version, requires, license),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
        **more,
    }
    return publish(index, name, make_zip(index.parent / f"{module}-{version}-py3-none-any.whl", members))


def publish(index: Path, name: str, archive: Path) -> Path:
    page = index / name / "index.html"
    page.parent.mkdir(exist_ok=True)
    before = page.read_text("utf-8") if page.exists() else "<!DOCTYPE html>"
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    page.write_text(f'{before}<a href="{archive.as_uri()}#sha256={sha256}">{archive.name}</a>', "utf-8")
    return archive


def only(found: list[Package | Rejection]) -> Package:
    (package,) = found
    assert isinstance(package, Package)
    return package


def test_a_wheel_is_locked_with_all_that_it_requires(index: Path, tmp_path: Path) -> None:
    requires = ("exe-help>=1", "exe-other; python_version<'3'", "exe-extra; extra == 'more'")
    wheel(index, "exe-trial", requires=requires)
    wheel(index, "exe-help", "1.1", ("exe-deep",))
    old = wheel(index, "exe-deep", "0.5")

    package = only(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache"))

    assert [(one.name, one.version, one.license) for one in package.environment] == [
        ("exe-deep", "0.5", "MIT"),
        ("exe-help", "1.1", "MIT"),
    ]
    deep = package.environment[0]
    assert deep.sha256 == hashlib.sha256(old.read_bytes()).hexdigest()
    assert deep.files == ("exe_deep.py",)
    assert (Path(deep.root) / "exe_deep.py").read_text() == "X = '0.5'\n"
    assert deep.url is None  # a folder of this machine is no address
    assert deep.barred is None


def test_the_lock_holds_without_network_and_while_the_index_moves_on(index: Path, tmp_path: Path) -> None:
    wheel(index, "exe-trial", requires=("exe-help",))
    wheel(index, "exe-help", "1.0")
    first = only(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache"))
    wheel(index, "exe-help", "2.0")
    second = only(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache"))
    for page in index.glob("*/index.html"):
        page.unlink()
    third = only(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache", offline=True))

    assert first == second == third
    assert [one.version for one in third.environment] == ["1.0"]


def test_a_dependency_that_was_tampered_with_is_fetched_again(index: Path, tmp_path: Path) -> None:
    wheel(index, "exe-trial", requires=("exe-help",))
    wheel(index, "exe-help")
    cache = tmp_path / "cache"
    help_ = only(scrape("pypi:exe-trial==1.0", cache=cache)).environment[0]
    kept = next((cache / "artefacts" / str(help_.sha256)).iterdir())
    kept.write_bytes(b"something else")
    scrape("pypi:exe-trial==1.0", cache=cache)

    assert hashlib.sha256(kept.read_bytes()).hexdigest() == help_.sha256


def test_licences_decide_what_is_barred(index: Path, tmp_path: Path) -> None:
    wheel(index, "exe-trial", requires=("exe-copyleft",))
    wheel(index, "exe-copyleft", license="GPL-3.0-only")

    (locked,) = only(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache")).environment
    vouched = Options(allow_licenses=frozenset({"exe-copyleft"}))
    (allowed,) = only(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache", options=vouched)).environment

    assert locked.barred is not None
    assert (locked.barred.reason, locked.license, locked.files) == ("license", "GPL-3.0-only", ("exe_copyleft.py",))
    assert allowed.barred is None


def test_a_hostile_dependency_is_locked_and_barred(index: Path, tmp_path: Path) -> None:
    wheel(index, "exe-trial", requires=("exe-help",))
    wheel(index, "exe-help", more={"../up.py": b""})

    (locked,) = only(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache")).environment

    assert locked.barred is not None
    assert locked.barred.reason == "path-traversal"
    assert not list(tmp_path.rglob("up.py"))


def test_a_dependency_that_is_too_large_is_locked_and_never_fetched(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exe.sources.resolve.LARGEST", 100)
    wheel(index, "exe-trial", requires=("exe-help",))
    wheel(index, "exe-help")
    (locked,) = only(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache")).environment
    assert (locked.name, locked.files) == ("exe-help", ())
    assert locked.barred is not None
    assert locked.barred.reason == "too-large"
    assert not [*(tmp_path / "cache" / "artefacts").rglob("exe_help*")]


def unlocked(found: list[Package | Rejection]) -> str:
    """The reason why a package that is used all the same has no environment."""
    package, note = found
    assert isinstance(package, Package)
    assert package.environment == ()
    assert isinstance(note, Rejection)
    assert (note.subject, note.stage, note.reason) == (package.name, "scrape", "environment")
    return note.detail


def test_without_a_solution(index: Path, tmp_path: Path) -> None:
    wheel(index, "exe-trial", requires=("exe-help>=3",))
    wheel(index, "exe-help", "1.0")

    assert "exe-help>=3" in unlocked(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache"))


def test_a_dependency_without_a_wheel_is_not_built(index: Path, tmp_path: Path) -> None:
    marker = tmp_path / "was run"
    mark = f"open({str(marker)!r}, 'w').close()\n".encode()
    files = [("exe_help-1.0/PKG-INFO", metadata("exe-help", "1.0", (), "MIT")), ("exe_help-1.0/setup.py", mark)]
    publish(index, "exe-help", make_tar(tmp_path / "exe_help-1.0.tar.gz", [*files]))
    wheel(index, "exe-trial", requires=("exe-help",))

    assert "exe-help" in unlocked(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache"))
    assert not marker.exists()


def test_offline_before_there_is_a_lock(index: Path, tmp_path: Path) -> None:
    wheel(index, "exe-trial", requires=("exe-help",))
    scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache", options=Options(environment=False))

    assert "network" in unlocked(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache", offline=True))


def test_an_sdist(index: Path, tmp_path: Path) -> None:
    files = [("exe_trial-1.0/PKG-INFO", metadata("exe-trial", "1.0", ("exe-help",), "MIT"))]
    files += [("exe_trial-1.0/exe_trial.py", b"X = 1\n")]
    publish(index, "exe-trial", make_tar(tmp_path / "exe_trial-1.0.tar.gz", [*files]))

    assert "sdist" in unlocked(scrape("pypi:exe-trial==1.0", cache=tmp_path / "cache"))


def requiring(name: str, *requires: str) -> dict[str, str]:
    return {"METADATA": metadata(name, "1.0", requires, "MIT").decode()}


def test_what_is_installed(tmp_path: Path) -> None:
    needs = requiring("own", "near[plus]", "absent", "never; python_version<'3'", "extra; extra == 'more'")
    install(tmp_path, "own", {"own.py": ""}, needs)
    install(tmp_path, "near", {"near.py": ""}, requiring("near", "far; extra == 'plus'", "own"))
    install(tmp_path, "far", {"far.py": "", "fast.cpython-311-x86_64-linux-gnu.so": ""})
    install(tmp_path, "extra", {"extra.py": ""})
    install(tmp_path, "bystander", {"bystander.py": ""})

    package, *notes = from_environment("own", Options(), [str(tmp_path)])

    assert isinstance(package, Package)
    assert [one.name for one in package.environment] == ["far", "near"]
    assert package.environment[0].compiled == ("fast.cpython-311-x86_64-linux-gnu.so",)
    (missing,) = notes
    assert isinstance(missing, Rejection)
    assert (missing.reason, "absent is not installed" in missing.detail) == ("environment", True)


def test_an_installed_dependency_that_cannot_be_read(tmp_path: Path) -> None:
    install(tmp_path, "own", {"own.py": ""}, requiring("own", "near"))
    lay(tmp_path, {"near-1.0.dist-info/METADATA": "Metadata-Version: 2.4\nName: near\nVersion: 1.0\n"})

    package = only(from_environment("own", Options(), [str(tmp_path)]))

    assert package.environment[0].barred is not None
    assert package.environment[0].barred.reason == "no-record"


def test_a_project_folder_stands_on_what_is_installed_here(tmp_path: Path) -> None:
    project = 'name = "own"\nversion = "1"\nlicense = "MIT"\ndependencies = ["packaging>=1", "exe-absent"]\n'
    lay(tmp_path, {"pyproject.toml": f"[project]\n{project}", "own/__init__.py": ""})

    package, *notes = scrape(f"path:{tmp_path}", cache=tmp_path / "cache")

    assert isinstance(package, Package)
    assert [one.name for one in package.environment] == ["packaging"]
    assert "packaging/version.py" in package.environment[0].files
    assert [note.reason for note in notes if isinstance(note, Rejection)] == ["environment"]


def test_nothing_is_asked_where_nothing_is_required() -> None:
    found = {one.metadata["Name"]: one for one in distributions()}
    assert installed_environment("own", ("pip; python_version<'3'",), Options(), found) == ((), ())


@pytest.mark.network
def test_the_real_index(tmp_path: Path) -> None:
    package = only(scrape("pypi:requests==2.32.3", cache=tmp_path / "cache"))

    locked = {one.name: one for one in package.environment}
    assert sorted(locked) == ["certifi", "charset-normalizer", "idna", "urllib3"]
    assert locked["certifi"].barred is not None
    assert any(one.url for one in package.environment)  # a local folder of wheels may serve some of them
    assert only(scrape("pypi:requests==2.32.3", cache=tmp_path / "cache", offline=True)) == package
