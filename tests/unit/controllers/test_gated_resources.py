"""Controllers in a cluster with resources behind a feature gate: what they own, and their namespaces."""

from __future__ import annotations

from podling.api.core_v1 import ConfigMap, Namespace
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.api.scheduling_v1alpha2 import (
    BasicSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from podling.controllers.registry import controllers
from podling.testing.control_plane import ControlPlane, memory_cluster
from tests.support.control_loops import running

GATES = {"GenericWorkload": True}
NAMES = ("garbage-collector-controller", "namespace-controller")


def group(namespace: str, name: str = "g", owners: tuple[OwnerReference, ...] = ()) -> PodGroup:
    policy = PodGroupSchedulingPolicy(basic=BasicSchedulingPolicy())
    metadata = ObjectMeta(name=name, namespace=namespace, owner_references=owners)
    return PodGroup(metadata=metadata, spec=PodGroupSpec(scheduling_policy=policy))


async def names(
    cluster: ControlPlane, kind: type[ConfigMap] | type[PodGroup], namespace: str = ""
) -> list[str]:
    return [each.metadata.name or "" for each in (await cluster.client.list(kind, namespace)).items]


async def test_groups_are_deleted_with_their_namespace_and_their_owners() -> None:
    async with memory_cluster(feature_gates=GATES) as cluster:
        client = cluster.client
        async with running(client, *controllers(names=NAMES, feature_gates=GATES)):
            await client.create(Namespace(metadata=ObjectMeta(name="team")))
            await client.create(group("team"))
            owner = await client.create(group("default"))
            reference = OwnerReference(
                api_version=owner.api_version, kind=owner.kind, name="g", uid=owner.metadata.uid or ""
            )
            metadata = ObjectMeta(name="owned", namespace="default", owner_references=(reference,))
            owned = await client.create(ConfigMap(metadata=metadata))
            below = OwnerReference(
                api_version="v1", kind="ConfigMap", name="owned", uid=owned.metadata.uid or ""
            )
            await client.create(group("default", "below", (below,)))
            await cluster.advance(minutes=1)
            assert await names(cluster, ConfigMap, "default") == ["owned"]
            await client.delete(Namespace, "team")
            await client.delete(PodGroup, "g", "default")
            await cluster.advance(minutes=1)
            assert await names(cluster, PodGroup) == []
            assert await names(cluster, ConfigMap, "default") == []
            assert "team" not in [each.metadata.name for each in (await client.list(Namespace)).items]
