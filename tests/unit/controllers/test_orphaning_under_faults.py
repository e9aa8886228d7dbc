"""Dependents that cannot be orphaned. The cases are those of upstream's ``orphanDependents``."""

from __future__ import annotations

import pytest

from podling.api.core_v1 import ConfigMap, Secret
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Key
from podling.client.local import LocalClient
from podling.controllers.garbage_collector import GarbageCollectorController
from podling.controllers.owner_graph import ORPHAN
from podling.controllers.owner_references import controller_reference
from podling.machinery.errors import ApiError, forbidden
from podling.sim.connection import Connection, RequestFault
from podling.testing import ControlPlane
from tests.support.one_pass import following


async def owned(cluster: ControlPlane) -> list[str]:
    secrets = (await cluster.client.list(Secret, "default")).items
    return [each.metadata.name or "" for each in secrets if each.metadata.owner_references]


async def finalizers(cluster: ControlPlane) -> list[str]:
    found = (await cluster.client.list(ConfigMap, "default")).items
    return [name for each in found if each.metadata.name == "owner" for name in each.metadata.finalizers]


async def test_dependent_that_cannot_be_orphaned_does_not_keep_the_others(cluster: ControlPlane) -> None:
    owner = await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace="default")))
    for name in ("a", "b", "c"):
        references = (controller_reference(owner),)
        metadata = ObjectMeta(name=name, namespace="default", owner_references=references)
        await cluster.client.create(Secret(metadata=metadata))
    await cluster.client.delete(ConfigMap, "owner", "default", propagation="Orphan")
    connection = Connection(lambda: cluster.backend, "controller")
    refusal = RequestFault(
        verb="patch", resource="secrets", error=lambda: forbidden("secrets", "", "a", "no"), times=1
    )
    connection.faults.append(refusal)
    key = Key("", owner.metadata.uid or "")
    async with following(LocalClient(connection), GarbageCollectorController) as collector:
        with pytest.raises(ApiError, match="forbidden"):
            await collector.reconcile(key)
        assert len(await owned(cluster)) == 1
        assert await finalizers(cluster) == [ORPHAN], "the owner stays for another try"
        await collector.reconcile(key)
        assert await owned(cluster) == []
        assert await finalizers(cluster) == []
