"""References that name no object, or another one than they say. Cases of upstream's graph builder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from podling.api.apps_v1 import Deployment
from podling.api.core_v1 import ConfigMap, Namespace, Secret
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.controllers.garbage_collector import GarbageCollectorController
from podling.testing import ControlPlane
from tests.support.control_loops import running, told
from tests.support.custom_resources import definition, widget
from tests.support.workloads import deployment


@pytest.fixture(autouse=True)
async def collector(cluster: ControlPlane) -> AsyncIterator[None]:
    async with running(cluster.client, GarbageCollectorController):
        yield


def reference(kind: str, name: str, uid: str | None, api_version: str = "v1") -> OwnerReference:
    return OwnerReference(api_version=api_version, kind=kind, name=name, uid=uid or "")


async def make(
    cluster: ControlPlane, name: str, *references: OwnerReference, namespace: str = "default"
) -> ConfigMap:
    metadata = ObjectMeta(name=name, namespace=namespace, owner_references=references)
    return await cluster.client.create(ConfigMap(metadata=metadata))


async def left(cluster: ControlPlane, namespace: str = "default") -> dict[str, list[str]]:
    """Return the ConfigMaps of a namespace, with the names of their owners."""
    found = (await cluster.client.list(ConfigMap, namespace)).items
    return {each.metadata.name or "": [ref.name for ref in each.metadata.owner_references] for each in found}


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("Widget", "example.com/v1"), ("Deployment", "extensions/v1beta1"), ("Deployment", "apps/v1beta1")],
)
async def test_object_with_owner_of_unserved_kind_or_version_stays_as_it_is(
    cluster: ControlPlane, kind: str, api_version: str
) -> None:
    gone = reference("ConfigMap", "gone", "u2")
    await make(cluster, "child", gone, reference(kind, "other", "u1", api_version))
    await cluster.advance(minutes=30)
    assert await left(cluster) == {"child": ["gone", "other"]}


@pytest.mark.parametrize("owner_first", [True, False])
async def test_reference_in_unserved_version_keeps_child_after_its_owner_is_gone(
    cluster: ControlPlane, owner_first: bool
) -> None:
    owner = await cluster.client.create(deployment())
    if owner_first:
        await cluster.advance(seconds=1)
    await make(cluster, "child", reference("Deployment", "web", owner.metadata.uid, "extensions/v1beta1"))
    await make(cluster, "good", reference("Deployment", "web", owner.metadata.uid, "apps/v1"))
    await cluster.advance(seconds=1)
    await cluster.client.delete(Deployment, "web", "default")
    await cluster.advance(minutes=5)
    assert await left(cluster) == {"child": ["web"]}


async def test_object_of_kind_that_is_defined_later_is_deleted_with_its_owner(cluster: ControlPlane) -> None:
    await make(cluster, "child", reference("Widget", "gone", "u1", "example.com/v1"))
    await cluster.advance(seconds=10)
    assert await left(cluster) == {"child": ["gone"]}
    await cluster.client.create(definition())
    await cluster.advance(minutes=30)
    assert await left(cluster) == {}


async def test_cluster_scoped_object_with_namespaced_owner_is_not_changed(cluster: ControlPlane) -> None:
    owner = await make(cluster, "owner")
    references = (
        reference("ConfigMap", "owner", owner.metadata.uid),
        reference("Namespace", "gone", "u1"),
    )
    await cluster.client.create(Namespace(metadata=ObjectMeta(name="team", owner_references=references)))
    await cluster.advance(minutes=1)
    team = await cluster.client.get(Namespace, "team")
    assert team.metadata.owner_references == references
    assert await told(cluster.client) == [
        f"Warning OwnerRefInvalidNamespace team: ownerRef [v1/ConfigMap, namespace: , name: owner, "
        f'uid: {owner.metadata.uid}] does not exist in namespace ""'
    ]


@pytest.mark.parametrize("bad_first", [True, False])
@pytest.mark.parametrize("parent", ["missing", "first", "late"])
async def test_bad_cluster_scoped_child_does_not_change_fate_of_good_one(
    cluster: ControlPlane, bad_first: bool, parent: str
) -> None:
    """Both name the same owner, which is in a namespace."""
    owner = await make(cluster, "owner")
    if parent == "missing":
        await cluster.client.delete(ConfigMap, "owner", "default")
    if parent != "late":
        await cluster.advance(seconds=1)
    ref = reference("ConfigMap", "owner", owner.metadata.uid)
    bad = Namespace(metadata=ObjectMeta(name="team", owner_references=(ref,)))
    if bad_first:
        await cluster.client.create(bad)
        await cluster.advance(seconds=1)
    await make(cluster, "good", ref)
    if not bad_first:
        await cluster.advance(seconds=1)
        await cluster.client.create(bad)
    await cluster.advance(minutes=1)
    assert await left(cluster) == ({} if parent == "missing" else {"good": ["owner"], "owner": []})
    assert (await cluster.client.get(Namespace, "team")).metadata.owner_references == (ref,)
    assert len(await told(cluster.client)) == (0 if parent == "missing" else 1)


@pytest.mark.parametrize("child_first", [True, False])
@pytest.mark.parametrize(
    ("kind", "name", "api_version"),
    [("Secret", "web", "v1"), ("Deployment", "wrong", "apps/v1"), ("ReplicaSet", "web", "apps/v1")],
)
async def test_wrong_coordinates_of_existing_owner_delete_that_child_only(
    cluster: ControlPlane, child_first: bool, kind: str, name: str, api_version: str
) -> None:
    owner = await cluster.client.create(deployment())
    uid = owner.metadata.uid
    if not child_first:
        await cluster.advance(seconds=1)
    await make(cluster, "bad", reference(kind, name, uid, api_version))
    await make(cluster, "good", reference("Deployment", "web", uid, "apps/v1"))
    await cluster.advance(seconds=5)
    assert await left(cluster) == {"good": ["web"]}
    assert await told(cluster.client) == []  # the namespace is right


async def test_child_in_wrong_namespace_is_deleted_and_others_stay(cluster: ControlPlane) -> None:
    owner = await cluster.client.create(Secret(metadata=ObjectMeta(name="far", namespace="kube-public")))
    ref = reference("Secret", "far", owner.metadata.uid)
    await make(cluster, "good", ref, namespace="kube-public")
    await make(cluster, "bad", ref)
    await cluster.advance(seconds=5)
    assert await left(cluster) == {}
    assert await left(cluster, "kube-public") == {"good": ["far"]}


async def test_custom_owner_in_each_served_version_counts(cluster: ControlPlane) -> None:
    versions = [
        {"name": "v1", "served": True, "storage": True},
        {"name": "v1beta1", "served": True, "storage": False},
        {"name": "v1alpha1", "served": False, "storage": False},
    ]
    await cluster.client.create(definition(versions=versions))
    await cluster.advance(seconds=1)
    found = cluster.server.catalogue.by_path("example.com", "v1", "widgets")
    assert found is not None
    kind = found.type
    owner = await cluster.client.create(widget(kind))
    for version in ("v1", "v1beta1", "v1alpha1"):
        await make(cluster, version, reference("Widget", "w", owner.metadata.uid, f"example.com/{version}"))
    await cluster.advance(seconds=5)
    assert sorted(await left(cluster)) == ["v1", "v1alpha1", "v1beta1"]
    await cluster.client.delete(kind, "w", "default")
    await cluster.advance(seconds=5)
    assert sorted(await left(cluster)) == ["v1alpha1"]
