"""Claims that a pod uses."""

from __future__ import annotations

from podling.api.core_v1 import (
    EphemeralVolumeSource,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodSpec,
    Volume,
)
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.volumes.claim_index import claims_used


def test_named_and_ephemeral_claims_are_used_and_other_volumes_are_not() -> None:
    volumes = (
        Volume(name="a", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="data")),
        Volume(name="scratch", ephemeral=EphemeralVolumeSource()),
        Volume(name="plain"),
    )
    pod = Pod(metadata=ObjectMeta(name="p", namespace="team"), spec=PodSpec(volumes=volumes))
    assert list(claims_used(pod)) == ["team/data", "team/p-scratch"]
