"""Free space of a file system, without the part reserved for the node."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from podling.files.space import Space, check_room, room


def test_free_space_excludes_reserve(tmp_path: Path) -> None:
    found = os.statvfs(tmp_path)
    size, _ = room(tmp_path)
    reserve = min(found.f_blocks * found.f_frsize // 20, 1 << 30)
    assert abs(found.f_bavail * found.f_frsize - reserve - size) < 1 << 28


def test_check_refuses_more_than_there_is(tmp_path: Path) -> None:
    check_room(tmp_path, 1)
    with pytest.raises(OSError, match="No space left") as refused:
        check_room(tmp_path, 1 << 60)
    assert refused.value.errno == errno.ENOSPC


def test_space_refuses_a_write_that_does_not_fit(tmp_path: Path) -> None:
    space = Space(tmp_path)
    for _ in range(100):
        space.take(1 << 20, 1)
    with pytest.raises(OSError, match="No space left"):
        space.take(1 << 60)


def test_space_refuses_more_files_than_the_file_system_has(tmp_path: Path) -> None:
    if os.statvfs(tmp_path).f_files == 0:
        pytest.skip("this file system has no limit of files")
    with pytest.raises(OSError, match="No space left"):
        Space(tmp_path).take(0, 1 << 60)
