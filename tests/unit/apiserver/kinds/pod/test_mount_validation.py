"""Tests of the validation of volume mounts and devices."""

from __future__ import annotations

import pytest

from tests.support.causes import Cause, Row, invalid, required, unsupported
from tests.support.manifests import container, creation_causes, pod

C0 = "spec.containers[0]"
MOUNTS: list[Row] = [
    (
        container("volumeDevices: [{name: '', devicePath: ../a}]"),
        [
            required(f"{C0}.volumeDevices[0].name"),
            (f"{C0}.volumeDevices[0].name", "FieldValueNotFound", 'Not found: ""'),
            invalid(f"{C0}.volumeDevices[0].devicePath", '"../a"', "can not contain backsteps ('..')"),
        ],
    ),
    (
        "spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: main, image: x, "
        "volumeMounts: [{name: v, mountPath: /v, mountPropagation: '', recursiveReadOnly: ''}]}]}",
        [
            unsupported(
                f"{C0}.volumeMounts.mountPropagation", "", "Bidirectional", "HostToContainer", "None"
            ),
            unsupported(f"{C0}.volumeMounts.recursiveReadOnly", "", "Disabled", "Enabled", "IfPossible"),
        ],
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), MOUNTS)
def test_invalid_mount_or_device_is_refused_with_causes(manifest: str, expected: list[Cause]) -> None:
    assert creation_causes(pod(manifest)) == expected
