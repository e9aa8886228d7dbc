"""Headers of tar archives."""

from __future__ import annotations

import tarfile
from typing import Any

import pytest

from podling.runtime.failures import ImageFailure
from podling.runtime.images.tar_headers import check_extents, pax_moment, pax_records, read_header


def block(name: str = "file", kind: bytes = tarfile.REGTYPE, **fields: Any) -> bytes:
    """Return the last header block of an entry, in GNU's format if a number needs it."""
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in fields.items():
        setattr(info, key, value)
    large = max(info.size, info.mtime) >= 8**11
    return info.tobuf(tarfile.GNU_FORMAT if large else tarfile.USTAR_FORMAT)[-512:]


@pytest.mark.parametrize(
    "fields",
    [
        {"size": 0, "mode": 0o644},
        {"size": 8**11 - 1, "mode": 0o7777, "uid": 1000, "gid": 2000, "mtime": 1_700_000_000},
    ],
)
def test_ustar_header_is_read(fields: dict[str, Any]) -> None:
    header = read_header(block(**fields))
    assert (header.name, header.kind, header.size) == ("file", b"0", fields["size"])
    assert header.mode == fields["mode"]
    assert (header.uid, header.gid) == (fields.get("uid", 0), fields.get("gid", 0))
    assert header.mtime_ns == fields.get("mtime", 0) * 10**9


def test_prefix_of_ustar_belongs_to_the_name() -> None:
    name = "d" * 90 + "/" + "f" * 90
    assert read_header(block(name)).name == name


def test_numbers_of_gnu_tar_may_be_binary() -> None:
    header = read_header(block(size=8**11, uid=8**7, mtime=8**11))
    assert (header.size, header.uid) == (8**11, 8**7)


def test_devices_have_numbers_and_links_no_content() -> None:
    device = read_header(block(kind=tarfile.CHRTYPE, devmajor=1, devminor=3))
    assert device.device == (1, 3)
    link = read_header(block(kind=tarfile.SYMTYPE, linkname="/etc", size=5))
    assert (link.link, link.size) == ("/etc", 0)


def test_wrong_checksum_is_refused() -> None:
    broken = bytearray(block())
    broken[0] ^= 1
    with pytest.raises(ImageFailure, match="checksum"):
        read_header(bytes(broken))


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        (b"0", 0),
        (b"12", 12 * 10**9),
        (b"12.5", 12_500_000_000),
        (b"12.", 12 * 10**9),
        (b"1.1234567899", 1_123_456_789),
        (b"-3.5", 0),
    ],
)
def test_pax_time_is_read_in_nanoseconds(text: bytes, nanoseconds: int) -> None:
    assert pax_moment(text) == nanoseconds


def test_pax_records_are_read_in_order() -> None:
    data = b"9 path=a\n" + b"13 k=b=c\nd e\n"
    assert list(pax_records(data)) == [("path", b"a"), ("k", b"b=c\nd e")]


@pytest.mark.parametrize(
    "data",
    [
        b"path=a\n",
        b"9 path=a",
        b"8 path=a\n",
        b"99 path=a\n",
        b"6 =ab\n",
        b"7 path\n",
        b"0 a=b\n",
        b"-9 a=b\n",
    ],
)
def test_malformed_pax_records_are_refused(data: bytes) -> None:
    with pytest.raises(ImageFailure):
        list(pax_records(data))


@pytest.mark.parametrize(
    ("extents", "length", "stored", "valid"),
    [
        ([], 0, 0, True),
        ([], 100, 0, True),
        ([(0, 5), (10, 5)], 20, 10, True),
        ([(10, 5), (0, 5)], 20, 10, False),
        ([(0, 6), (5, 5)], 20, 11, False),
        ([(0, -1)], 20, -1, False),
        ([(18, 5)], 20, 5, False),
        ([(0, 5)], 20, 6, False),
    ],
)
def test_map_of_sparse_file_must_be_consistent(
    extents: list[tuple[int, int]], length: int, stored: int, valid: bool
) -> None:
    if valid:
        check_extents(extents, length, stored)
        return
    with pytest.raises(ImageFailure):
        check_extents(extents, length, stored)
