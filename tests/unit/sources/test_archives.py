"""Hostile archives: what an attacker must not achieve, and that honest archives pass."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from exe.sources.archives import Hostile, Limits, unpack

SMALL = Limits(members=50, total=2_000_000, written=100_000, file=50_000, ratio=50, ratio_from=500_000)


def make_zip(path: Path, members: dict[str, bytes], tweak: Callable[[zipfile.ZipInfo], None] | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, (2024, 5, 17, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            if tweak is not None:
                tweak(info)
            archive.writestr(info, data)
    return path


def make_tar(path: Path, members: list[tarfile.TarInfo | tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                info.mtime = 1_700_000_000
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def tar_member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "deep" / "into"
    folder.mkdir(parents=True)
    return folder


def below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def test_a_wheel(tmp_path: Path, into: Path) -> None:
    wheel = make_zip(
        tmp_path / "a-1-py3-none-any.whl",
        {
            "a/__init__.py": b"X = 1\n",
            "a/speed.so": b"\x7fELF",
            "a/data.bin": b"\0" * 10,
            "a-1.data/purelib/b.py": b"Y = 2\n",
            "a-1.dist-info/METADATA": b"Name: a\n",
            "a-1.dist-info/licenses/LICENSE.txt": b"MIT",
        },
    )

    seen = unpack(wheel, into)

    assert below(into) == ["a-1.dist-info/METADATA", "a-1.dist-info/licenses/LICENSE.txt", "a/__init__.py", "b.py"]
    assert (into / "a/__init__.py").read_bytes() == b"X = 1\n"
    assert list(seen.written) == below(into)
    assert seen.compiled == ("a/speed.so",)
    assert seen.left_out == ()
    assert seen.newest == "2024-05-17"


def test_an_sdist(tmp_path: Path, into: Path) -> None:
    sdist = make_tar(
        tmp_path / "a-1.tar.gz", [("a-1/PKG-INFO", b"Name: a"), ("./a-1/a.py", b"X = 1"), ("a-1/x.c", b"")]
    )

    seen = unpack(sdist, into)

    assert below(into) == ["a-1/PKG-INFO", "a-1/a.py"]
    assert seen.newest == "2023-11-14"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../evil.py", "path-traversal"),
        ("a/../../evil.py", "path-traversal"),
        ("a/..", "path-traversal"),
        ("/tmp/evil.py", "absolute-name"),
        ("C:/evil.py", "absolute-name"),
        ("a\\..\\evil.py", "absurd-name"),
        ("a/\x1b[2Jevil.py", "absurd-name"),
        ("a/" * 100 + "evil.py", "absurd-name"),
        ("a" * 300 + ".py", "absurd-name"),
        (
            "a/" + "b" * 240 + "/" + "c" * 240 + "/" + "d" * 240 + "/" + "e" * 240 + "/" + "f" * 240 + ".py",
            "absurd-name",
        ),
    ],
)
@pytest.mark.parametrize("form", ["zip", "tar"])
def test_names_that_leave_or_are_absurd(form: str, name: str, reason: str, tmp_path: Path, into: Path) -> None:
    if form == "zip":
        archive = make_zip(tmp_path / "a.whl", {"good.py": b"", name: b"evil"})
    else:
        archive = make_tar(tmp_path / "a.tar.gz", [("good.py", b""), (name, b"evil")])

    with pytest.raises(Hostile) as raised:
        unpack(archive, into)

    assert raised.value.reason == reason
    assert not [path for path in tmp_path.rglob("*evil*") if path != archive]


def test_a_name_cut_by_nul_is_judged_whole(tmp_path: Path, into: Path) -> None:
    archive = make_zip(tmp_path / "a.whl", {"good.py#/../evil.py": b""})
    archive.write_bytes(archive.read_bytes().replace(b"good.py#", b"good.py\0"))

    with pytest.raises(Hostile):
        unpack(archive, into)


@pytest.mark.parametrize(
    ("kind", "target"),
    [(tarfile.SYMTYPE, "/etc/passwd"), (tarfile.SYMTYPE, "../.."), (tarfile.LNKTYPE, "/etc/passwd")],
)
def test_links_in_a_tar_are_left_out_and_listed(kind: bytes, target: str, tmp_path: Path, into: Path) -> None:
    archive = make_tar(tmp_path / "a.tar.gz", [tar_member("a/link.py", kind, target), ("a/b.py", b"X = 1")])

    seen = unpack(archive, into)

    assert below(into) == ["a/b.py"]
    assert seen.left_out == (("a/link.py", "not-regular"),)


def test_nothing_is_written_through_a_link(tmp_path: Path, into: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    archive = make_tar(tmp_path / "a.tar.gz", [tar_member("a", tarfile.SYMTYPE, str(outside)), ("a/evil.py", b"X = 1")])

    unpack(archive, into)

    assert list(outside.iterdir()) == []
    assert not (into / "a").is_symlink()


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_special_files_are_left_out_and_listed(kind: bytes, tmp_path: Path, into: Path) -> None:
    seen = unpack(make_tar(tmp_path / "a.tar.gz", [tar_member("a/device", kind)]), into)

    assert below(into) == []
    assert seen.left_out == (("a/device", "not-regular"),)


def test_a_link_in_a_zip_is_left_out_and_listed(tmp_path: Path, into: Path) -> None:
    def as_link(info: zipfile.ZipInfo) -> None:
        info.external_attr = (stat.S_IFLNK | 0o777) << 16

    seen = unpack(make_zip(tmp_path / "a.whl", {"a/link.py": b"/etc/passwd"}, as_link), into)

    assert below(into) == []
    assert seen.left_out == (("a/link.py", "not-regular"),)


def test_too_many_members(tmp_path: Path, into: Path) -> None:
    archive = make_tar(tmp_path / "a.tar.gz", [(f"a/{n}.txt", b"") for n in range(60)])

    with pytest.raises(Hostile, match="more than 50 members"):
        unpack(archive, into, SMALL)


@pytest.mark.parametrize("form", ["zip", "tar"])
@pytest.mark.parametrize("name", ["a/data.bin", "a/b.py"])
def test_a_bomb_by_ratio(form: str, name: str, tmp_path: Path, into: Path) -> None:
    data = b"\0" * 1_500_000
    archive = (
        make_zip(tmp_path / "a.whl", {name: data}) if form == "zip" else make_tar(tmp_path / "a.tar.gz", [(name, data)])
    )

    with pytest.raises(Hostile) as raised:
        unpack(archive, into, SMALL)

    assert raised.value.reason == "archive-bomb"
    assert below(into) == []


def test_a_bomb_by_total_size(tmp_path: Path, into: Path) -> None:
    noise = {f"a/{n}.bin": os.urandom(400_000) for n in range(6)}

    with pytest.raises(Hostile, match=r"2,400,000|2,000,000"):
        unpack(make_zip(tmp_path / "a.whl", noise), into, SMALL)


def test_many_files_that_are_each_small_enough(tmp_path: Path, into: Path) -> None:
    archive = make_zip(tmp_path / "a.whl", {f"a/m{n}.py": os.urandom(20_000).hex().encode() for n in range(6)})

    with pytest.raises(Hostile, match="100,000 bytes of Python files"):
        unpack(archive, into, SMALL)


def test_a_pax_header_cannot_fill_the_memory(tmp_path: Path, into: Path) -> None:
    info = tarfile.TarInfo("a/b.py")
    info.pax_headers = {"comment": "x" * 3_000_000}
    archive = tmp_path / "a.tar.gz"
    with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info)

    with pytest.raises(Hostile, match="unpacks to more"):
        unpack(archive, into, SMALL)


def test_a_large_python_file_is_left_out_and_listed(tmp_path: Path, into: Path) -> None:
    seen = unpack(make_zip(tmp_path / "a.whl", {"a/big.py": os.urandom(60_000), "a/b.py": b""}), into, SMALL)

    assert below(into) == ["a/b.py"]
    assert seen.left_out == (("a/big.py", "too-large"),)


def test_a_size_that_lies(tmp_path: Path, into: Path) -> None:
    archive = make_zip(tmp_path / "a.whl", {"a/b.py": b"X" * 40_000})
    data = bytearray(archive.read_bytes())
    size = (40_000).to_bytes(4, "little")
    while (at := data.find(size)) >= 0:
        data[at : at + 4] = (10).to_bytes(4, "little")
    archive.write_bytes(data)

    with pytest.raises(Hostile, match="cannot be read"):
        unpack(archive, into, SMALL)


def test_a_doubled_name(tmp_path: Path, into: Path) -> None:
    archive = make_tar(tmp_path / "a.tar.gz", [("a/b.py", b"X = 1"), ("a/b.py", b"X = 2")])

    with pytest.raises(Hostile) as raised:
        unpack(archive, into)

    assert raised.value.reason == "clashing-names"


def test_a_file_that_is_also_a_folder(tmp_path: Path, into: Path) -> None:
    archive = make_tar(tmp_path / "a.tar.gz", [("a.py", b"X = 1"), ("a.py/b.py", b"X = 2")])

    with pytest.raises(Hostile) as raised:
        unpack(archive, into)

    assert raised.value.reason == "clashing-names"


def test_an_encrypted_member(tmp_path: Path, into: Path) -> None:
    archive = make_zip(tmp_path / "a.whl", {"a/b.py": b"X = 1"})
    data = archive.read_bytes()
    at = data.index(b"PK\x01\x02")
    archive.write_bytes(data[: at + 8] + b"\x01" + data[at + 9 :])

    with pytest.raises(Hostile) as raised:
        unpack(archive, into)

    assert raised.value.reason == "encrypted"


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 cut", b"\x1f\x8b\x08 cut", b"BZh9 cut", b"MZ something else"])
def test_what_is_no_archive(data: bytes, tmp_path: Path, into: Path) -> None:
    archive = tmp_path / "a.whl"
    archive.write_bytes(data)

    with pytest.raises(Hostile) as raised:
        unpack(archive, into)

    assert raised.value.reason in {"damaged-archive", "unsupported-archive"}


def test_a_truncated_tar(tmp_path: Path, into: Path) -> None:
    archive = make_tar(tmp_path / "a.tar.gz", [("a/b.py", os.urandom(30_000))])
    archive.write_bytes(archive.read_bytes()[:-5_000])

    with pytest.raises(Hostile) as raised:
        unpack(archive, into)

    assert raised.value.reason == "damaged-archive"


def test_a_build_tools_constant_is_no_date(tmp_path: Path, into: Path) -> None:
    def constant(info: zipfile.ZipInfo) -> None:
        info.date_time = (2020, 2, 2, 0, 0, 0)

    assert unpack(make_zip(tmp_path / "a.whl", {"a.py": b""}, constant), into).newest is None
