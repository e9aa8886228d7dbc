"""Documented rules about the fields of pods, through the whole API server."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest

from podling.api.core_v1 import Binding, ObjectReference, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import PatchType
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane

Plain = dict[str, Any]
PROBE = {"tcpSocket": {"port": 1}}
NEVER_IN_INIT = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
NEVER_IN_EPHEMERAL = ("ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resources")
VALUES: Plain = {
    "lifecycle": {"postStart": {"exec": {"command": ["true"]}}},
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "startupProbe": PROBE,
    "ports": [{"containerPort": 80}],
    "resources": {"limits": {"cpu": "1"}},
}


def pod(name: str = "web", metadata: Plain | None = None, **spec: Any) -> Pod:
    containers = [{"name": "app", "image": "app:1"}]
    plain = {
        "metadata": {"name": name, "namespace": "default", **(metadata or {})},
        "spec": {"containers": containers, "automountServiceAccountToken": False, **spec},
    }
    return msgspec.convert(plain, Pod)


async def refusal(call: Any) -> str:
    with pytest.raises(ApiError) as error:
        await call
    return str(error.value)


@pytest.mark.parametrize("field", NEVER_IN_INIT)
async def test_only_sidecar_among_init_containers_has_hooks_and_probes(
    cluster: ControlPlane, field: str
) -> None:
    init = {"name": "setup", "image": "app:1", field: VALUES[field]}
    told = await refusal(cluster.client.create(pod(initContainers=[init])))
    assert f"spec.initContainers[0].{field}" in told
    await cluster.client.create(pod(initContainers=[{**init, "restartPolicy": "Always"}]))


@pytest.mark.parametrize("field", NEVER_IN_EPHEMERAL)
async def test_ephemeral_container_has_no_ports_probes_or_resources(
    cluster: ControlPlane, field: str
) -> None:
    await cluster.client.create(pod())
    debugger = {"name": "debugger", "image": "app:1"}

    def add(more: Plain) -> Any:
        change = {"spec": {"ephemeralContainers": [{**debugger, **more}]}}
        return cluster.client.patch(
            Pod, "web", change, "default", patch_type=PatchType.STRATEGIC, subresource="ephemeralcontainers"
        )

    assert f"spec.ephemeralContainers[0].{field}" in await refusal(add({field: VALUES[field]}))
    found = await add({})
    assert [each.name for each in found.spec.ephemeral_containers] == ["debugger"]


async def test_ephemeral_container_is_added_by_its_subresource_only(cluster: ControlPlane) -> None:
    await cluster.client.create(pod())
    change = {"spec": {"ephemeralContainers": [{"name": "debugger", "image": "app:1"}]}}
    told = await refusal(cluster.client.patch(Pod, "web", change, "default", patch_type=PatchType.STRATEGIC))
    assert "pod updates may not change fields other than" in told


@pytest.mark.parametrize("field", ["name", "namespace", "uid", "creationTimestamp"])
async def test_identity_of_pod_never_changes(cluster: ControlPlane, field: str) -> None:
    """The update is refused, or the field keeps its value."""
    before = await cluster.client.create(pod())
    change = {"metadata": {field: "2020-01-01T00:00:00Z" if field == "creationTimestamp" else "other"}}
    with suppress(ApiError):
        await cluster.client.patch(Pod, "web", change, "default")
    after, kept = (await cluster.client.get(Pod, "web", "default")).metadata, before.metadata
    assert (after.name, after.namespace, after.uid) == (kept.name, kept.namespace, kept.uid)
    assert after.creation_timestamp == kept.creation_timestamp


async def test_generation_of_pod_only_grows(cluster: ControlPlane) -> None:
    await cluster.client.create(pod())
    generations = []
    for change in (
        {"metadata": {"generation": 0, "labels": {"a": "b"}}},
        {"spec": {"activeDeadlineSeconds": 60}},
        {"metadata": {"generation": 99}, "spec": {"activeDeadlineSeconds": 30}},
    ):
        found = await cluster.client.patch(Pod, "web", change, "default")
        generations.append(found.metadata.generation)
    assert generations == [1, 2, 3]


async def test_deleted_pod_takes_no_new_finalizers(cluster: ControlPlane) -> None:
    await cluster.client.create(pod(metadata={"finalizers": ["example.com/one"]}))
    await cluster.client.delete(Pod, "web", "default")
    more = {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}}
    told = await refusal(cluster.client.patch(Pod, "web", more, "default"))
    assert "no new finalizers can be added if the object is being deleted" in told
    assert "example.com/two" in told


async def test_pod_is_bound_only_once(cluster: ControlPlane) -> None:
    await cluster.client.create(pod())

    def bind(node: str) -> Any:
        target = ObjectReference(kind="Node", name=node)
        binding = Binding(metadata=ObjectMeta(name="web", namespace="default"), target=target)
        return cluster.client.create_subresource(Pod, "web", "binding", binding, "default")

    await bind("node-1")
    assert 'pod web is already assigned to node "node-1"' in await refusal(bind("node-2"))
    await refusal(cluster.client.patch(Pod, "web", {"spec": {"nodeName": "node-2"}}, "default"))
    assert (await cluster.client.get(Pod, "web", "default")).spec.node_name == "node-1"


@pytest.mark.parametrize(("field", "by"), [("uid", "UID"), ("resource_version", "ResourceVersion")])
async def test_binding_may_name_uid_or_resource_version(cluster: ControlPlane, field: str, by: str) -> None:
    made = await cluster.client.create(pod())
    metadata = msgspec.structs.replace(ObjectMeta(name="web", namespace="default"), **{field: "1"})
    binding = Binding(metadata=metadata, target=ObjectReference(kind="Node", name="node-1"))
    told = await refusal(cluster.client.create_subresource(Pod, "web", "binding", binding, "default"))
    assert told == (
        'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, '
        "Key: /registry/pods/default/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        f"{by} in precondition: 1, {by} in object meta: {getattr(made.metadata, field)}"
    )


async def test_name_of_pod_is_a_dns_subdomain(cluster: ControlPlane) -> None:
    await cluster.client.create(pod("web.example-1"))
    for name in ("Web", "web_1", "-web", "web."):
        assert "a lowercase RFC 1123 subdomain" in await refusal(cluster.client.create(pod(name)))


async def test_readiness_gate_is_named_like_a_label(cluster: ControlPlane) -> None:
    gate = {"conditionType": "www.example.com/feature-1"}
    await cluster.client.create(pod(readinessGates=[gate]))
    told = await refusal(cluster.client.create(pod("other", readinessGates=[{"conditionType": "no such!"}])))
    assert "spec.readinessGates[0].conditionType" in told


async def test_grpc_probe_needs_a_port_number(cluster: ControlPlane) -> None:
    def probed(handler: Plain) -> Pod:
        app = {"name": "app", "image": "app:1", "ports": [{"name": "health", "containerPort": 80}]}
        return pod(containers=[{**app, "livenessProbe": handler}])

    await cluster.client.create(probed({"httpGet": {"port": "health"}}))
    with pytest.raises(msgspec.ValidationError):
        probed({"grpc": {"port": "health"}})


async def test_probe_has_exactly_one_handler(cluster: ControlPlane) -> None:
    def probed(handler: Plain) -> Pod:
        return pod(containers=[{"name": "app", "image": "app:1", "livenessProbe": handler}])

    assert "must specify a handler type" in await refusal(cluster.client.create(probed({"periodSeconds": 5})))
    both = {"exec": {"command": ["true"]}, **PROBE}
    assert "may not specify more than 1 handler type" in await refusal(cluster.client.create(probed(both)))
    for one in ({"exec": {"command": ["true"]}}, PROBE, {"httpGet": {"port": 80}}, {"grpc": {"port": 80}}):
        await cluster.client.create(probed(one), dry_run=True)
