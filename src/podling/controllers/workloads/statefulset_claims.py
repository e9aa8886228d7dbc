"""Creates the volume claims of a stateful set's pods, and sets what they go with.

Upstream: ``stateful_pod_control.go``.
"""

from __future__ import annotations

from msgspec import to_builtins

from podling.api.apps_v1 import StatefulSet
from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.base import Client
from podling.client.events import EventRecorder
from podling.controllers.workloads.statefulset_claim_rules import (
    claim_names,
    claims_of,
    has_other_controller,
    owner_of_claims,
    owners_with,
)
from podling.controllers.workloads.statefulset_rules import View
from podling.machinery import errors
from podling.machinery.errors import ApiError, is_not_found, unless_gone


async def ensure_claims(
    client: Client, recorder: EventRecorder, stateful: StatefulSet, pod: str, ordinal: int
) -> None:
    """Create the claims that the pod needs and that do not exist.

    Raises what creating raises, and 409 for a claim that is being deleted.
    """
    inside = f"in StatefulSet {stateful.metadata.name}"
    for claim in claims_of(stateful, ordinal):
        name = claim.metadata.name or ""
        try:
            held = await client.get(PersistentVolumeClaim, name, claim.metadata.namespace)
        except ApiError as error:
            if not is_not_found(error):
                raise
        else:
            if held.metadata.deletion_timestamp is not None:
                raise errors.internal(f"pvc {name} is being deleted")
            continue
        try:
            await client.create(claim)
        except ApiError as error:
            failed = f"create Claim {name} for Pod {pod} {inside} failed error: {error}"
            recorder.event(stateful, "Warning", "FailedCreate", failed)
            raise
        recorder.event(
            stateful, "Normal", "SuccessfulCreate", f"create Claim {name} Pod {pod} {inside} success"
        )


async def update_owners(client: Client, recorder: EventRecorder, view: View, pod: Pod, ordinal: int) -> None:
    """Give the pod's claims the owners that the retention policy says."""
    stateful = view.stateful
    wanted = owner_of_claims(stateful, pod, scaled_away=ordinal not in view.wanted)
    for name in claim_names(stateful, ordinal):
        with unless_gone():
            claim = await client.get(PersistentVolumeClaim, name, stateful.metadata.namespace)
            if has_other_controller(claim, stateful, pod):
                text = (
                    f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging "
                    "controller, the retention policy is ignored for this claim"
                )
                recorder.event(stateful, "Warning", "ConflictingController", text)
            owners = owners_with(claim, wanted, stateful, pod)
            if owners != claim.metadata.owner_references:
                await _set_owners(client, claim, owners)


async def _set_owners(
    client: Client, claim: PersistentVolumeClaim, owners: tuple[OwnerReference, ...]
) -> None:
    metadata = claim.metadata
    references = [to_builtins(each) for each in owners]
    patch = {"resourceVersion": metadata.resource_version, "ownerReferences": references or None}
    await client.patch(PersistentVolumeClaim, metadata.name or "", {"metadata": patch}, metadata.namespace)
