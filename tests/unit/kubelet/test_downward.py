"""Resource fields of the downward API, as a table."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Container, DownwardAPIVolumeFile, Pod, ResourceFieldSelector
from podling.kubelet.containers.env import EnvFacts, environment
from podling.kubelet.downward import resource_value
from podling.kubelet.references import References
from podling.kubelet.volumes.base import VolumeFacts
from podling.kubelet.volumes.payloads import downward_files
from podling.testing import ControlPlane

POD = msgspec.convert(
    {
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": "u-1",
            "labels": {"tier": "front"},
            "annotations": {"example.com/team": "blue"},
        },
        "spec": {
            "nodeName": "node-1",
            "serviceAccountName": "robot",
            "containers": [
                {
                    "name": "app",
                    "resources": {
                        "limits": {"cpu": "1500m", "memory": "64Mi", "hugepages-2Mi": "4Mi"},
                        "requests": {"cpu": "250m", "hugepages-2Mi": "4Mi", "ephemeral-storage": "1Gi"},
                    },
                }
            ],
        },
    },
    Pod,
)


async def variables(
    cluster: ControlPlane, env: list[dict[str, Any]], env_from: tuple[dict[str, Any], ...] = (), **facts: Any
) -> dict[str, str]:
    plain = {**msgspec.to_builtins(POD.spec.containers[0]), "env": env, "envFrom": env_from}
    container = msgspec.convert(plain, Container)
    return await environment(POD, container, References(cluster.client), EnvFacts(**facts))


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        ("limits.cpu", "1", "2"),
        ("limits.cpu", "1m", "1500"),
        ("limits.memory", "1Mi", "64"),
        ("limits.memory", "1Gi", "1"),
        ("requests.cpu", "1m", "250"),
        ("requests.memory", "1", "0"),
        ("requests.ephemeral-storage", "1Mi", "1024"),
        ("limits.ephemeral-storage", "1", "1000"),
        ("limits.hugepages-2Mi", "1Mi", "4"),
        ("requests.hugepages-2Mi", "1Mi", "4"),
    ],
)
async def test_resource_fields_are_divided_and_rounded_up(
    cluster: ControlPlane, resource: str, divisor: str, value: str
) -> None:
    ref = {"resource": resource, "divisor": divisor}
    env = [{"name": "R", "valueFrom": {"resourceFieldRef": ref}}]
    assert await variables(cluster, env, allocatable={"ephemeral-storage": "1000"}) == {"R": value}


@pytest.mark.parametrize(("resource", "value"), [("limits.cpu", "4"), ("limits.memory", "8589934592")])
def test_missing_limit_is_the_allocatable_amount(resource: str, value: str) -> None:
    allocatable = {"cpu": "4", "memory": "8Gi"}
    selector = ResourceFieldSelector(resource=resource)
    assert resource_value(POD, Container(name="app"), selector, allocatable) == value


WHOLE = {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "8Mi"}
ALLOCATABLE = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "1Gi", "hugepages-2Mi": "64Mi"}


@pytest.mark.parametrize(
    ("own", "whole", "resource", "value"),
    [
        ({}, WHOLE, "limits.cpu", "2"),
        ({}, WHOLE, "limits.memory", str(1 << 30)),
        ({}, WHOLE, "limits.ephemeral-storage", str(1 << 30)),
        ({"cpu": "0", "memory": "0"}, WHOLE, "limits.cpu", "2"),
        ({"cpu": "1"}, WHOLE, "limits.cpu", "1"),
        ({"cpu": "1"}, WHOLE, "limits.memory", str(1 << 30)),
        ({}, {"cpu": "0"}, "limits.cpu", "4"),
        ({}, {"cpu": "2"}, "limits.memory", str(8 << 30)),
        ({}, WHOLE, "requests.cpu", "0"),
        ({}, WHOLE, "limits.hugepages-2Mi", "0"),
    ],
)
async def test_missing_limit_is_that_of_the_pod_as_a_whole(
    cluster: ControlPlane, own: dict[str, str], whole: dict[str, str], resource: str, value: str
) -> None:
    """In variables and files alike: the container's limit, the pod's, the node's allocatable amount."""
    ref = {"resource": resource, "containerName": "app"}
    env = [{"name": "R", "valueFrom": {"resourceFieldRef": ref}}]
    container = {"name": "app", "resources": {"limits": own}, "env": env}
    subject = msgspec.convert({"spec": {"containers": [container], "resources": {"limits": whole}}}, Pod)
    facts = EnvFacts(allocatable=ALLOCATABLE)
    found = await environment(subject, subject.spec.containers[0], References(cluster.client), facts)
    files = [msgspec.convert({"path": "r", "resourceFieldRef": ref}, DownwardAPIVolumeFile)]
    written = downward_files(subject, files, None, VolumeFacts((), ALLOCATABLE))
    assert (found["R"], written["r"].data.decode()) == (value, value)
