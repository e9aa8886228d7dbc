"""A container's environment: expansion, references, and the services' variables."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import ConfigMap, Container, Pod, ResourceFieldSelector, Secret, Service
from podling.api.meta_v1 import ObjectMeta
from podling.kubelet.containers.env import EnvFacts, environment
from podling.kubelet.containers.env_file import parse_env_file
from podling.kubelet.containers.service_links import service_variables
from podling.kubelet.downward import resource_value
from podling.kubelet.expansion import expand, unresolved
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


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("$(A)", "1"),
        ("$(A)$(B)", "12"),
        ("$(MISSING)", "$(MISSING)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$A ${A}", "$A ${A}"),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("cost: 5$", "cost: 5$"),
        ("$$", "$"),
    ],
)
def test_expansion(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}, {"B": "2", "A": "shadowed"}) == expanded


def test_unresolved_names() -> None:
    assert unresolved("$(A)/$(B)/$$(C)", {"A": "1"}) == ("B",)


async def variables(
    cluster: ControlPlane, env: list[dict[str, Any]], env_from: tuple[dict[str, Any], ...] = (), **facts: Any
) -> dict[str, str]:
    plain = {**msgspec.to_builtins(POD.spec.containers[0]), "env": env, "envFrom": env_from}
    container = msgspec.convert(plain, Container)
    return await environment(POD, container, References(cluster.client), EnvFacts(**facts))


async def test_values_may_use_those_before_them(cluster: ControlPlane) -> None:
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
async def test_fields(cluster: ControlPlane, path: str, value: str) -> None:
    env = [{"name": "F", "valueFrom": {"fieldRef": {"fieldPath": path}}}]
    found = await variables(cluster, env, pod_ips=("10.0.0.1", "fd00::1"), host_ips=("192.168.0.1",))
    assert found == {"F": value}


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
async def test_resources(cluster: ControlPlane, resource: str, divisor: str, value: str) -> None:
    ref = {"resource": resource, "divisor": divisor}
    env = [{"name": "R", "valueFrom": {"resourceFieldRef": ref}}]
    assert await variables(cluster, env, allocatable={"ephemeral-storage": "1000"}) == {"R": value}


@pytest.mark.parametrize(("resource", "value"), [("limits.cpu", "4"), ("limits.memory", "8589934592")])
def test_container_without_limits_shows_what_the_node_can_give(resource: str, value: str) -> None:
    allocatable = {"cpu": "4", "memory": "8Gi"}
    selector = ResourceFieldSelector(resource=resource)
    assert resource_value(Container(name="app"), selector, allocatable) == value


async def test_whole_maps_come_with_a_prefix_and_give_way_to_single_values(cluster: ControlPlane) -> None:
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
async def test_missing_references(cluster: ControlPlane, source: dict[str, Any], message: str) -> None:
    with pytest.raises(MissingReference, match=message):
        await variables(cluster, [{"name": "X", "valueFrom": source}])


def test_env_files() -> None:
    assert parse_env_file("# note\nA=1\n\nB = 'two words'\nC=a=b\n") == {
        "A": "1",
        "B": "two words",
        "C": "a=b",
    }
    with pytest.raises(ValueError, match="line 2"):
        parse_env_file("A=1\nnonsense\n")


SERVICES = msgspec.convert(
    [
        {
            "metadata": {"name": "kubernetes", "namespace": "default"},
            "spec": {"clusterIP": "10.96.0.1", "ports": [{"name": "https", "port": 443}]},
        },
        {
            "metadata": {"name": "my-db", "namespace": "default"},
            "spec": {"clusterIP": "10.96.0.7", "ports": [{"port": 5432}]},
        },
        {"metadata": {"name": "headless", "namespace": "default"}, "spec": {"clusterIP": "None"}},
        {
            "metadata": {"name": "far", "namespace": "other"},
            "spec": {"clusterIP": "10.96.0.8", "ports": [{"port": 80}]},
        },
    ],
    tuple[Service, ...],
)


def test_services_are_told_in_variables() -> None:
    found = service_variables(POD, SERVICES)
    assert found["MY_DB_SERVICE_HOST"] == "10.96.0.7"
    assert found["MY_DB_PORT_5432_TCP"] == "tcp://10.96.0.7:5432"
    assert found["KUBERNETES_SERVICE_PORT_HTTPS"] == "443"
    assert not any(name.startswith(("HEADLESS", "FAR")) for name in found)


def test_without_service_links_only_the_api_server_is_told() -> None:
    spec = msgspec.structs.replace(POD.spec, enable_service_links=False)
    found = service_variables(msgspec.structs.replace(POD, spec=spec), SERVICES)
    assert {name.split("_")[0] for name in found} == {"KUBERNETES"}
