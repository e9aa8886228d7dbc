"""Creates the volume claims of a stateful set's pods, and sets what they go with.

Upstream: ``stateful_pod_control.go``.
"""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.api.meta_v1 import OwnerReference
from podling.client.base import Client, Unreachable
from podling.client.events import EventRecorder
from podling.client.runner import NotYet
from podling.controllers.refusals import is_namespace_terminating
from podling.controllers.workloads.statefulset_claim_rules import (
    claim_names,
    claims_of,
    has_other_controller,
    is_owner_current,
    owners_with,
)
from podling.controllers.workloads.statefulset_rules import SetView, StatefulOwner
from podling.machinery.errors import ApiError, is_already_exists, is_not_found, unless_gone


class ClaimsFailed(NotYet):
    """Claims of a pod could not be created; says why for each."""


async def ensure_claims(
    client: Client, recorder: EventRecorder, stateful: StatefulOwner, pod: str, ordinal: int
) -> None:
    """Create the claims that the pod needs and that do not exist.

    Raises ClaimsFailed if one cannot be created, or is being deleted; if the namespace ends, the refusal.
    """
    failures: list[str] = []
    for claim in claims_of(stateful, ordinal):
        failed = await _ensure_claim(client, recorder, stateful, pod, claim)
        failures += [failed] if failed else []
    if failures:
        raise ClaimsFailed(failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]")


async def _ensure_claim(
    client: Client, recorder: EventRecorder, stateful: StatefulOwner, pod: str, claim: PersistentVolumeClaim
) -> str:
    """Create one claim if it does not exist; returns why that failed, or an empty text."""
    name, inside = claim.metadata.name or "", f"in StatefulSet {stateful.metadata.name}"
    verb = "retrieve"
    try:
        held = await _held(client, claim)
        if held is not None:
            return f"pvc {name} is being deleted" if held.metadata.deletion_timestamp is not None else ""
        verb = "create"
        await client.create(claim)
    except (ApiError, Unreachable) as error:
        if is_namespace_terminating(error):
            raise
        if not is_already_exists(error):
            text = f"create Claim {name} for Pod {pod} {inside} failed error: {error}"
            recorder.event(stateful, "Warning", "FailedCreate", text)
        return f"failed to {verb} PVC {name}: {error}"
    recorder.event(stateful, "Normal", "SuccessfulCreate", f"create Claim {name} Pod {pod} {inside} success")
    return ""


async def _held(client: Client, claim: PersistentVolumeClaim) -> PersistentVolumeClaim | None:
    try:
        return await client.get(PersistentVolumeClaim, claim.metadata.name or "", claim.metadata.namespace)
    except ApiError as error:
        if is_not_found(error):
            return None
        raise


async def update_owners(
    client: Client, recorder: EventRecorder, view: SetView[Any], pod: Pod, ordinal: int
) -> None:
    """Give the pod's claims the owners that the retention policy says."""
    stateful, scaled_away = view.stateful, ordinal not in view.wanted
    for name in claim_names(stateful, ordinal):
        with unless_gone():
            claim = await client.get(PersistentVolumeClaim, name, stateful.metadata.namespace)
            if has_other_controller(claim, stateful, pod):
                text = (
                    f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging "
                    "controller, the retention policy is ignored for this claim"
                )
                recorder.event(stateful, "Warning", "ConflictingController", text)
            if not is_owner_current(claim, stateful, pod, scaled_away=scaled_away):
                owners = owners_with(claim, stateful, pod, scaled_away=scaled_away)
                await _set_owners(client, claim, owners)


async def _set_owners(
    client: Client, claim: PersistentVolumeClaim, owners: tuple[OwnerReference, ...]
) -> None:
    metadata = claim.metadata
    references = [to_builtins(each) for each in owners]
    patch = {"resourceVersion": metadata.resource_version, "ownerReferences": references or None}
    await client.patch(PersistentVolumeClaim, metadata.name or "", {"metadata": patch}, metadata.namespace)
