"""Ownership of a volume by fsGroup."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podling.kubelet.volumes.fs_group import set_ownership

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")


@root_only
def test_whole_volume_is_given_to_the_group(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    set_ownership(tmp_path, 1234)
    assert (tmp_path / "d" / "f").stat().st_gid == 1234
    assert tmp_path.stat().st_mode & 0o2070 == 0o2070
    assert Path("/etc/passwd").stat().st_gid != 1234
    (tmp_path / "late").write_text("x")
    os.chown(tmp_path / "late", 0, 0)
    set_ownership(tmp_path, 1234, only_on_mismatch=True)
    assert (tmp_path / "late").stat().st_gid == 0
