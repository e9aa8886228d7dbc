"""NodeRestriction: a kubelet writes its own Node and the pods bound to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import structs

from podling.api.authentication_v1 import BoundObjectReference, TokenRequest, TokenRequestSpec
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import (
    Container,
    Node,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    ServiceAccount,
    Taint,
)
from podling.api.meta_v1 import ObjectMeta
from podling.api.resource_v1 import ResourceSlice
from podling.api.storage_v1 import CSINode
from podling.client.local import LocalClient
from podling.client.requests import SYSTEM
from podling.machinery.errors import ApiError
from tests.support.manifests import PLAIN_POD, obj


async def test_kubelet_writes_its_own_objects(kubelet: LocalClient) -> None:
    await kubelet.patch(Node, "n1", {"status": {"phase": "Running"}}, subresource="status")
    await kubelet.patch(Node, "n1", {"metadata": {"labels": {"a": "b"}}})
    await kubelet.patch(Pod, "on-n1", {"status": {"phase": "Running"}}, "default", subresource="status")
    await kubelet.create(Lease(metadata=ObjectMeta(name="n1", namespace="kube-node-lease")))
    pod = await kubelet.get(Pod, "on-n1", "default")
    ref = BoundObjectReference(api_version="v1", kind="Pod", name="on-n1", uid=pod.metadata.uid)
    request = TokenRequest(spec=TokenRequestSpec(bound_object_ref=ref))
    await kubelet.create_subresource(ServiceAccount, "default", "token", request, "default")
    await kubelet.delete(Pod, "on-n1", "default", grace_seconds=0)


async def taint_itself(kubelet: LocalClient) -> None:
    node = await kubelet.get(Node, "n1")
    taints = (Taint(key="a", effect="NoSchedule"),)
    await kubelet.update(structs.replace(node, spec=structs.replace(node.spec, taints=taints)))


async def token_for_another(kubelet: LocalClient) -> None:
    pod = await kubelet.acting_as(SYSTEM).get(Pod, "on-n2", "default")
    ref = BoundObjectReference(api_version="v1", kind="Pod", name="on-n2", uid=pod.metadata.uid)
    request = TokenRequest(spec=TokenRequestSpec(bound_object_ref=ref))
    await kubelet.create_subresource(ServiceAccount, "default", "token", request, "default")


async def an_ordinary_pod(kubelet: LocalClient) -> None:
    spec = PodSpec(node_name="n1", containers=(Container(name="c", image="i"),))
    await kubelet.create(Pod(metadata=ObjectMeta(name="p", namespace="default"), spec=spec))


def labelled(key: str) -> dict[str, Any]:
    return {"metadata": {"labels": {key: "x"}}}


async def test_labels_that_a_kubelet_gives_its_node(kubelet: LocalClient) -> None:
    for key in ("topology.kubernetes.io/zone", "rack.node.kubernetes.io/row", "example.com/a"):
        await kubelet.patch(Node, "n1", labelled(key))


async def grow_a_claim(kubelet: LocalClient, status: dict[str, Any]) -> None:
    text = "metadata: {name: c, namespace: default}\nspec: {accessModes: [ReadWriteOnce], "
    claim = obj(PersistentVolumeClaim, text + "resources: {requests: {storage: 1Gi}}}")
    await kubelet.acting_as(SYSTEM).create(claim)
    volumes = "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]"
    user = obj(Pod, f"metadata: {{name: u}}\nspec: {{nodeName: n1, {volumes}}}", PLAIN_POD)
    await kubelet.acting_as(SYSTEM).create(user)
    await kubelet.patch(PersistentVolumeClaim, "c", {"status": status}, "default", subresource="status")


async def test_kubelet_updates_the_status_of_a_resized_claim(kubelet: LocalClient) -> None:
    await grow_a_claim(kubelet, {"capacity": {"storage": "2Gi"}})


RUNNING = {"status": {"phase": "Running"}}
OTHER_NODE = {"apiVersion": "v1", "kind": "Node", "name": "n2", "uid": "gone"}
SLICE = """
metadata: {name: s}
spec: {driver: example.com, nodeName: n2, pool: {name: p, generation: 1, resourceSliceCount: 1}}
"""


@pytest.mark.parametrize(
    ("attempt", "why"),
    [
        pytest.param(
            lambda kubelet: kubelet.patch(Node, "n2", RUNNING, subresource="status"),
            'node "n1" is not allowed to modify node "n2"',
            id="another node",
        ),
        pytest.param(taint_itself, 'node "n1" is not allowed to modify taints', id="its taints"),
        pytest.param(
            lambda kubelet: kubelet.patch(Pod, "on-n2", RUNNING, "default", subresource="status"),
            'node "n1" can only update pod status for pods with spec.nodeName set to itself',
            id="another node's pod",
        ),
        pytest.param(
            lambda kubelet: kubelet.delete(Pod, "on-n2", "default"),
            'node "n1" can only delete pods with spec.nodeName set to itself',
            id="deleting another node's pod",
        ),
        pytest.param(
            lambda kubelet: kubelet.create(
                Lease(metadata=ObjectMeta(name="n2", namespace="kube-node-lease"))
            ),
            "can only access node lease with the same name as the requesting node",
            id="another node's lease",
        ),
        pytest.param(
            lambda kubelet: kubelet.patch(Node, "n1", labelled("node-role.kubernetes.io/master")),
            'nodes "n1" is forbidden: is not allowed to modify labels: node-role.kubernetes.io/master',
            id="a role",
        ),
        pytest.param(
            lambda kubelet: kubelet.create(
                Node(metadata=ObjectMeta(name="n1", labels={"node-restriction.kubernetes.io/a": "b"}))
            ),
            'node "n1" is not allowed to set the following labels: node-restriction.kubernetes.io/a',
            id="labels that steer",
        ),
        pytest.param(
            lambda kubelet: kubelet.patch(Node, "n1", {"metadata": {"ownerReferences": [OTHER_NODE]}}),
            'node "n1" is not allowed to modify ownerReferences',
            id="an owner, to be deleted with",
        ),
        pytest.param(
            lambda kubelet: kubelet.patch(Pod, "on-n1", labelled("a"), "default", subresource="status"),
            'node "n1" cannot update labels through pod status',
            id="labels of a pod",
        ),
        pytest.param(
            lambda kubelet: grow_a_claim(kubelet, {"phase": "Lost"}),
            'node "n1" is not allowed to update fields other than status.quantity and status.conditions: ',
            id="a claim's phase",
        ),
        pytest.param(
            lambda kubelet: kubelet.create(Lease(metadata=ObjectMeta(name="n1", namespace="default"))),
            'can only access leases in the "kube-node-lease" system namespace',
            id="a lease elsewhere",
        ),
        pytest.param(
            lambda kubelet: kubelet.create(CSINode(metadata=ObjectMeta(name="n2"))),
            "can only access CSINode with the same name as the requesting node",
            id="another node's drivers",
        ),
        pytest.param(
            lambda kubelet: kubelet.create(obj(ResourceSlice, SLICE)),
            "can only create ResourceSlice with the same NodeName as the requesting node",
            id="another node's devices",
        ),
        pytest.param(
            token_for_another,
            "node requested token bound to a pod scheduled on a different node",
            id="a token of another node's pod",
        ),
        pytest.param(
            an_ordinary_pod,
            'does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
            id="a pod of its own making",
        ),
    ],
)
async def test_kubelet_may_not_write_other_objects(
    kubelet: LocalClient, attempt: Callable[[LocalClient], Awaitable[object]], why: str
) -> None:
    with pytest.raises(ApiError) as error:
        await attempt(kubelet)
    assert error.value.code == 403
    assert why in str(error.value)
