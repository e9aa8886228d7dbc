"""The volume claims of a stateful set's pods: which there should be, and what they should go with. Pure.

By default claims outlive everything. ``persistentVolumeClaimRetentionPolicy`` can make them go with the set
(``whenDeleted: Delete``) or with the pod that is scaled away (``whenScaled: Delete``): then they get an owner
reference, and the garbage collector does the rest. Upstream: ``stateful_set_utils.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from podling.api.apps_v1 import StatefulSet
from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.base import ApiObject
from podling.controllers.owner_references import controller_of, controller_reference, without_owners
from podling.controllers.workloads.statefulset_rules import View, claim_name


def claims_of(stateful: StatefulSet, ordinal: int) -> list[PersistentVolumeClaim]:
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


def goes_with_set(stateful: StatefulSet) -> bool:
    policy = stateful.spec.persistent_volume_claim_retention_policy
    return policy is not None and policy.when_deleted == "Delete"


def goes_with_pod(stateful: StatefulSet) -> bool:
    policy = stateful.spec.persistent_volume_claim_retention_policy
    return policy is not None and policy.when_scaled == "Delete"


def claim_names(stateful: StatefulSet, ordinal: int) -> Iterable[str]:
    templates = stateful.spec.volume_claim_templates
    return (claim_name(each.metadata.name or "", stateful, ordinal) for each in templates)


def _present(view: View, ordinal: int) -> Iterable[PersistentVolumeClaim]:
    found = map(view.claims.get, claim_names(view.stateful, ordinal))
    return (claim for claim in found if claim is not None)


def are_claims_missing(view: View, ordinal: int) -> bool:
    return any(name not in view.claims for name in claim_names(view.stateful, ordinal))


def are_claims_stale(view: View, ordinal: int) -> bool:
    """Return whether a claim belongs to an earlier pod of this ordinal, and will go with it."""
    if not goes_with_pod(view.stateful):
        return False
    name = f"{view.stateful.metadata.name}-{ordinal}"
    owners = (ref for claim in _present(view, ordinal) for ref in claim.metadata.owner_references)
    return any(ref.kind == "Pod" and ref.name == name for ref in owners)


def are_owners_right(view: View, pod: Pod, ordinal: int) -> bool:
    """Return whether the pod's claims have the owners that the retention policy says."""
    wanted = owner_of_claims(view.stateful, pod, scaled_away=ordinal not in view.wanted)
    return all(
        claim.metadata.owner_references == owners_with(claim, wanted, view.stateful, pod)
        for claim in _present(view, ordinal)
    )


def owner_of_claims(stateful: StatefulSet, pod: Pod, *, scaled_away: bool) -> ApiObject | None:
    """Return the object that takes the pod's claims along; None if they outlive both."""
    if goes_with_pod(stateful) and scaled_away:
        return pod
    return stateful if goes_with_set(stateful) else None


def owners_with(
    claim: PersistentVolumeClaim, wanted: ApiObject | None, stateful: StatefulSet, pod: Pod
) -> tuple[OwnerReference, ...]:
    """Return the owner references of a claim; one that something else manages is left to that."""
    keep = None if wanted is None or has_other_controller(claim, stateful, pod) else wanted
    uid = "" if keep is None else keep.metadata.uid
    ours = {each.metadata.uid or "" for each in (stateful, pod)}
    references = without_owners(claim.metadata, ours - {uid or ""})
    if keep is None or any(ref.uid == uid for ref in references):
        return references
    return (*references, controller_reference(keep))


def has_other_controller(claim: PersistentVolumeClaim, stateful: StatefulSet, pod: Pod) -> bool:
    ref = controller_of(claim)
    return ref is not None and ref.uid not in (stateful.metadata.uid, pod.metadata.uid)
