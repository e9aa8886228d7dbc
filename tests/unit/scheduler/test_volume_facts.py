"""The claims and disks of pods."""

from __future__ import annotations

from podling.api.core_v1 import (
    AWSElasticBlockStoreVolumeSource,
    EphemeralVolumeSource,
    PersistentVolumeClaimVolumeSource,
    Volume,
)
from podling.scheduler.volume_facts import claims_of, disks_conflict, disks_of, uses_claim
from tests.unit.scheduler.scheduling import pod

DISK = Volume(name="d", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="vol-1"))
USER = pod(
    "web",
    volumes=(
        Volume(name="data", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="data")),
        Volume(name="scratch", ephemeral=EphemeralVolumeSource()),
        Volume(name="plain"),
        DISK,
    ),
)


def test_claims_are_named_or_made_for_the_pod() -> None:
    assert claims_of(USER) == [("data", False), ("web-scratch", True)]


def test_pod_uses_claims_of_its_namespace() -> None:
    assert uses_claim(USER, "default", "web-scratch")
    assert not uses_claim(USER, "other", "data")
    assert not uses_claim(USER, "default", "logs")


def test_only_volumes_that_name_a_disk_are_disks() -> None:
    assert list(disks_of(USER)) == [DISK]
    assert disks_conflict(DISK, DISK)
    assert not disks_conflict(DISK, Volume(name="plain"))
