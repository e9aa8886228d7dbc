"""The volume claims of a stateful set's pods: which there should be, and what they should go with. Pure.

By default claims outlive everything. ``persistentVolumeClaimRetentionPolicy`` can make them go with the set
(``whenDeleted: Delete``) or with the pod that is scaled away (``whenScaled: Delete``): then they get an owner
reference, and the garbage collector does the rest. Upstream: ``stateful_set_utils.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.base import ApiObject
from podling.controllers.owner_references import controller_reference
from podling.controllers.workloads.statefulset_rules import SetView, StatefulOwner, claim_name


def claims_of(stateful: StatefulOwner, ordinal: int) -> list[PersistentVolumeClaim]:
    """Return the claims of the pod with this ordinal, as the set's templates describe them."""
    found = []
    for template in stateful.spec.volume_claim_templates:
        metadata = structs.replace(
            template.metadata,
            name=claim_name(template.metadata.name or "", stateful, ordinal),
            namespace=stateful.metadata.namespace,
            labels={**template.metadata.labels, **stateful.spec.selector.match_labels},
            owner_references=(controller_reference(stateful),) if goes_with_set(stateful) else (),
        )
        found.append(structs.replace(template, metadata=metadata))
    return found


def goes_with_set(stateful: StatefulOwner) -> bool:
    policy = stateful.spec.persistent_volume_claim_retention_policy
    return policy is not None and policy.when_deleted == "Delete"


def goes_with_pod(stateful: StatefulOwner) -> bool:
    policy = stateful.spec.persistent_volume_claim_retention_policy
    return policy is not None and policy.when_scaled == "Delete"


def claim_names(stateful: StatefulOwner, ordinal: int) -> Iterable[str]:
    templates = stateful.spec.volume_claim_templates
    return (claim_name(each.metadata.name or "", stateful, ordinal) for each in templates)


def _present(view: SetView[Any], ordinal: int) -> Iterable[PersistentVolumeClaim]:
    found = map(view.claims.get, claim_names(view.stateful, ordinal))
    return (claim for claim in found if claim is not None)


def are_claims_missing(view: SetView[Any], ordinal: int) -> bool:
    return any(name not in view.claims for name in claim_names(view.stateful, ordinal))


def are_claims_stale(view: SetView[Any], ordinal: int) -> bool:
    """Return whether a claim belongs to an earlier pod of this ordinal, and will go with it."""
    if not goes_with_pod(view.stateful):
        return False
    name = f"{view.stateful.metadata.name}-{ordinal}"
    owners = (ref for claim in _present(view, ordinal) for ref in claim.metadata.owner_references)
    return any((ref.api_version, ref.kind, ref.name) == ("v1", "Pod", name) for ref in owners)


def are_owners_right(view: SetView[Any], pod: Pod, ordinal: int) -> bool:
    """Return whether the pod's claims have the owners that the retention policy says."""
    scaled_away = ordinal not in view.wanted
    return all(
        is_owner_current(claim, view.stateful, pod, scaled_away=scaled_away)
        for claim in _present(view, ordinal)
    )


def owner_of_claims(stateful: StatefulOwner, pod: Pod, *, scaled_away: bool) -> ApiObject | None:
    """Return the object that takes the pod's claims along; None if they outlive both."""
    if goes_with_pod(stateful) and scaled_away:
        return pod
    return stateful if goes_with_set(stateful) else None


def is_owner_current(
    claim: PersistentVolumeClaim, stateful: StatefulOwner, pod: Pod, *, scaled_away: bool
) -> bool:
    """Return whether a claim needs no change of its owners.

    One that refers to an earlier set or pod of the same name is left to the garbage collector.
    """
    if has_stale_owner(claim, stateful) or has_stale_owner(claim, pod):
        return True
    if has_other_controller(claim, stateful, pod):
        return not (has_owner(claim, stateful) or has_owner(claim, pod))
    if has_plain_owner(claim, stateful, pod):
        return False
    wanted = owner_of_claims(stateful, pod, scaled_away=scaled_away)
    return has_owner(claim, stateful) == (wanted is stateful) and has_owner(claim, pod) == (wanted is pod)


def owners_with(
    claim: PersistentVolumeClaim, stateful: StatefulOwner, pod: Pod, *, scaled_away: bool
) -> tuple[OwnerReference, ...]:
    """Return the owner references that a claim should have.

    All references to the set and the pod are replaced by the wanted one; by none if another controller
    manages the claim.
    """
    references = tuple(
        ref
        for ref in claim.metadata.owner_references
        if not (refers_to(ref, stateful) or refers_to(ref, pod))
    )
    wanted = owner_of_claims(stateful, pod, scaled_away=scaled_away)
    if wanted is None or has_other_controller(claim, stateful, pod):
        return references
    if any(ref.uid == wanted.metadata.uid for ref in references):
        return references
    return (*references, controller_reference(wanted))


def refers_to(ref: OwnerReference, obj: ApiObject) -> bool:
    """Return whether a reference names the object. Its UID may be another one's."""
    return (ref.api_version, ref.kind, ref.name) == (obj.api_version, obj.kind, obj.metadata.name)


def has_owner(claim: PersistentVolumeClaim, owner: ApiObject) -> bool:
    return any(ref.uid == owner.metadata.uid for ref in claim.metadata.owner_references)


def has_stale_owner(claim: PersistentVolumeClaim, owner: ApiObject) -> bool:
    """Return whether a claim refers to an earlier object with the owner's name."""
    named = next((ref for ref in claim.metadata.owner_references if refers_to(ref, owner)), None)
    return named is not None and named.uid != owner.metadata.uid


def has_plain_owner(claim: PersistentVolumeClaim, stateful: StatefulOwner, pod: Pod) -> bool:
    """Return whether the set or the pod owns the claim without being its controller."""
    ours = (stateful.metadata.uid, pod.metadata.uid)
    return any(ref.uid in ours and not ref.controller for ref in claim.metadata.owner_references)


def has_other_controller(claim: PersistentVolumeClaim, stateful: StatefulOwner, pod: Pod) -> bool:
    """Return whether something else manages the claim, against the set's retention policy."""
    if not (goes_with_pod(stateful) or goes_with_set(stateful)):
        return False
    for ref in claim.metadata.owner_references:
        named = next((each for each in (stateful, pod) if refers_to(ref, each)), None)
        if named is not None and ref.uid != named.metadata.uid:
            return True
        if named is None and ref.controller:
            return True
    return False
