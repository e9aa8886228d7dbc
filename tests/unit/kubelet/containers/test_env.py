"""A container's environment variables: values, references and whole maps."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ConfigMap, Container, Pod, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.containers.env import EnvFacts, environment
from podling.kubelet.failures import MissingReference
from podling.kubelet.references import References
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


async def test_values_may_use_earlier_variables(cluster: ControlPlane) -> None:
    env = [{"name": "A", "value": "a"}, {"name": "B", "value": "$(A)b$(C)"}, {"name": "C", "value": "c"}]
    assert await variables(cluster, env) == {"A": "a", "B": "ab$(C)", "C": "c"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "default"),
        ("metadata.uid", "u-1"),
        ("metadata.labels['tier']", "front"),
        ("metadata.annotations['example.com/team']", "blue"),
        ("metadata.annotations['none']", ""),
        ("spec.nodeName", "node-1"),
        ("spec.serviceAccountName", "robot"),
        ("status.podIP", "10.0.0.1"),
        ("status.podIPs", "10.0.0.1,fd00::1"),
        ("status.hostIP", "192.168.0.1"),
    ],
)
async def test_field_refs_give_pod_fields(cluster: ControlPlane, path: str, value: str) -> None:
    env = [{"name": "F", "valueFrom": {"fieldRef": {"fieldPath": path}}}]
    found = await variables(cluster, env, pod_ips=("10.0.0.1", "fd00::1"), host_ips=("192.168.0.1",))
    assert found == {"F": value}


async def test_env_from_gives_way_to_env(cluster: ControlPlane) -> None:
    metadata = ObjectMeta(name="settings", namespace="default")
    await cluster.client.create(ConfigMap(metadata=metadata, data={"a": "1", "b": "2"}))
    data = {"pw": base64.b64encode(b"hush").decode()}
    await cluster.client.create(Secret(metadata=metadata, data=data))
    sources = (
        {"prefix": "CM_", "configMapRef": {"name": "settings"}},
        {"secretRef": {"name": "settings"}},
        {"configMapRef": {"name": "absent", "optional": True}},
    )
    env: list[dict[str, Any]] = [
        {"name": "CM_a", "value": "mine"},
        {"name": "ONE", "valueFrom": {"secretKeyRef": {"name": "settings", "key": "pw"}}},
        {"name": "NONE", "valueFrom": {"secretKeyRef": {"name": "x", "key": "k", "optional": True}}},
    ]
    assert await variables(cluster, env, sources) == {
        "CM_a": "mine",
        "CM_b": "2",
        "pw": "hush",
        "ONE": "hush",
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMapKeyRef": {"name": "cm", "key": "k"}}, 'configmap "cm" not found'),
        ({"secretKeyRef": {"name": "s", "key": "k"}}, 'secret "s" not found'),
    ],
)
async def test_missing_reference_fails_the_container(
    cluster: ControlPlane, source: dict[str, Any], message: str
) -> None:
    with pytest.raises(MissingReference, match=message):
        await variables(cluster, [{"name": "X", "valueFrom": source}])
