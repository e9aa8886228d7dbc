"""Tar streams: the forms that builders write are read as tarfile reads them, and hostile ones are refused."""

from __future__ import annotations

import io
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podling.runtime.failures import ImageFailure
from podling.runtime.images import tar
from podling.runtime.images.tar import Entry, TarStream
from podling.runtime.images.unpack import unpack
from tests.support.images import Tree

KINDS = (
    tarfile.REGTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.FIFOTYPE,
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=140).filter(
    lambda name: name not in (".", "..")
)


def entries(data: bytes) -> list[tuple[Entry, bytes]]:
    archive = TarStream(io.BytesIO(data))
    return [(entry, archive.read(1 << 20)) for entry in archive]


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def block(content: bytes) -> bytes:
    return content + bytes(-len(content) % 512)


def pax(content: bytes) -> bytes:
    return header(b"x", len(content)) + block(content)


@given(
    form=st.sampled_from((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)),
    files=st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.lists(NAMES, min_size=1, max_size=3).map("/".join),
            NAMES,
            st.binary(max_size=1500),
            st.integers(0, 2**31),
            st.integers(0, 2**33).map(float),
        ),
        max_size=5,
    ),
)
@settings(deadline=None)
def test_entries_are_those_that_tarfile_wrote(
    form: int, files: list[tuple[bytes, str, str, bytes, int, float]]
) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for kind, name, link, content, owner, moment in files:
            info = tarfile.TarInfo(name)
            info.type, info.uid, info.gid, info.mtime, info.mode = kind, owner, owner, moment, 0o4751
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            info.linkname = link if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            info.devmajor, info.devminor = (1, 3) if kind == tarfile.CHRTYPE else (0, 0)
            archive.addfile(info, io.BytesIO(content))
    read = entries(buffer.getvalue())
    assert len(read) == len(files)
    for (entry, found), (kind, name, link, content, owner, moment) in zip(read, files, strict=True):
        assert (entry.kind, entry.name.rstrip("/")) == (kind, name)
        assert (entry.uid, entry.gid, entry.mode) == (owner, owner, 0o4751)
        assert entry.mtime_ns == int(moment) * 1_000_000_000
        assert found == (content if kind == tarfile.REGTYPE else b"")
        assert entry.link == (link if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else "")
        assert entry.device == ((1, 3) if kind == tarfile.CHRTYPE else (0, 0))


@given(places=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=12))
@settings(deadline=None)
def test_damaged_archives_raise_nothing_but_image_failures(places: list[tuple[int, int]]) -> None:
    tree = Tree().directory("d").add("d/" + "long" * 60, b"x" * 700, mtime=1.5).link("l", "t" * 200)
    data = bytearray(tree.add("f", b"y", pax_headers={"SCHILY.xattr.user.a": "b"}).tar())
    for place, value in places:
        data[place % len(data)] = value
        start = place % len(data) // 512 * 512
        plain = data[start : start + 148] + b" " * 8 + data[start + 156 : start + 512]
        data[start + 148 : start + 156] = b"%06o\0 " % sum(plain)
    with suppress(ImageFailure):
        entries(bytes(data))


