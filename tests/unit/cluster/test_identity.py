"""The check that an identity belongs to the directory that holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.cluster.directory import DataDirectory
from podling.cluster.directory_errors import DirectoryUnusable
from podling.cluster.identity import FILE, Identity, Place, Standing, standing


def place(path: str, device: int, inode: int) -> Place:
    return Place(path=path, device=device, inode=inode)


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        (place("/a", 1, 10), Standing.SAME),
        (place("/a", 2, 10), Standing.SAME),  # after a restart the device has another number
        (place("/b", 1, 10), Standing.MOVED),
        (place("/b", 1, 11), Standing.COPIED),
        (place("/b", 2, 10), Standing.COPIED),  # a snapshot of the whole file system, mounted beside it
        (
            place("/a", 1, 11),
            Standing.COPIED,
        ),  # a backup in the place of the original, which may live elsewhere
        (place("/a", 2, 11), Standing.COPIED),
    ],
)
def test_place_decides_standing_of_identity(here: Place, expected: Standing) -> None:
    assert standing(Identity(id="x", place=place("/a", 1, 10)), here) is expected


def test_directory_without_identity_is_new() -> None:
    assert standing(None, place("/a", 1, 10)) is Standing.NEW


def test_renamed_directory_keeps_its_identity_and_a_copy_does_not(tmp_path: Path) -> None:
    first = DataDirectory(tmp_path / "first")
    first.create()
    first.remember_identity(Identity(id="0123abcd", place=Place.of(first.path)))
    assert (first.id, first.standing()) == ("0123abcd", Standing.SAME)
    copy = DataDirectory(tmp_path / "copy")
    copy.create()
    (copy.path / FILE).write_bytes((first.path / FILE).read_bytes())
    assert copy.standing() is Standing.COPIED
    moved = DataDirectory(first.path.rename(tmp_path / "moved"))
    assert (moved.id, moved.standing()) == ("0123abcd", Standing.MOVED)


def test_directory_behind_a_link_is_the_same(tmp_path: Path) -> None:
    real = DataDirectory(tmp_path / "real")
    real.create()
    real.remember_identity(Identity(id="0123abcd", place=Place.of(real.path)))
    (tmp_path / "link").symlink_to(real.path)
    assert DataDirectory(tmp_path / "link").standing() is Standing.SAME


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read: .*restore it from a backup"),
        (
            '{"id": "a", "format": 2, "place": {"path": "/", "device": 1, "inode": 2}}',
            r"newer version \(format 2, this one reads up to 1\); upgrade podling",
        ),
    ],
)
def test_identity_that_cannot_be_read_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(DirectoryUnusable, match=message):
        DataDirectory(tmp_path).standing()
