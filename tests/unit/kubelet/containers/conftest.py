"""A volume with files that a hostile container made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    folder = tmp_path / "volume"
    folder.mkdir()
    (tmp_path / "outside").write_text("A='secret'\n")
    (folder / "good").write_text("A='1'\n")
    (folder / "inside").symlink_to("good")
    (folder / "link").symlink_to("../outside")
    (folder / "absolute").symlink_to(tmp_path / "outside")
    (folder / "up").symlink_to("..")
    (folder / "directory").mkdir()
    (folder / "device").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe")
    return folder
