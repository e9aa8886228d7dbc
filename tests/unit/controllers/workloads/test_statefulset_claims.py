"""Claims of a StatefulSet that cannot be created, and the events about them."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import StatefulSetPersistentVolumeClaimRetentionPolicy
from podling.api.core_v1 import PersistentVolumeClaim, Pod, ResourceQuota, ResourceQuotaSpec
from podling.api.meta_v1 import ObjectMeta
from podling.client.events import EventRecorder
from podling.client.local import LocalClient
from podling.client.requests import SYSTEM
from podling.controllers.resource_quota import ResourceQuotaController
from podling.controllers.workloads.statefulset import StatefulSetController
from podling.controllers.workloads.statefulset_claims import update_owners
from podling.machinery.errors import ApiError, is_conflict
from podling.testing import ControlPlane
from tests.support.control_loops import running, told
from tests.support.workloads import claim, stateful_set
from tests.unit.controllers.workloads.statefulsets import view


async def test_claim_that_is_being_deleted_stops_its_pod(
    cluster: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    kept = claim("data")
    kept = PersistentVolumeClaim(
        metadata=ObjectMeta(name="data", finalizers=("example.com/stay",)), spec=kept.spec
    )
    async with running(cluster.client, StatefulSetController):
        await cluster.client.create(stateful_set(1, volume_claim_templates=(kept,)))
        await cluster.advance(seconds=1)
        await cluster.client.delete(PersistentVolumeClaim, "data-db-0", "default")
        await cluster.client.delete(Pod, "db-0", "default", grace_seconds=0)
        await cluster.advance(seconds=1)
        text = "create Pod db-0 in StatefulSet db failed error: pvc data-db-0 is being deleted"
        assert f"Warning FailedCreate db: {text}" in await told(cluster.client)
    assert not [each for each in caplog.records if each.exc_info]


async def test_event_lists_all_claims_that_a_quota_refuses(cluster: ControlPlane) -> None:
    quota = ResourceQuota(
        metadata=ObjectMeta(name="none", namespace="default"),
        spec=ResourceQuotaSpec(hard={"persistentvolumeclaims": "0"}),
    )
    async with running(cluster.client, StatefulSetController, ResourceQuotaController):
        await cluster.client.create(quota)
        await cluster.advance(seconds=1)
        await cluster.client.create(stateful_set(1, volume_claim_templates=(claim("data"), claim("logs"))))
        await cluster.advance(seconds=1)
        events = await told(cluster.client)
    refused = [each for each in events if "exceeded quota" in each]
    inside = "in StatefulSet db failed error: "
    starts = [
        f"Warning FailedCreate db: create Claim data-db-0 for Pod db-0 {inside}",
        f"Warning FailedCreate db: create Claim logs-db-0 for Pod db-0 {inside}",
        f"Warning FailedCreate db: create Pod db-0 {inside}[failed to create PVC data-db-0: ",
    ]
    assert all(any(each.startswith(start) for each in refused) for start in starts), refused


class OvertakenClient(LocalClient):
    """A client after whose reads another one changes the owners of what was read."""

    async def get(self, kind: type[Any], name: str, namespace: str | None = None) -> Any:
        found = await super().get(kind, name, namespace)
        owner = {"apiVersion": "example.com/v1", "kind": "Backup", "name": "daily", "uid": "b"}
        await self.patch(kind, name, {"metadata": {"ownerReferences": [owner]}}, namespace)
        return found


async def test_owners_that_changed_meanwhile_are_kept(cluster: ControlPlane) -> None:
    policy = StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Delete", when_scaled="Retain")
    templates = (claim("data"),)
    seen = view(
        1,
        {0: "ready"},
        volume_claim_templates=templates,
        persistent_volume_claim_retention_policy=policy,
    )
    held = PersistentVolumeClaim(
        metadata=ObjectMeta(name="data-db-0", namespace="default"), spec=templates[0].spec
    )
    await cluster.client.create(held)
    recorder = EventRecorder(cluster.client, "statefulset-controller")
    with pytest.raises(ApiError) as refused:
        await update_owners(OvertakenClient(cluster.backend, SYSTEM), recorder, seen, seen.pods[0], 0)
    assert is_conflict(refused.value)
    left = await cluster.client.get(PersistentVolumeClaim, "data-db-0", "default")
    assert [each.name for each in left.metadata.owner_references] == ["daily"]