@pytest.mark.parametrize(
    "options",
    [
        ["--format=gnu"],
        ["--format=posix", "--sparse-version=0.0"],
        ["--format=posix", "--sparse-version=0.1"],
        ["--format=posix", "--sparse-version=1.0"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("pieces", [1, 60])
def test_sparse_files_keep_content_and_holes(tmp_path: Path, options: list[str], pieces: int) -> None:
    source = tmp_path / "sparse"
    with source.open("wb") as file:
        for piece in range(pieces):
            file.seek(piece * (1 << 20) + 300_000)
            file.write(b"data%d" % piece)
        file.truncate((pieces + 1) << 20)
    packed = ["tar", "-C", str(tmp_path), "--sparse", *options, "-cf", "-", "sparse"]
    archive = subprocess.run(packed, check=True, capture_output=True).stdout
    assert len(archive) < source.stat().st_size
    (tmp_path / "layer").mkdir()
    unpack(io.BytesIO(archive), tmp_path / "layer")
    unpacked = tmp_path / "layer/sparse"
    assert unpacked.read_bytes() == source.read_bytes()
    assert unpacked.stat().st_blocks * 512 < source.stat().st_size


def hostile() -> dict[str, tuple[bytes, str]]:
    """Archives that are refused, with a part of what is said of them."""
    digits = b"1" * (1 << 20)
    sparse = bytearray(header(b"S", 0))
    sparse[482] = 1
    plain = sparse[:148] + b" " * 8 + sparse[156:]
    sparse[148:156] = b"%06o\0 " % sum(plain)
    extension = bytes(504) + b"\1" + bytes(7)
    return {
        "a PAX header of 600 MB": (header(b"x", 600 << 20), "629145600 bytes is too long"),
        "a long name of 8 GB": (header(b"L", (8 << 30) - 1), "is too long"),
        "a long link of 2 MB": (header(b"K", 2 << 20) + bytes(2 << 20), "is too long"),
        "a PAX header of nothing but digits": (pax(digits), "malformed"),
        "a PAX record that is longer than its header": (pax(b"99 a=b\n"), "malformed"),
        "a PAX record without length": (pax(b" a=b\n"), "malformed"),
        "a second PAX record without length": (pax(b"6 a=b\nx"), "malformed"),
        "a PAX record of length nought": (pax(b"0 a=b\n"), "malformed"),
        "a size of 5,000 digits": (
            pax(b"5012 size=" + b"9" * 5001 + b"\n") + header(b"0", 0),
            "no number",
        ),
        "a chain of long names": (header(b"L", 1) + block(b"a"), "too many headers"),
        "a chain of PAX headers": (pax(b"6 a=b\n"), "too many headers"),
        "a chain of global headers": (header(b"g", 6) + block(b"6 a=b\n"), "too many headers"),
        "a negative size": (header(b"0", 0)[:124] + b"\xff" * 12 + header(b"0", 0)[136:], "broken"),
        "a name that is no path": (header(b"L", 5000) + block(b"a" * 5000) + header(b"0", 0), "is none"),
        "a name with a NUL": (pax(b"12 path=a\0b\n") + header(b"0", 0), "is none"),
        "a sparse file without end of its map": (bytes(sparse) + extension * 2100, "too long"),
        "a sparse file with overlapping pieces": (
            pax(b"22 GNU.sparse.major=0\n" + b"26 GNU.sparse.map=5,9,0,9\n")
            + header(b"0", 18)
            + block(b"z" * 18),
            "sparse file is wrong",
        ),
        "an owner that is none": (pax(b"18 uid=4294967295\n") + header(b"0", 0), "owner"),
        "an end within a file": (header(b"0", 5000) + b"short", "ends within"),
        "no archive": (b"no archive at all" * 100, "broken"),
    }


@pytest.mark.parametrize("what", hostile())
def test_hostile_headers_are_refused(what: str) -> None:
    data, said = hostile()[what]
    if "chain" in what:
        data *= 3000
    with pytest.raises(ImageFailure, match=said):
        entries(data)


def test_an_archive_of_headers_only_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar, "ENTRIES_MAX", 100)
    with pytest.raises(ImageFailure, match="more than 100 entries"):
        entries(header(b"5", 0) * 101)
    archive = TarStream(io.BytesIO(header(b"0", 4096) + bytes(4096)), header_bytes_max=2000)
    with pytest.raises(ImageFailure, match="no files"):
        for _ in archive:  # its content is not read, so it counts as the archive's own bytes
            pass


def test_bytes_after_archive_end_are_bounded() -> None:
    archive = TarStream(io.BytesIO(bytes(tar.TRAILER_BYTES_MAX + 2048)))
    assert list(archive) == []
    with pytest.raises(ImageFailure, match="behind its end"):
        archive.drain()
