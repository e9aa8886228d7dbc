"""The directories of processes: made inside of their root and volumes, wherever links and names lead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podling.runtime.base import ContainerSpec, Mount
from podling.runtime.process import plan
from podling.runtime.process.launching import build


def made(tmp_path: Path, working_dir: str, *mount_paths: str) -> Path:
    """Build a container with a volume at each path; returns where it starts."""
    directory, volume = tmp_path / "container", tmp_path / "volume"
    volume.mkdir(exist_ok=True)
    mounts = tuple(Mount(container_path=path, host_path=str(volume)) for path in mount_paths)
    spec = ContainerSpec(
        name="app", image="i", log_path=tmp_path / "log", working_dir=working_dir, mounts=mounts
    )
    rootfs = directory / "rootfs"
    start = plan.working_directory(spec, plan.Defaults(), rootfs, on_host=False)
    build(directory, plan.links(mounts), start)
    return start


@pytest.mark.parametrize("path", ["/data", "data/", "/../data", "/../../../data", "/x/../data", "//data/."])
def test_volumes_are_linked_inside_of_the_root(tmp_path: Path, path: str) -> None:
    made(tmp_path, "", path)
    assert os.readlink(tmp_path / "container/rootfs/data") == str(tmp_path / "volume")
    assert sorted(os.listdir(tmp_path)) == ["container", "volume"]
    assert os.listdir(tmp_path / "container") == ["rootfs"]


@pytest.mark.parametrize("path", ["/w/new", "w/new", "/../w/new", "../../../../w/new"])
def test_working_directories_are_made_inside_of_the_root(tmp_path: Path, path: str) -> None:
    assert made(tmp_path, path) == tmp_path / "container/rootfs/w/new"
    assert (tmp_path / "container/rootfs/w/new").is_dir()
    assert sorted(os.listdir(tmp_path)) == ["container", "volume"]


def test_working_directories_are_made_inside_of_volumes(tmp_path: Path) -> None:
    made(tmp_path, "/data/own/new", "/data")
    assert (tmp_path / "volume/own/new").is_dir()


@pytest.mark.parametrize("target", ["{outside}", "../outside", "/proc/self/root{outside}"])
def test_working_directories_follow_no_link_out_of_a_volume(tmp_path: Path, target: str) -> None:
    """A process that runs as another user planted the link; the directory would be made by root."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume/way").symlink_to(target.format(outside=outside))
    with pytest.raises(OSError, match="leaves its directory"):
        made(tmp_path, "/data/way/new", "/data")
    assert os.listdir(outside) == []
