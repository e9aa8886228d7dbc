"""Garbage collection of dependents: background, foreground and orphan propagation."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from msgspec import structs, to_builtins

from podling.api.core_v1 import ConfigMap, Namespace, Node, Secret
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import ApiObject
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.garbage_collector import (
    Delete,
    DropReferences,
    GarbageCollectorController,
    Judgement,
    Keep,
    Owners,
    Standing,
    judge,
)
from podling.testing import ControlPlane
from tests.support.control_loops import running, told


@pytest.fixture
async def manager(cluster: ControlPlane) -> AsyncIterator[ControllerManager]:
    async with running(cluster.client, GarbageCollectorController) as manager:
        yield manager
        assert all(counters.failures == 0 for counters in manager.counters.values())


pytestmark = pytest.mark.usefixtures("manager")


def owned_by(*owners: ApiObject, block: bool = True) -> tuple[OwnerReference, ...]:
    return tuple(
        OwnerReference(
            api_version=owner.api_version,
            kind=owner.kind,
            name=owner.metadata.name or "",
            uid=owner.metadata.uid or "",
            block_owner_deletion=block,
        )
        for owner in owners
    )


async def make(
    cluster: ControlPlane, name: str, *owners: ApiObject, block: bool = True, finalizers: tuple[str, ...] = ()
) -> ConfigMap:
    references = owned_by(*owners, block=block)
    metadata = ObjectMeta(name=name, namespace="default", owner_references=references, finalizers=finalizers)
    return await cluster.client.create(ConfigMap(metadata=metadata))


async def left(cluster: ControlPlane) -> list[str]:
    return [each.metadata.name or "" for each in (await cluster.client.list(ConfigMap, "default")).items]


async def test_dependents_follow_their_owner_down_to_the_last(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    child = await make(cluster, "child", owner)
    await make(cluster, "grandchild", child)
    await cluster.client.delete(ConfigMap, "owner", "default")
    await cluster.advance(seconds=1)
    assert await left(cluster) == []


async def test_an_object_with_another_owner_stays_and_forgets_the_lost_one(cluster: ControlPlane) -> None:
    one, other = await make(cluster, "one"), await make(cluster, "other")
    await make(cluster, "child", one, other)
    await cluster.client.delete(ConfigMap, "one", "default")
    await cluster.advance(seconds=1)
    child = await cluster.client.get(ConfigMap, "child", "default")
    assert [ref.name for ref in child.metadata.owner_references] == ["other"]


async def test_in_the_foreground_the_owner_goes_last(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    await make(cluster, "held", owner, finalizers=("example.com/hold",))
    await make(cluster, "free", owner)
    await cluster.client.delete(ConfigMap, "owner", "default", propagation="Foreground")
    await cluster.advance(seconds=10)
    assert await left(cluster) == ["held", "owner"]
    await cluster.client.patch(ConfigMap, "held", {"metadata": {"finalizers": None}}, "default")
    await cluster.advance(seconds=1)
    assert await left(cluster) == []


async def test_in_the_foreground_dependents_of_dependents_go_first_too(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    child = await make(cluster, "child", owner)
    await make(cluster, "grandchild", child, finalizers=("example.com/hold",))
    await cluster.client.delete(ConfigMap, "owner", "default", propagation="Foreground")
    await cluster.advance(seconds=10)
    assert await left(cluster) == ["child", "grandchild", "owner"]
    await cluster.client.patch(ConfigMap, "grandchild", {"metadata": {"finalizers": None}}, "default")
    await cluster.advance(seconds=1)
    assert await left(cluster) == []


async def test_non_blocking_dependent_does_not_delay_owner(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    await make(cluster, "child", owner, block=False, finalizers=("example.com/hold",))
    await cluster.client.delete(ConfigMap, "owner", "default", propagation="Foreground")
    await cluster.advance(seconds=1)
    assert await left(cluster) == ["child"]


async def test_orphans_stay_without_a_reference(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    await make(cluster, "child", owner)
    await cluster.client.delete(ConfigMap, "owner", "default", propagation="Orphan")
    await cluster.advance(seconds=10)
    assert await left(cluster) == ["child"]
    child = await cluster.client.get(ConfigMap, "child", "default")
    assert child.metadata.owner_references == ()


async def test_an_object_made_for_an_owner_long_gone_goes(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    await cluster.client.delete(ConfigMap, "owner", "default")
    await cluster.advance(seconds=1)
    await make(cluster, "late", owner)
    await cluster.advance(seconds=1)
    assert await left(cluster) == []


async def test_a_new_object_of_the_owners_name_is_not_the_owner(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    await make(cluster, "child", owner)
    await cluster.client.delete(ConfigMap, "owner", "default")
    await make(cluster, "owner")
    await cluster.advance(seconds=1)
    assert await left(cluster) == ["owner"]


async def test_two_that_own_each_other_go_together(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    child = await make(cluster, "child", owner)
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "child",
            "uid": child.metadata.uid,
            "blockOwnerDeletion": True,
        }
    ]
    patch = {"metadata": {"ownerReferences": references}}
    await cluster.client.patch(ConfigMap, "owner", patch, "default")
    await cluster.client.delete(ConfigMap, "owner", "default", propagation="Foreground")
    await cluster.advance(seconds=5)
    assert await left(cluster) == []


async def test_circle_is_broken_at_references_that_block_only(cluster: ControlPlane) -> None:
    """Case of ``TestUnblockOwnerReference`` in garbagecollector_test.go."""
    owner = await make(cluster, "owner")
    gone = [OwnerReference(api_version="v1", kind="ConfigMap", name=name, uid=name) for name in ("a", "b")]
    references = (*owned_by(owner), structs.replace(gone[0], block_owner_deletion=False), gone[1])
    metadata = ObjectMeta(name="child", namespace="default", finalizers=("example.com/hold",))
    child = await cluster.client.create(ConfigMap(metadata=metadata))
    circle = {"metadata": {"ownerReferences": [to_builtins(each) for each in owned_by(child)]}}
    await cluster.client.patch(ConfigMap, "owner", circle, "default")
    await cluster.client.delete(ConfigMap, "owner", "default", propagation="Foreground")
    owners = {"metadata": {"ownerReferences": [to_builtins(each) for each in references]}}
    await cluster.client.patch(ConfigMap, "child", owners, "default")
    await cluster.advance(seconds=5)
    live = (await cluster.client.get(ConfigMap, "child", "default")).metadata
    blocks = {ref.name: ref.block_owner_deletion for ref in live.owner_references}
    assert blocks == {"owner": False, "a": False, "b": None}
    assert live.deletion_timestamp is not None


async def test_a_cluster_scoped_owner_may_own_namespaced_objects(cluster: ControlPlane) -> None:
    node = await cluster.client.create(Node(metadata=ObjectMeta(name="n1")))
    await make(cluster, "child", node)
    await cluster.advance(seconds=1)
    assert await left(cluster) == ["child"]
    await cluster.client.delete(Node, "n1")
    await cluster.advance(seconds=1)
    assert await left(cluster) == []


async def test_an_owner_in_another_namespace_is_no_owner(cluster: ControlPlane) -> None:
    metadata = ObjectMeta(name="far", namespace="kube-public")
    owner = await cluster.client.create(Secret(metadata=metadata))
    await make(cluster, "child", owner)
    await cluster.advance(seconds=1)
    assert await left(cluster) == []
    assert await told(cluster.client) == [
        f"Warning OwnerRefInvalidNamespace child: ownerRef [v1/Secret, namespace: default, name: far, "
        f'uid: {owner.metadata.uid}] does not exist in namespace "default"'
    ]


async def test_a_cluster_scoped_object_never_goes_for_a_namespaced_owner(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    metadata = ObjectMeta(name="team", owner_references=owned_by(owner))
    await cluster.client.create(Namespace(metadata=metadata))
    await cluster.client.delete(ConfigMap, "owner", "default")
    await cluster.advance(minutes=1)
    await cluster.client.get(Namespace, "team")


async def test_orphan_made_before_start_is_deleted_at_start(cluster: ControlPlane) -> None:
    gone = OwnerReference(api_version="v1", kind="ConfigMap", name="gone", uid="u1")
    metadata = ObjectMeta(name="late", namespace="kube-public", owner_references=(gone,))
    await cluster.client.create(ConfigMap(metadata=metadata))
    async with running(cluster.client, GarbageCollectorController):
        await cluster.advance(seconds=1)
    assert (await cluster.client.list(ConfigMap, "kube-public")).items == ()


@pytest.mark.parametrize(
    ("standings", "finalizers", "has_dependents", "judgement"),
    [
        (["SOLID"], (), False, Keep()),
        (["SOLID", "DANGLING", "WAITING"], (), True, DropReferences(("1", "2"))),
        (["DANGLING"], (), True, Delete("Background")),
        (["WAITING"], (), False, Delete("Background")),
        (["WAITING"], (), True, Delete("Foreground")),
        (["DANGLING"], ("orphan",), True, Delete("Orphan")),
        (["DANGLING"], ("foregroundDeletion",), True, Delete("Foreground")),
    ],
)
async def test_standing_of_owners_decides_judgement(
    standings: list[str], finalizers: tuple[str, ...], has_dependents: bool, judgement: Judgement
) -> None:
    owners = Owners()
    for number, name in enumerate(standings):
        owners.add(OwnerReference(uid=str(number)), Standing[name])
    assert judge(ObjectMeta(finalizers=finalizers), owners, has_dependents=has_dependents) == judgement
