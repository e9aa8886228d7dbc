"""Directories of provisioned volumes."""

from __future__ import annotations

from pathlib import Path

import pytest

from podling.controllers.volumes.volume_folders import VolumeFolders


@pytest.mark.asyncio(loop_factories=["real"])
async def test_folders_are_made_and_removed_and_nothing_else(tmp_path: Path) -> None:
    folders = VolumeFolders(tmp_path / "volumes")
    await folders.make("pvc-1")
    assert (tmp_path / "volumes/pvc-1").stat().st_mode & 0o777 == 0o777
    (tmp_path / "volumes/pvc-1/file").write_text("data")
    await folders.remove("pvc-1")
    await folders.remove("pvc-1")
    assert list((tmp_path / "volumes").iterdir()) == []
    (tmp_path / "other").mkdir()
    (tmp_path / "volumes/pvc-2").symlink_to(tmp_path / "other")
    await folders.remove("pvc-2")
    assert (tmp_path / "other").exists()
    for name in ("", "..", "../other", "/etc"):
        with pytest.raises(ValueError, match="not the name of a volume"):
            folders.path(name)
