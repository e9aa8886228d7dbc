"""Conversion of volume mounts to the runtime's mounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod, VolumeMount
from podling.kubelet.failures import StartFailure
from podling.kubelet.volumes.base import Mounted
from podling.kubelet.volumes.mounts import container_mounts
from podling.runtime.image_service import Image


def mount(**fields: Any) -> VolumeMount:
    return msgspec.convert({"name": "v", "mountPath": "/v", **fields}, VolumeMount)


def test_container_mounts_follow_volume_mounts() -> None:
    plain = {
        "name": "app",
        "volumeMounts": [
            {"name": "v", "mountPath": "/a/b", "readOnly": True, "recursiveReadOnly": "Enabled"},
            {"name": "config", "mountPath": "/etc/app"},
            {"name": "v", "mountPath": "/a", "subPath": "part", "mountPropagation": "HostToContainer"},
            {"name": "data", "mountPath": "models", "subPathExpr": "$(SIZE)/m"},
        ],
    }
    (container,) = msgspec.convert({"spec": {"containers": [plain]}}, Pod).spec.containers
    volumes = {"v": Mounted(Path("/k/v")), "config": Mounted(Path("/k/c"), read_only=True)}
    images = {"data": Image(id="sha256:1")}
    found = container_mounts(container, volumes, images, {"SIZE": "small"}, write=False)
    assert [(m.container_path, (m.host_path or m.image, m.sub_path), m.read_only) for m in found] == [
        ("/a", ("/k/v", "part"), False),
        ("/models", ("sha256:1", "small/m"), True),
        ("/a/b", ("/k/v", ""), True),
        ("/etc/app", ("/k/c", ""), True),
    ]
    assert [m.recursive_read_only for m in found] == [False, False, True, False]
    assert found[0].propagation.value == "HostToContainer"
    with pytest.raises(StartFailure, match='cannot find volume "v" to mount into container "app"'):
        container_mounts(container, {}, {}, {}, write=False)
