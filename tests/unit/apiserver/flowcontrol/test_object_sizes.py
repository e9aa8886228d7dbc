"""Number and average size of stored objects."""

from __future__ import annotations

from podling import clock
from podling.api.authorization_v1 import SubjectAccessReview
from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.flowcontrol.object_sizes import KNOWN_SECONDS, ObjectSizes
from podling.client.requests import Target
from podling.machinery.scheme import resource_of
from podling.testing import ControlPlane

MAPS = resource_of(ConfigMap)


async def create(cluster: ControlPlane, name: str, size: int) -> None:
    metadata = ObjectMeta(name=name, namespace="default")
    await cluster.client.create(ConfigMap(metadata=metadata, data={"a": "x" * size}))


async def test_average_size_is_remembered_for_a_minute(cluster: ControlPlane) -> None:
    sizes, target = ObjectSizes(cluster.store), Target(MAPS, "default")
    for number in range(4):
        await create(cluster, f"small-{number}", 1000)
    first = await sizes.stats(target)
    assert first is not None
    await create(cluster, "large", 100_000)
    second = await sizes.stats(target)
    assert second is not None
    assert (second.count, second.average_bytes) == (first.count + 1, first.average_bytes)
    await clock.sleep(KNOWN_SECONDS)
    third = await sizes.stats(target)
    assert third is not None
    assert third.average_bytes > 10_000


async def test_collection_that_grew_much_is_measured_again(cluster: ControlPlane) -> None:
    sizes, target = ObjectSizes(cluster.store), Target(MAPS, "default")
    assert await sizes.stats(target) is not None
    for number in range(5):
        await create(cluster, f"large-{number}", 100_000)
    found = await sizes.stats(target)
    assert found is not None
    assert found.average_bytes > 50_000


async def test_namespaces_are_measured_apart(cluster: ControlPlane) -> None:
    sizes = ObjectSizes(cluster.store)
    await create(cluster, "large", 100_000)
    other = await sizes.stats(Target(MAPS, "kube-public"))
    everything = await sizes.stats(Target(MAPS))
    assert other is not None
    assert everything is not None
    assert everything.count > other.count


async def test_objects_that_are_not_stored_have_no_size(cluster: ControlPlane) -> None:
    assert await ObjectSizes(cluster.store).stats(Target(resource_of(SubjectAccessReview))) is None
