"""The volume claims of a stateful set's pods: made before the pod, and kept or given up after it.

By default claims outlive everything. ``persistentVolumeClaimRetentionPolicy`` can make them go with the set
(``whenDeleted: Delete``) or with the pod that is scaled away (``whenScaled: Delete``): then they get an owner
reference, and the garbage collector does the rest. Upstream: ``stateful_pod_control.go``.
"""

from __future__ import annotations

from msgspec import structs, to_builtins

from podling.api.apps_v1 import StatefulSet
from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.base import ApiObject, Client
from podling.client.events import EventRecorder
from podling.controllers.ownership import controller_reference
from podling.controllers.statefulset_rules import claim_name
from podling.machinery.errors import ApiError, is_not_found, unless_gone


def claims_of(stateful: StatefulSet, ordinal: int) -> list[PersistentVolumeClaim]:
    """The claims of the pod with this ordinal, as the set's templates describe them."""
    found = []
    for template in stateful.spec.volume_claim_templates:
        metadata = structs.replace(
            template.metadata,
            name=claim_name(template.metadata.name or "", stateful, ordinal),
            namespace=stateful.metadata.namespace,
            labels={**template.metadata.labels, **stateful.spec.selector.match_labels},
            owner_references=_owner(stateful),
        )
        found.append(structs.replace(template, metadata=metadata))
    return found


def goes_with_set(stateful: StatefulSet) -> bool:
    policy = stateful.spec.persistent_volume_claim_retention_policy
    return policy is not None and policy.when_deleted == "Delete"


def goes_with_pod(stateful: StatefulSet) -> bool:
    policy = stateful.spec.persistent_volume_claim_retention_policy
    return policy is not None and policy.when_scaled == "Delete"


def _owner(stateful: StatefulSet) -> tuple[OwnerReference, ...]:
    return (controller_reference(stateful),) if goes_with_set(stateful) else ()


async def ensure_claims(
    client: Client, recorder: EventRecorder, stateful: StatefulSet, pod: str, ordinal: int
) -> None:
    """Create the claims that the pod needs and that do not exist. Raises what creating raises."""
    for claim in claims_of(stateful, ordinal):
        name = claim.metadata.name or ""
        try:
            await client.get(PersistentVolumeClaim, name, claim.metadata.namespace)
            continue
        except ApiError as error:
            if not is_not_found(error):
                raise
        what = f"create Claim {name} Pod {pod} in StatefulSet {stateful.metadata.name}"
        try:
            await client.create(claim)
        except ApiError as error:
            recorder.event(stateful, "Warning", "FailedCreate", f"{what} failed error: {error}")
            raise
        recorder.event(stateful, "Normal", "SuccessfulCreate", f"{what} success")


async def give_up_claims(client: Client, stateful: StatefulSet, pod: Pod, ordinal: int) -> None:
    """Let a pod that is scaled away take its claims along, if the set says so."""
    if not goes_with_pod(stateful):
        return
    for claim in claims_of(stateful, ordinal):
        await _set_owner(client, claim, pod)


async def _set_owner(client: Client, claim: PersistentVolumeClaim, owner: ApiObject) -> None:
    references = [to_builtins(controller_reference(owner))]
    name, namespace = claim.metadata.name or "", claim.metadata.namespace
    with unless_gone():
        await client.patch(
            PersistentVolumeClaim, name, {"metadata": {"ownerReferences": references}}, namespace
        )
