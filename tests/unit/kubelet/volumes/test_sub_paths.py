"""Sub-paths of volumes, and their refusal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import VolumeMount
from podling.kubelet.failures import StartFailure
from podling.kubelet.volumes.sub_paths import prepare_sub_path, sub_path


@pytest.mark.parametrize("part", ["a\0b", "x" * 300, "d/" * 2040])
def test_invalid_sub_paths_fail_the_container(deep: Path, part: str) -> None:
    with pytest.raises(StartFailure, match="subPath"):
        prepare_sub_path(deep, part, "volume", "app")


def mount(**fields: Any) -> VolumeMount:
    return msgspec.convert({"name": "v", "mountPath": "/v", **fields}, VolumeMount)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({}, ""),
        ({"subPath": "a/b"}, "a/b"),
        ({"subPathExpr": "logs/$(NAME)"}, "logs/web"),
        ({"subPathExpr": "$$(NAME)"}, "$(NAME)"),
    ],
)
def test_sub_path_is_expanded(fields: dict[str, str], part: str) -> None:
    assert sub_path(mount(**fields), {"NAME": "web"}) == part


@pytest.mark.parametrize(
    "fields", [{"subPathExpr": "$(NOPE)"}, {"subPathExpr": "$(ROOT)"}, {"subPath": "../x"}]
)
def test_bad_sub_paths_are_refused(fields: dict[str, str]) -> None:
    with pytest.raises(StartFailure):
        sub_path(mount(**fields), {"ROOT": "/etc"})


def test_sub_path_may_not_leave_the_volume(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "out").symlink_to(tmp_path)
    (tmp_path / "secret").mkdir()
    wanted = 'failed to (create|prepare) subPath (directory )?for volumeMount "v" of container "app"$'
    for part in ("out/secret", "out/new", "out"):
        with pytest.raises(StartFailure, match=wanted):
            prepare_sub_path(volume, part, "v", "app")
    assert sorted(os.listdir(tmp_path)) == ["secret", "volume"]
    prepare_sub_path(volume, "new/part", "v", "app")
    assert (volume / "new" / "part").is_dir()
