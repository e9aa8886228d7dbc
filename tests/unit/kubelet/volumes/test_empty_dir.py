"""Sizes of volumes in memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import EmptyDirVolumeSource, Pod
from podling.kubelet.volumes.base import VolumeFacts
from podling.kubelet.volumes.empty_dir import tmpfs_size


def pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    return msgspec.convert({"spec": {"containers": containers, **spec}}, Pod)


LIMITED = {"name": "a", "resources": {"limits": {"memory": "1Gi"}}}


@pytest.mark.parametrize(
    ("size", "subject", "allocatable", "expected"),
    [
        ("1Mi", pod({"name": "a"}), {}, 1 << 20),
        (None, pod(LIMITED), {"memory": "8Gi"}, 1 << 30),
        (None, pod(LIMITED, {"name": "b"}), {"memory": "8Gi"}, 8 << 30),
        ("2Gi", pod(LIMITED), {}, 1 << 30),
        (None, pod({"name": "a"}), {}, None),
    ],
)
def test_memory_volume_has_the_smallest_limit(
    size: str | None, subject: Pod, allocatable: dict[str, str], expected: int | None
) -> None:
    source = EmptyDirVolumeSource(medium="Memory", size_limit=size)
    assert tmpfs_size(source, subject, VolumeFacts(allocatable=allocatable)) == expected
