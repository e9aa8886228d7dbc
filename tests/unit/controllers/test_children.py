"""Children of owners: adopted, released and waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from podling import clock
from podling.api.apps_v1 import StatefulSet
from podling.api.core_v1 import Namespace, Pod
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.client.base import Key, key_of
from podling.client.informer_factory import InformerFactory
from podling.client.workqueue import WorkQueue
from podling.controllers.children import Children, child_selector
from podling.machinery.errors import ApiError, is_conflict
from podling.supervisor import Supervisor
from podling.testing import ControlPlane
from tests.support.workloads import stateful_set

KEPT = "example.com/kept"


class Family:
    """The children of StatefulSets that are called ``db-`` and something; they get a finalizer."""

    def __init__(self, cluster: ControlPlane, informers: InformerFactory) -> None:
        self.queue: WorkQueue[Key] = WorkQueue(1.0)
        self.children: Children[StatefulSet, Pod] = Children(
            cluster.client,
            informers.informer(StatefulSet),
            informers.informer(Pod),
            self.queue,
            child_selector,
            accepts=lambda owner, pod: (pod.metadata.name or "").startswith("db-"),
            finalizer=KEPT,
        )


@pytest.fixture
async def family(cluster: ControlPlane) -> AsyncIterator[Family]:
    informers = InformerFactory(cluster.client)
    made = Family(cluster, informers)
    async with Supervisor() as supervisor:
        supervisor.keep_running("informers", informers.run)
        await informers.synced()
        yield made
        await supervisor.close()


async def add_pod(cluster: ControlPlane, name: str, **metadata: Any) -> Pod:
    spec = stateful_set().spec.template.spec
    wanted = ObjectMeta(**{"name": name, "namespace": "default", "labels": {"app": "db"}, **metadata})
    return await cluster.client.create(Pod(metadata=wanted, spec=spec))


async def names(family: Family, owner: StatefulSet) -> list[str]:
    return sorted(pod.metadata.name or "" for pod in await family.children.claim(owner))


async def test_matching_orphans_are_adopted_with_the_finalizer(cluster: ControlPlane, family: Family) -> None:
    owner = await cluster.client.create(stateful_set())
    await add_pod(cluster, "db-0", finalizers=("example.com/other",))
    await add_pod(cluster, "stray")
    await add_pod(cluster, "db-1", labels={"app": "web"})
    await cluster.advance(seconds=1)
    assert await names(family, owner) == ["db-0"]
    adopted = await cluster.client.get(Pod, "db-0", "default")
    assert adopted.metadata.finalizers == ("example.com/other", KEPT)
    assert [ref.uid for ref in adopted.metadata.owner_references] == [owner.metadata.uid]


async def test_children_that_stopped_matching_are_released_without_the_finalizer(
    cluster: ControlPlane, family: Family
) -> None:
    owner = await cluster.client.create(stateful_set())
    await add_pod(cluster, "db-0")
    await cluster.advance(seconds=1)
    assert await names(family, owner) == ["db-0"]
    await cluster.client.patch(Pod, "db-0", {"metadata": {"labels": {"app": "web"}}}, "default")
    await cluster.advance(seconds=1)
    assert await names(family, owner) == []
    released = (await cluster.client.get(Pod, "db-0", "default")).metadata
    assert (released.finalizers, released.owner_references) == ((), ())


async def test_owner_that_is_gone_or_was_replaced_stops_before_it_adopts(
    cluster: ControlPlane, family: Family
) -> None:
    owner = await cluster.client.create(stateful_set())
    await add_pod(cluster, "db-0")
    await cluster.advance(seconds=1)
    earlier = structs.replace(owner, metadata=structs.replace(owner.metadata, uid="earlier"))
    with pytest.raises(ApiError, match="earlier is gone"):
        await names(family, earlier)
    await cluster.client.delete(StatefulSet, "db", "default")
    with pytest.raises(ApiError, match=f"{owner.metadata.uid} is gone"):
        await names(family, owner)
    assert (await cluster.client.get(Pod, "db-0", "default")).metadata.owner_references == ()


async def test_owner_that_is_being_deleted_keeps_its_children_and_adopts_none(
    cluster: ControlPlane, family: Family
) -> None:
    """Cases of controller_ref_manager_test.go."""
    owner = await cluster.client.create(stateful_set())
    await add_pod(cluster, "db-0")
    await cluster.advance(seconds=1)
    assert await names(family, owner) == ["db-0"]
    await add_pod(cluster, "db-1")
    await cluster.client.patch(Pod, "db-0", {"metadata": {"labels": {"tier": "x"}}}, "default")
    await cluster.advance(seconds=1)
    going = structs.replace(owner, metadata=structs.replace(owner.metadata, deletion_timestamp=clock.now()))
    assert await names(family, going) == ["db-0"]
    assert (await cluster.client.get(Pod, "db-1", "default")).metadata.owner_references == ()


async def test_owner_that_is_being_deleted_on_the_server_stops_before_it_adopts(
    cluster: ControlPlane, family: Family
) -> None:
    """The informer does not show it yet (TestDoNotAdoptOrCreateIfBeingDeletedRace)."""
    owner = await cluster.client.create(stateful_set())
    await add_pod(cluster, "db-0")
    await cluster.advance(seconds=1)
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await cluster.client.patch(StatefulSet, "db", held, "default")
    await cluster.client.delete(StatefulSet, "db", "default")
    with pytest.raises(ApiError, match="it is being deleted") as caught:
        await names(family, owner)
    assert is_conflict(caught.value)
    assert (await cluster.client.get(Pod, "db-0", "default")).metadata.owner_references == ()


async def test_adoption_and_release_that_fail_do_not_stop_the_others(
    cluster: ControlPlane, family: Family
) -> None:
    """The informer does not show yet that ``db-0`` and ``db-2`` changed (``ClaimPods``)."""
    owner = await cluster.client.create(stateful_set())
    for number in range(2):
        await add_pod(cluster, f"db-{number}")
    await cluster.advance(seconds=1)
    assert await names(family, owner) == ["db-0", "db-1"]
    await cluster.advance(seconds=1)
    for number in range(2):
        await cluster.client.patch(Pod, f"db-{number}", {"metadata": {"labels": {"app": "web"}}}, "default")
    for number in range(2, 4):
        await add_pod(cluster, f"db-{number}")
    await cluster.advance(seconds=1)
    for name in ("db-0", "db-2"):
        await cluster.client.patch(Pod, name, {"metadata": {"annotations": {"new": "1"}}}, "default")
    with pytest.raises(ApiError) as caught:
        await names(family, owner)
    assert is_conflict(caught.value)
    owned = {}
    for number in range(4):
        held = await cluster.client.get(Pod, f"db-{number}", "default")
        owned[number] = bool(held.metadata.owner_references)
    assert owned == {0: True, 1: False, 2: False, 3: True}


async def test_children_of_others_orphans_that_go_and_other_namespaces_are_left_alone(
    cluster: ControlPlane, family: Family
) -> None:
    other = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="x", uid="x", controller=True)
    owner = await cluster.client.create(stateful_set())
    await add_pod(cluster, "db-0", owner_references=(other,))
    await add_pod(cluster, "db-1", finalizers=("example.com/hold",))
    await cluster.client.delete(Pod, "db-1", "default", grace_seconds=0)
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team")))
    await add_pod(cluster, "db-2", namespace="team")
    await add_pod(cluster, "db-3")
    await cluster.advance(seconds=1)
    assert await names(family, owner) == ["db-3"]
    for name, namespace, owners in (
        ("db-0", "default", (other,)),
        ("db-1", "default", ()),
        ("db-2", "team", ()),
    ):
        assert (await cluster.client.get(Pod, name, namespace)).metadata.owner_references == owners


async def test_child_that_is_being_deleted_stays_a_child(cluster: ControlPlane, family: Family) -> None:
    owner = await cluster.client.create(stateful_set())
    await add_pod(cluster, "db-0")
    await cluster.advance(seconds=1)
    assert await names(family, owner) == ["db-0"]
    await cluster.client.delete(Pod, "db-0", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert await names(family, owner) == ["db-0"]


async def test_owner_is_settled_once_its_writes_are_seen(cluster: ControlPlane, family: Family) -> None:
    owner = await cluster.client.create(stateful_set())
    written = await add_pod(cluster, "db-0")
    family.children.wrote(key_of(owner), written)
    assert not family.children.settled(key_of(owner))
    await cluster.advance(seconds=1)
    assert family.children.settled(key_of(owner))
    family.children.deleted(key_of(owner), written)
    assert not family.children.settled(key_of(owner))
    await cluster.client.delete(Pod, "db-0", "default", grace_seconds=0)
    await cluster.advance(seconds=1)
    assert family.children.settled(key_of(owner))
