"""Zero values in requests: dropped where Go's types omit them, in every format of the request."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.json import decode

from podling.api.apps_v1 import Deployment, ReplicaSet
from podling.api.core_v1 import Node, Pod
from podling.api.meta_v1 import ObjectMeta
from podling.api.rbac_v1 import Role
from podling.client.base import PatchType
from podling.client.requests import SYSTEM, Target, WriteOptions
from podling.controllers.workloads.deployment import DeploymentController
from podling.machinery.encoding import codec
from podling.machinery.patches import fieldsets
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane
from tests.support.control_loops import running
from tests.support.custom_resources import definition, widget
from tests.support.workloads import deployment

NOTHING_NEW: list[tuple[PatchType, Any]] = [
    (
        PatchType.STRATEGIC,
        {"hostNetwork": False, "hostname": "", "containers": [{"name": "main", "tty": False}]},
    ),
    (PatchType.MERGE, {"hostPID": False, "nodeName": "", "volumes": [], "nodeSelector": {}}),
    (PatchType.JSON, [{"op": "add", "path": "/spec/template/spec/hostIPC", "value": False}]),
]


def patch_of(type_: PatchType, spec: Any) -> Any:
    return spec if type_ is PatchType.JSON else {"spec": {"paused": False, "template": {"spec": spec}}}


@pytest.mark.parametrize(("type_", "spec"), NOTHING_NEW, ids=lambda each: getattr(each, "name", ""))
async def test_patch_with_zeros_starts_no_rollout(cluster: ControlPlane, type_: PatchType, spec: Any) -> None:
    async with running(cluster.client, DeploymentController):
        await cluster.client.create(deployment())
        await cluster.advance(seconds=1)
        before = await cluster.client.get(Deployment, "web", "default")
        names = [each.metadata.name for each in (await cluster.client.list(ReplicaSet, "default")).items]
        after = await cluster.client.patch(
            Deployment, "web", patch_of(type_, spec), "default", patch_type=type_
        )
        await cluster.advance(seconds=5)
        assert len(names) == 1
        assert [
            each.metadata.name for each in (await cluster.client.list(ReplicaSet, "default")).items
        ] == names
    assert after.metadata.resource_version == before.metadata.resource_version
    assert after.metadata.generation == before.metadata.generation


def apply_body(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "a", "image": "i", "tty": False}], **spec},
    }


async def apply(cluster: ControlPlane, body: Any) -> Pod:
    return await cluster.client.patch(
        Pod, "web", body, "default", patch_type=PatchType.APPLY, field_manager="me"
    )


def owned(pod: Pod, manager: str) -> set[str]:
    (entry,) = [each for each in pod.metadata.managed_fields if each.manager == manager]
    return {fieldsets.text_of(path) for path in fieldsets.decode(decode(entry.fields_v1))}


async def test_applied_zeros_are_owned_but_not_stored(cluster: ControlPlane) -> None:
    made = await apply(cluster, apply_body(hostNetwork=False))
    assert {".spec.hostNetwork", '.spec.containers[name="a"].tty'} <= owned(made, "me")
    assert "hostNetwork" not in codec.to_plain(made)["spec"]
    assert "tty" not in codec.to_plain(made)["spec"]["containers"][0]
    await cluster.advance(seconds=5)
    again = await apply(cluster, apply_body(hostNetwork=False))
    assert again.metadata.resource_version == made.metadata.resource_version
    released = await apply(cluster, apply_body())
    assert ".spec.hostNetwork" not in owned(released, "me")


async def test_created_zeros_have_no_manager(cluster: ControlPlane) -> None:
    body = apply_body(hostNetwork=False, terminationGracePeriodSeconds=0)
    pod, options = codec.convert(body, Pod)[0], WriteOptions(field_manager="me")
    made = await cluster.backend.create(Target(resource_of(Pod), "default"), SYSTEM, pod, options)
    assert ".spec.hostNetwork" not in owned(made, "me")
    assert ".spec.terminationGracePeriodSeconds" in owned(made, "me")
    assert made.spec.termination_grace_period_seconds == 0


async def test_uncordon_leaves_no_zero_behind(cluster: ControlPlane) -> None:
    await cluster.client.create(Node(metadata=ObjectMeta(name="n")))
    await cluster.client.patch(Node, "n", {"spec": {"unschedulable": True}})
    free = await cluster.client.patch(Node, "n", {"spec": {"unschedulable": False}})
    assert "unschedulable" not in codec.to_plain(free)["spec"]


async def test_empty_environment_value_is_answered_without_value(cluster: ControlPlane) -> None:
    body = apply_body()
    body["spec"]["containers"][0]["env"] = [{"name": "A", "value": ""}]
    made = await cluster.client.create(codec.convert(body, Pod)[0], namespace="default")
    (held,) = codec.to_plain(made)["spec"]["containers"][0]["env"]
    assert held == {"name": "A"}


async def test_role_without_rules_is_stored_with_null(cluster: ControlPlane) -> None:
    for name, rules in (("a", None), ("b", [])):
        body: dict[str, Any] = {"metadata": {"name": name, "namespace": "default"}, "rules": rules}
        await cluster.client.create(codec.convert(body, Role)[0])
        held = await cluster.client.get(Role, name, "default")
        assert held.rules == ()
        assert codec.to_plain(held)["rules"] is None


async def test_null_times_of_a_status_are_owned_by_their_writer(cluster: ControlPlane) -> None:
    await apply(cluster, apply_body())
    said = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    pod = await cluster.client.patch(Pod, "web", said, "default", subresource="status", field_manager="node")
    assert '.status.conditions[type="Ready"].lastProbeTime' in owned(pod, "node")


async def test_custom_objects_and_defaults_of_schemas_keep_their_zeros(cluster: ControlPlane) -> None:
    """Go has no type for them: they are kept as they were sent."""
    default = {"type": "boolean", "default": False, "description": "", "nullable": False}
    inner = {"type": "object", "properties": {"flag": default}, "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": inner}}
    made = await cluster.client.create(definition(schema))
    (version,) = codec.to_plain(made)["spec"]["versions"]
    held = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["flag"]
    assert held == {"type": "boolean", "default": False}
    await cluster.advance(seconds=5)
    found = cluster.server.catalogue.by_path("example.com", "v1", "widgets")
    assert found is not None
    spec = {"hostNetwork": False, "name": "", "count": 0, "list": [], "map": {}, "flag": False}
    stored = await cluster.client.create(widget(found.type, spec=spec))
    assert stored.content["spec"] == spec
