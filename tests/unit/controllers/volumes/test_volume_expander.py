"""Claims that grow say who expands their volumes: cases of upstream's ``expand_controller_test.go``."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from podling.api.core_v1 import (
    AWSElasticBlockStoreVolumeSource,
    CSIPersistentVolumeSource,
    Event,
    PersistentVolume,
    PersistentVolumeClaim,
)
from podling.api.meta_v1 import ObjectMeta
from podling.api.storage_v1 import StorageClass
from podling.client.base import Key
from podling.client.runner import NotYet
from podling.controllers.volumes.volume_expander import RESIZER, WAITING, VolumeExpanderController
from podling.controllers.volumes.volume_rules import PRE_RESIZE_CAPACITY, claim_reference
from podling.testing import ControlPlane
from tests.support.control_loops import running, told
from tests.support.one_pass import following
from tests.support.workloads import claim, volume

EBS = {
    "host_path": None,
    "aws_elastic_block_store": AWSElasticBlockStoreVolumeSource(volume_id="v", fs_type="ext4"),
}
CSI = {"host_path": None, "csi": CSIPersistentVolumeSource(driver="com.csi.ceph", volume_handle="v")}
MIGRATED = "CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to expand the pvc"


async def bound(
    cluster: ControlPlane, requested: str, *, phase: str = "Bound", **source: Any
) -> PersistentVolumeClaim:
    """Create a claim that has 1 GiB and its volume."""
    client = cluster.client
    held = await client.create(claim(size=requested, volume_name="v", storage_class_name="fast"))
    status = structs.replace(held.status, phase=phase, capacity={"storage": "1Gi"})
    held = await client.update(structs.replace(held, status=status), subresource="status")
    await client.create(volume("v", claim_ref=claim_reference(held), **source))
    return held


@pytest.mark.parametrize(
    ("requested", "source", "annotations", "events", "resizer"),
    [
        pytest.param("2Gi", {}, {}, [WAITING], None, id="a directory"),
        pytest.param("2Gi", CSI, {}, [WAITING], None, id="a driver"),
        pytest.param("2Gi", EBS, {}, [MIGRATED], "ebs.csi.aws.com", id="a former plugin"),
        pytest.param("1Gi", EBS, {}, [], None, id="as large as requested"),
        pytest.param(
            "1Gi",
            EBS,
            {PRE_RESIZE_CAPACITY: "1Gi"},
            [MIGRATED],
            "ebs.csi.aws.com",
            id="its file system waits to be enlarged",
        ),
    ],
)
async def test_claim_says_who_expands_it(
    cluster: ControlPlane,
    requested: str,
    source: dict[str, Any],
    annotations: dict[str, str],
    events: list[str],
    resizer: str | None,
) -> None:
    await bound(cluster, requested, **source)
    await cluster.client.patch(PersistentVolume, "v", {"metadata": {"annotations": annotations}})
    async with following(cluster.client, VolumeExpanderController) as expander:
        await expander.reconcile(Key("default", "data"))
    shown = await told(cluster.client)
    assert shown == [f"Normal ExternalExpanding data: {text}" for text in events]
    held = await cluster.client.get(PersistentVolumeClaim, "data", "default")
    assert held.metadata.annotations.get(RESIZER) == resizer


@pytest.mark.parametrize("ref", [None, {"name": "data", "namespace": "default", "uid": "another"}])
async def test_claim_whose_volume_is_not_its_own_is_tried_again(
    cluster: ControlPlane, ref: dict[str, str] | None
) -> None:
    await bound(cluster, "2Gi")
    await cluster.client.patch(PersistentVolume, "v", {"spec": {"claimRef": ref}})
    async with following(cluster.client, VolumeExpanderController) as expander:
        with pytest.raises(NotYet, match="not bound to PVC being updated : default/data"):
            await expander.reconcile(Key("default", "data"))


async def test_each_growth_of_a_bound_claim_is_reported_once(cluster: ControlPlane) -> None:
    fast = StorageClass(
        metadata=ObjectMeta(name="fast"), provisioner="disks.example.com", allow_volume_expansion=True
    )
    await cluster.client.create(fast)
    await bound(cluster, "1Gi")
    async with running(cluster.client, VolumeExpanderController):
        for number, (size, growths) in enumerate([("1Gi", 0), ("2Gi", 1), ("2Gi", 1), ("3Gi", 2)]):
            patch = {
                "metadata": {"labels": {"number": str(number)}},
                "spec": {"resources": {"requests": {"storage": size}}},
            }
            await cluster.client.patch(PersistentVolumeClaim, "data", patch, "default")
            await cluster.advance(seconds=10)
            (*_, count) = [
                0,
                *(event.count or 0 for event in (await cluster.client.list(Event, "default")).items),
            ]
            assert count == growths


async def test_claim_that_is_not_bound_waits_for_its_volume(cluster: ControlPlane) -> None:
    await bound(cluster, "2Gi", phase="Pending")
    async with running(cluster.client, VolumeExpanderController):
        await cluster.advance(seconds=1)
    assert await told(cluster.client) == []
