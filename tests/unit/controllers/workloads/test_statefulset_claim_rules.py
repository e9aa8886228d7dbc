"""Claims of a StatefulSet's pods: names, labels and owners under each retention policy."""

from __future__ import annotations

import pytest

from podling.api.apps_v1 import (
    StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetSpec,
)
from podling.api.core_v1 import PersistentVolumeClaim, Pod, PodTemplateSpec
from podling.api.meta_v1 import LabelSelector, ObjectMeta, OwnerReference
from podling.controllers.workloads.statefulset_claim_rules import (
    claims_of,
    owner_of_claims,
    owners_with,
)

POD = Pod(metadata=ObjectMeta(name="db-1", namespace="default", uid="p1"))
OTHER = OwnerReference(api_version="v1", kind="Backup", name="b", uid="b1")
OTHER_CONTROLLER = OwnerReference(api_version="v1", kind="Backup", name="b", uid="b1", controller=True)
SET_REFERENCE = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="db", uid="s1")


def stateful(deleted: str = "Retain", scaled: str = "Retain") -> StatefulSet:
    return StatefulSet(
        metadata=ObjectMeta(name="db", namespace="default", uid="s1"),
        spec=StatefulSetSpec(
            selector=LabelSelector(match_labels={"app": "db"}),
            template=PodTemplateSpec(),
            volume_claim_templates=(
                PersistentVolumeClaim(metadata=ObjectMeta(name="data", labels={"kind": "disk"})),
            ),
            persistent_volume_claim_retention_policy=StatefulSetPersistentVolumeClaimRetentionPolicy(
                when_deleted=deleted, when_scaled=scaled
            ),
        ),
    )


@pytest.mark.parametrize(("deleted", "owners"), [("Retain", []), ("Delete", ["s1"])])
def test_claim_of_a_pod_follows_its_template(deleted: str, owners: list[str]) -> None:
    (made,) = claims_of(stateful(deleted), 1)
    assert (made.metadata.name, made.metadata.namespace) == ("data-db-1", "default")
    assert made.metadata.labels == {"kind": "disk", "app": "db"}
    assert [each.uid for each in made.metadata.owner_references] == owners


@pytest.mark.parametrize(
    ("deleted", "scaled", "scaled_away", "owner"),
    [
        ("Retain", "Retain", False, None),
        ("Retain", "Retain", True, None),
        ("Delete", "Retain", False, "s1"),
        ("Delete", "Retain", True, "s1"),
        ("Retain", "Delete", False, None),
        ("Retain", "Delete", True, "p1"),
        ("Delete", "Delete", False, "s1"),
        ("Delete", "Delete", True, "p1"),
    ],
)
def test_retention_policy_names_owner_of_claims(
    deleted: str, scaled: str, scaled_away: bool, owner: str | None
) -> None:
    found = owner_of_claims(stateful(deleted, scaled), POD, scaled_away=scaled_away)
    assert (found.metadata.uid if found is not None else None) == owner


@pytest.mark.parametrize(
    ("held", "wants_pod", "expected"),
    [
        ((), False, []),
        ((), True, ["p1"]),
        ((OTHER,), True, ["b1", "p1"]),
        ((SET_REFERENCE,), False, []),
        ((SET_REFERENCE, OTHER), True, ["b1", "p1"]),
        ((OTHER_CONTROLLER,), True, ["b1"]),
    ],
)
def test_references_of_other_owners_are_kept(
    held: tuple[OwnerReference, ...], wants_pod: bool, expected: list[str]
) -> None:
    claim = PersistentVolumeClaim(metadata=ObjectMeta(name="data-db-1", owner_references=held))
    found = owners_with(claim, POD if wants_pod else None, stateful(), POD)
    assert [each.uid for each in found] == expected
