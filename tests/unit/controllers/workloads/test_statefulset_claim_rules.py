"""Claims of a StatefulSet's pods: names, labels and owners under each retention policy."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.apps_v1 import (
    StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetSpec,
)
from podling.api.core_v1 import PersistentVolumeClaim, Pod, PodTemplateSpec
from podling.api.meta_v1 import LabelSelector, ObjectMeta, OwnerReference
from podling.controllers.workloads.statefulset_claim_rules import (
    claims_of,
    has_other_controller,
    has_plain_owner,
    has_stale_owner,
    is_owner_current,
    owner_of_claims,
    owners_with,
    refers_to,
)

POD = Pod(metadata=ObjectMeta(name="db-1", namespace="default", uid="p1"))
OTHER = OwnerReference(api_version="v1", kind="Backup", name="b", uid="b1")
OTHER_CONTROLLER = OwnerReference(api_version="v1", kind="Backup", name="b", uid="b1", controller=True)


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


def reference(obj: Pod | StatefulSet, uid: str | None = None, *, controller: bool = True) -> OwnerReference:
    """Return a reference to the object, with another UID if one is given."""
    return OwnerReference(
        api_version=obj.api_version,
        kind=obj.kind,
        name=obj.metadata.name or "",
        uid=obj.metadata.uid or "" if uid is None else uid,
        controller=controller,
    )


def claim(*references: OwnerReference) -> PersistentVolumeClaim:
    return PersistentVolumeClaim(metadata=ObjectMeta(name="data-db-1", owner_references=references))


SET = stateful()
# whenDeleted, whenScaled, the pod is scaled away, the pod is the wanted owner, the set is
POLICIES = [
    ("Retain", "Retain", False, False, False),
    ("Delete", "Retain", False, False, True),
    ("Delete", "Retain", True, False, True),
    ("Retain", "Delete", True, True, False),
    ("Retain", "Delete", False, False, False),
    ("Delete", "Delete", True, True, False),
    ("Delete", "Delete", False, False, True),
]


@pytest.mark.parametrize(("deleted", "scaled", "away", "by_pod", "by_set"), POLICIES)
@pytest.mark.parametrize("has_pod", [False, True])
@pytest.mark.parametrize("has_set", [False, True])
@pytest.mark.parametrize("others", [(), (OTHER,)])
def test_owners_follow_the_policy(
    deleted: str,
    scaled: str,
    away: bool,
    by_pod: bool,
    by_set: bool,
    has_pod: bool,
    has_set: bool,
    others: tuple[OwnerReference, ...],
) -> None:
    owned, owner = [POD] if has_pod else [], [SET] if has_set else []
    held = claim(*map(reference, owned), *map(reference, owner), *others)
    owning = stateful(deleted, scaled)
    current = has_pod == by_pod and has_set == by_set
    assert is_owner_current(held, owning, POD, scaled_away=away) == current
    found = owners_with(held, owning, POD, scaled_away=away)
    wanted = ["p1"] if by_pod else ["s1"] if by_set else []
    assert [each.uid for each in found] == [*(each.uid for each in others), *wanted]
    assert all(each.controller for each in found if each.uid in ("p1", "s1"))


BOTH, WITH_SET = ("Delete", "Delete"), ("Delete", "Retain")
# the policy, the pod is scaled away, references, whether they stay, and the UIDs after an update
EDGES = [
    (BOTH, True, [reference(POD)], True, ["p1"]),
    (BOTH, True, [reference(POD, controller=False)], False, ["p1"]),
    (BOTH, True, [reference(POD, "stale")], True, []),
    (BOTH, True, [reference(POD), OTHER_CONTROLLER], False, ["b1"]),
    (BOTH, True, [OTHER_CONTROLLER], True, ["b1"]),
    (WITH_SET, False, [reference(SET)], True, ["s1"]),
    (WITH_SET, False, [reference(SET, controller=False)], False, ["s1"]),
    (WITH_SET, False, [reference(SET, "stale")], True, []),
    (WITH_SET, False, [reference(SET, "")], True, []),
    (WITH_SET, False, [reference(SET), OTHER_CONTROLLER], False, ["b1"]),
    (WITH_SET, False, [], False, ["s1"]),
    (("Retain", "Retain"), False, [reference(SET), OTHER_CONTROLLER], False, ["b1"]),
    (("Retain", "Retain"), False, [OTHER_CONTROLLER], True, ["b1"]),
]


@pytest.mark.parametrize(("policy", "away", "references", "current", "uids"), EDGES)
def test_stale_and_foreign_owners_are_respected(
    policy: tuple[str, str], away: bool, references: list[OwnerReference], current: bool, uids: list[str]
) -> None:
    held, owning = claim(*references), stateful(*policy)
    assert is_owner_current(held, owning, POD, scaled_away=away) == current
    assert [each.uid for each in owners_with(held, owning, POD, scaled_away=away)] == uids


UNEXPECTED: list[tuple[list[OwnerReference], bool]] = [
    ([OTHER_CONTROLLER], True),
    ([OTHER], False),
    ([structs.replace(OTHER_CONTROLLER, api_version="v1", kind="Pod")], True),
    ([structs.replace(OTHER_CONTROLLER, api_version="apps/v1", kind="Set")], True),
    ([reference(SET)], False),
    ([reference(SET, "stale")], True),
    ([reference(POD)], False),
    ([reference(POD, "stale")], True),
    ([reference(POD), OTHER_CONTROLLER], True),
    ([reference(POD), OTHER], False),
]


@pytest.mark.parametrize(("references", "unexpected"), UNEXPECTED)
def test_other_controllers_count_only_against_a_policy(
    references: list[OwnerReference], unexpected: bool
) -> None:
    held = claim(*references)
    assert not has_other_controller(held, stateful(), POD)
    for policy in (("Retain", "Delete"), ("Delete", "Retain"), ("Delete", "Delete")):
        assert has_other_controller(held, stateful(*policy), POD) == unexpected


PLAIN: list[tuple[list[OwnerReference], bool]] = [
    ([reference(POD), reference(SET)], False),
    ([reference(POD, controller=False), reference(SET)], True),
    ([reference(POD), reference(SET, controller=False)], True),
    ([reference(SET)], False),
    ([reference(POD)], False),
    ([], False),
    ([reference(SET, controller=False)], True),
    ([reference(POD, controller=False)], True),
    ([reference(POD, "other", controller=False)], False),
]


@pytest.mark.parametrize(("references", "plain"), PLAIN)
def test_owners_that_are_no_controllers_are_found(references: list[OwnerReference], plain: bool) -> None:
    assert has_plain_owner(claim(*references), SET, POD) == plain


@pytest.mark.parametrize(
    ("name", "uid", "stale"), [("db-1", "p1", False), ("db-1", "p0", True), ("db-2", "p0", False)]
)
def test_owner_of_the_same_name_and_another_uid_is_stale(name: str, uid: str, stale: bool) -> None:
    other = Pod(metadata=ObjectMeta(name=name, uid=uid))
    assert has_stale_owner(claim(reference(POD)), other) == stale


@pytest.mark.parametrize(
    ("version", "kind", "name", "named"),
    [
        ("v1", "Pod", "db-1", True),
        ("v1", "Pod", "joan", False),
        ("beta2", "Pod", "db-1", False),
        ("v1", "Job", "db-1", False),
    ],
)
def test_reference_names_an_object_by_version_kind_and_name(
    version: str, kind: str, name: str, named: bool
) -> None:
    assert refers_to(OwnerReference(api_version=version, kind=kind, name=name, uid="any"), POD) == named
