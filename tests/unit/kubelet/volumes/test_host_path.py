"""Host paths: creation and refusal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podling.api.core_v1 import HostPathVolumeSource
from podling.kubelet.volumes.host_path import check_host_path, make_missing_directory


@pytest.mark.parametrize("kind", ["", "Directory", "DirectoryOrCreate", "File", "FileOrCreate"])
def test_host_paths_with_a_nul_are_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(OSError, match=r"Invalid argument|hostPath"):
        check_host_path(HostPathVolumeSource(path=f"{tmp_path}/a\0b", type=kind))
    assert os.listdir(tmp_path) == []


def test_deep_host_paths_are_created(deep: Path) -> None:
    path = deep / ("d/" * 1500 + "last")
    check_host_path(HostPathVolumeSource(path=str(path), type="DirectoryOrCreate"))
    assert path.is_dir()
    make_missing_directory(deep / "a/b/c")
    assert (deep / "a/b/c").is_dir()


def test_host_paths_below_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        make_missing_directory(tmp_path / "file/part")
