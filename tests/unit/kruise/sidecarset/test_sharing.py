"""Parts of a pod's containers that sidecars share, and the names of canaries.

Cases: ``TestGetSidecarTransferEnvs``, ``TestExtractContainerNameFromFieldPath``,
``TestGetInjectedVolumeDevices`` and ``TestIsCanarySidecarSet`` of ``pkg/control/sidecarcontrol``.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Pod
from podling.machinery.encoding import codec
from podling_kruise.sidecarset.pod_injection import base_of_canary
from podling_kruise.sidecarset.sharing import injected_container, transferred
from podling_kruise.sidecarset.types import SidecarContainer, SidecarSet
from tests.support.sidecar_sets import sidecar_set


def sidecar(**fields: Any) -> SidecarContainer:
    return codec.from_plain(
        sidecar_set(containers=[{"name": "agent", **fields}]), SidecarSet
    ).spec.containers[0]


def pod(*containers: dict[str, Any], **metadata: Any) -> Pod:
    return msgspec.convert({"metadata": metadata, "spec": {"containers": list(containers)}}, Pod)


ENV = [{"name": "one", "value": "1"}, {"name": "two", "value": "2"}]
MAIN = {"name": "main", "env": ENV}


def from_field(path: str, **more: Any) -> dict[str, Any]:
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}
    return {"sourceContainerNameFrom": source, "envName": "one", **more}


@pytest.mark.parametrize(
    ("transfer", "metadata", "found"),
    [
        ({"sourceContainerName": "main", "envName": "one"}, {}, ["1"]),
        ({"sourceContainerName": "main", "envNames": ["two", "one"]}, {}, ["1", "2"]),
        ({"sourceContainerName": "main", "envName": "none"}, {}, []),
        ({"sourceContainerName": "other", "envName": "one"}, {}, []),
        (from_field("metadata.labels['app']"), {"labels": {"app": "main"}}, ["1"]),
        (from_field("metadata.labels['app']"), {}, []),
        (from_field("metadata.annotations['app']"), {"annotations": {"app": "main"}}, ["1"]),
        (from_field("metadata.annotations['app']"), {"labels": {"app": "main"}}, []),
        (from_field("metadata.name"), {"name": "main"}, []),
    ],
)
def test_variables_of_a_named_container_are_taken_over(
    transfer: dict[str, Any], metadata: dict[str, Any], found: list[str]
) -> None:
    variables = transferred(sidecar(transferEnv=[transfer]), pod(MAIN, **metadata))
    assert [each.value for each in variables] == found


def with_device(number: int, *, injected: bool = False) -> dict[str, Any]:
    env = [{"name": "IS_INJECTED", "value": "true"}] if injected else []
    device = {"name": f"vd-{number}", "devicePath": f"/data/volume-{number}"}
    return {"name": f"c{number}", "env": env, "volumeDevices": [device]}


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        ({}, []),
        ({"shareVolumeDevicePolicy": {"type": "disabled"}}, []),
        ({"shareVolumeDevicePolicy": {"type": "enabled"}}, ["vd-1", "vd-2"]),
    ],
)
def test_devices_of_containers_that_are_no_sidecars_are_shared(
    policy: dict[str, Any], found: list[str]
) -> None:
    made = injected_container(
        sidecar(**policy), pod(with_device(1), with_device(2), with_device(3, injected=True))
    )
    assert [each.name for each in made.volume_devices] == found


MOUNT = {"name": "data", "mountPath": "/data"}
DEVICE = {"name": "data", "devicePath": "/data"}
SHARES = {"shareVolumePolicy": {"type": "enabled"}, "shareVolumeDevicePolicy": {"type": "enabled"}}


@pytest.mark.parametrize(
    ("own", "parts", "mounts", "devices"),
    [
        ({}, {"volumeMounts": [MOUNT]}, 1, 0),
        ({}, {"volumeDevices": [DEVICE]}, 0, 1),
        ({"volumeDevices": [DEVICE]}, {"volumeMounts": [MOUNT]}, 0, 1),
        ({"volumeMounts": [MOUNT]}, {"volumeDevices": [DEVICE]}, 1, 0),
    ],
)
def test_path_is_taken_once(own: dict[str, Any], parts: dict[str, Any], mounts: int, devices: int) -> None:
    made = injected_container(sidecar(**SHARES, **own), pod({**MAIN, **parts}))
    assert (len(made.volume_mounts), len(made.volume_devices)) == (mounts, devices)


CANARY, BASE = "apps.kruise.io/sidecarset-canary", "apps.kruise.io/sidecarset-base"


@pytest.mark.parametrize(
    ("annotations", "base"),
    [
        ({CANARY: "true", BASE: "first"}, "first"),
        ({CANARY: "true", BASE: ""}, ""),
        ({CANARY: "false", BASE: "first"}, ""),
        ({CANARY: "1", BASE: "first"}, ""),
        ({CANARY: "TRUE", BASE: "first"}, ""),
        ({CANARY: "true"}, ""),
        ({BASE: "first"}, ""),
        ({}, ""),
    ],
)
def test_canary_has_both_annotations(annotations: dict[str, str], base: str) -> None:
    plain = sidecar_set()
    plain["metadata"]["annotations"] = annotations
    assert base_of_canary(codec.from_plain(plain, SidecarSet)) == base
