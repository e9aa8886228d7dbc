"""Checks of pod resizes against the node."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.core_v1 import (
    Node,
    ObjectReference,
    Pod,
)
from podling.api.meta_v1 import ObjectMeta, StatusCause
from podling.machinery.errors import ApiError
from podling.testing import ControlPlane
from tests.support.admitted_pods import create_pod
from tests.support.manifests import obj

NODE = """
metadata: {name: n1, labels: {topology.kubernetes.io/zone: z1}}
status: {allocatable: {cpu: "4", memory: 4Gi}}
"""


async def bound(full_cluster: ControlPlane) -> Any:
    from podling.api.core_v1 import Binding

    await full_cluster.client.create(obj(Node, NODE))
    await create_pod(
        full_cluster, "spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 1}}}]}"
    )
    target = Binding(metadata=ObjectMeta(name="web"), target=ObjectReference(kind="Node", name="n1"))
    await full_cluster.client.create_subresource(Pod, "web", "binding", target, "default")
    return await full_cluster.client.get(Pod, "web", "default")


def resized(**requests: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}]}}


async def test_a_resize_beyond_the_node_is_refused_at_once(full_cluster: ControlPlane) -> None:
    await bound(full_cluster)
    with pytest.raises(ApiError) as caught:
        await full_cluster.client.patch(Pod, "web", resized(cpu="8"), "default", subresource="resize")
    assert str(caught.value) == (
        'pods "web" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 8000, '
        "allocatable: 4000"
    )
    assert caught.value.status.details is not None
    assert caught.value.status.details.causes == (StatusCause(reason="NodeCapacity"),)


async def test_resize_to_all_that_the_node_can_allocate_is_accepted(full_cluster: ControlPlane) -> None:
    await bound(full_cluster)
    wanted = resized(cpu="4", memory="4Gi")
    found = await full_cluster.client.patch(Pod, "web", wanted, "default", subresource="resize")
    assert found.spec.containers[0].resources.requests == {"cpu": "4", "memory": "4Gi"}


async def test_resize_that_changes_nothing_is_accepted_beyond_the_node(full_cluster: ControlPlane) -> None:
    await bound(full_cluster)
    smaller = {"status": {"allocatable": {"cpu": "500m"}}}
    await full_cluster.client.patch(Node, "n1", smaller, subresource="status")
    await full_cluster.client.patch(Pod, "web", resized(cpu="1"), "default", subresource="resize")
    with pytest.raises(ApiError, match="cpu, requested: 2000, allocatable: 500"):
        await full_cluster.client.patch(Pod, "web", resized(cpu="2"), "default", subresource="resize")


async def test_resize_refusal_lists_every_exceeded_resource(full_cluster: ControlPlane) -> None:
    await bound(full_cluster)
    with pytest.raises(ApiError) as caught:
        await full_cluster.client.patch(
            Pod, "web", resized(cpu="8", memory="1Ti"), "default", subresource="resize"
        )
    assert str(caught.value) == (
        'pods "web" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 8000, '
        "allocatable: 4000; memory, requested: 1099511627776, allocatable: 4294967296"
    )


async def test_only_linux_nodes_resize(full_cluster: ControlPlane) -> None:
    await bound(full_cluster)
    labels = {"metadata": {"labels": {"kubernetes.io/os": "windows"}}}
    await full_cluster.client.patch(Node, "n1", labels)
    with pytest.raises(ApiError) as caught:
        await full_cluster.client.patch(Pod, "web", resized(cpu="2"), "default", subresource="resize")
    assert str(caught.value) == (
        'pods "web" is forbidden: pod resize is only supported on linux nodes, node "n1" is "windows"'
    )
    assert caught.value.status.details is not None
    assert caught.value.status.details.causes == (StatusCause(reason="UnsupportedPlatform"),)


async def test_a_resize_needs_the_node_of_the_pod(full_cluster: ControlPlane) -> None:
    await bound(full_cluster)
    await full_cluster.client.delete(Node, "n1")
    with pytest.raises(ApiError, match='pods "web" is forbidden: node "n1" not found'):
        await full_cluster.client.patch(Pod, "web", resized(cpu="2"), "default", subresource="resize")
