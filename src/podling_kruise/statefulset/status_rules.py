"""The status of an Advanced StatefulSet. Pure.

Upstream: ``updateStatus``, ``completeRollingUpdate``, ``updatePVCStatus`` of ``pkg/controller/statefulset``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from podling.api.apps_v1 import StatefulSetCondition
from podling.api.core_v1 import PersistentVolumeClaim, Pod
from podling.clock import seconds_precision
from podling.controllers.workloads.statefulset_rules import (
    claim_name,
    is_running,
    is_terminating,
    ordinal_of,
    revision_of,
)
from podling.machinery.conditions import find
from podling_kruise.policies import ROLLING_UPDATE
from podling_kruise.statefulset.claim_sizes import is_compatible, is_ready
from podling_kruise.statefulset.types import StatefulSetStatus, VolumeClaimStatus
from podling_kruise.statefulset.update_plan import AdvancedView

FAILED_CREATE, FAILED_UPDATE = "FailedCreatePod", "FailedUpdatePod"


def status_of(view: AdvancedView, collisions: int, selector: str) -> StatefulSetStatus:
    """Return the status of the set as seen, without conditions.

    Once all pods are ready and of the update revision it is the current one, too.
    """
    stateful = view.stateful
    pods = [pod for pod in view.pods if ordinal_of(stateful, pod) is not None]
    current, update = view.current.metadata.name or "", view.update.metadata.name or ""
    ready = [pod for pod in pods if is_running(pod)]
    available = [pod for pod in ready if _is_available(view, pod)]
    counts = {name: _alive(pods, name) for name in (current, update)}
    status = StatefulSetStatus(
        observed_generation=stateful.metadata.generation or 0,
        replicas=len(pods),
        ready_replicas=len(ready),
        available_replicas=len(available),
        current_replicas=counts[current],
        updated_replicas=counts[update],
        updated_ready_replicas=sum(revision_of(pod) == update for pod in ready),
        updated_available_replicas=sum(revision_of(pod) == update for pod in available),
        current_revision=current,
        update_revision=update,
        collision_count=collisions,
        label_selector=selector,
        volume_claims=_claims(view),
    )
    rolling = stateful.spec.update_strategy.type == ROLLING_UPDATE
    if rolling and status.updated_replicas == status.replicas == status.ready_replicas:
        status = structs.replace(status, current_replicas=status.updated_replicas, current_revision=update)
    return status


def _is_available(view: AdvancedView, pod: Pod) -> bool:
    """Return whether the pod is available; one that is being deleted still counts."""
    alive = structs.replace(pod, metadata=structs.replace(pod.metadata, deletion_timestamp=None))
    return view.is_available(alive)


def _alive(pods: Sequence[Pod], revision: str) -> int:
    return sum(revision_of(pod) == revision and not is_terminating(pod) for pod in pods)


def with_conditions(
    status: StatefulSetStatus, old: StatefulSetStatus, failures: dict[str, Exception], now: datetime
) -> StatefulSetStatus:
    """Return the status with a condition for each failure, by type; those of the past are gone.

    A condition that the ``old`` status has already stays as it is, also with another message.
    """
    found = []
    for kind, failure in failures.items():
        verb = "create" if kind == FAILED_CREATE else "update"
        text = f"StatefulPodControl failed to {verb} Pod error: {failure}"
        new = StatefulSetCondition(
            type=kind, status="True", message=text, last_transition_time=seconds_precision(now)
        )
        found.append(find(old.conditions, kind) or new)
    return structs.replace(status, conditions=tuple(found))


def _claims(view: AdvancedView) -> tuple[VolumeClaimStatus, ...]:
    """Return how many pods have claims, and volumes, that are as large as each template."""
    ordinals = [*view.members, *view.condemned]
    return tuple(
        _claim_status(view, template, ordinals) for template in view.stateful.spec.volume_claim_templates
    )


def _claim_status(
    view: AdvancedView, template: PersistentVolumeClaim, ordinals: Sequence[int]
) -> VolumeClaimStatus:
    name = template.metadata.name or ""
    held = (view.claims.get(claim_name(name, view.stateful, ordinal)) for ordinal in ordinals)
    living = (claim for claim in held if claim is not None and claim.metadata.deletion_timestamp is None)
    compatible = [claim for claim in living if is_compatible(claim, template)]
    return VolumeClaimStatus(
        volume_claim_name=name,
        compatible_replicas=len(compatible),
        compatible_ready_replicas=sum(map(is_ready, compatible)),
    )
