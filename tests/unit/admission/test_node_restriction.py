"""A kubelet changes what is its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from msgspec import structs

from podling.api.authentication_v1 import BoundObjectReference, TokenRequest, TokenRequestSpec
from podling.api.coordination_v1 import Lease
from podling.api.core_v1 import Binding, Container, Node, ObjectReference, Pod, PodSpec, ServiceAccount, Taint
from podling.api.meta_v1 import ObjectMeta
from podling.client.local import SYSTEM, LocalClient, User
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane

KUBELET = User("system:node:n1", ("system:nodes", "system:authenticated"))


@pytest.fixture
async def kubelet(cluster: ControlPlane) -> LocalClient:
    """Node ``n1``'s client, in a cluster of two nodes with a pod on each."""
    client = cluster.client
    await client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace="default")))
    for node in ("n1", "n2"):
        await client.create(Node(metadata=ObjectMeta(name=node)))
        metadata = ObjectMeta(name=f"on-{node}", namespace="default")
        spec = PodSpec(service_account_name="default", containers=(Container(name="c", image="i"),))
        await client.create(Pod(metadata=metadata, spec=spec))
        target = ObjectReference(kind="Node", name=node)
        binding = Binding(metadata=metadata, target=target)
        await client.create_subresource(Pod, f"on-{node}", "binding", binding, "default")
    return cluster.client_for(KUBELET)


async def test_its_own(kubelet: LocalClient) -> None:
    await kubelet.patch(Node, "n1", {"status": {"phase": "Running"}}, subresource="status")
    await kubelet.patch(Node, "n1", {"metadata": {"labels": {"a": "b"}}})
    await kubelet.patch(Pod, "on-n1", {"status": {"phase": "Running"}}, "default", subresource="status")
    await kubelet.create(Lease(metadata=ObjectMeta(name="n1", namespace="kube-node-lease")))
    pod = await kubelet.get(Pod, "on-n1", "default")
    ref = BoundObjectReference(kind="Pod", name="on-n1", uid=pod.metadata.uid)
    request = TokenRequest(spec=TokenRequestSpec(bound_object_ref=ref))
    await kubelet.create_subresource(ServiceAccount, "default", "token", request, "default")
    await kubelet.delete(Pod, "on-n1", "default", grace_seconds=0)


async def taint_itself(kubelet: LocalClient) -> None:
    node = await kubelet.get(Node, "n1")
    taints = (Taint(key="a", effect="NoSchedule"),)
    await kubelet.update(structs.replace(node, spec=structs.replace(node.spec, taints=taints)))


async def token_for_another(kubelet: LocalClient) -> None:
    pod = await kubelet.acting_as(SYSTEM).get(Pod, "on-n2", "default")
    ref = BoundObjectReference(kind="Pod", name="on-n2", uid=pod.metadata.uid)
    request = TokenRequest(spec=TokenRequestSpec(bound_object_ref=ref))
    await kubelet.create_subresource(ServiceAccount, "default", "token", request, "default")


async def an_ordinary_pod(kubelet: LocalClient) -> None:
    spec = PodSpec(node_name="n1", containers=(Container(name="c", image="i"),))
    await kubelet.create(Pod(metadata=ObjectMeta(name="p", namespace="default"), spec=spec))


RUNNING = {"status": {"phase": "Running"}}
LEASE_OF_ANOTHER = ObjectMeta(name="n2", namespace="kube-node-lease")


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
async def test_others(
    kubelet: LocalClient, attempt: Callable[[LocalClient], Awaitable[object]], why: str
) -> None:
    with pytest.raises(ApiError) as error:
        await attempt(kubelet)
    assert error.value.code == 403
    assert why in str(error.value)
