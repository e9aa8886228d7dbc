"""The end of an in-place update, and the conditions around it. Pure.

An update is complete when every container that it changed has another image ID, or shows the wanted image
under the same ID; and when every resized container reports its new resources.
Upstream: ``DefaultCheckInPlaceUpdateCompleted``, ``defaultCheckPodNeedsBeUnready``, ``SetPodReadyCondition``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import structs

from podling.api.core_v1 import Container, ContainerStatus, Pod, PodCondition
from podling.machinery import quantity
from podling.machinery.conditions import find, with_condition
from podling_kruise.inplace.pod_plan import has_readiness_gate
from podling_kruise.inplace.runtime_containers import has_own_environment, runtime_records
from podling_kruise.inplace.update_state import UpdateSpec, UpdateState, pending_spec, update_state
from podling_kruise.names import IN_PLACE_UPDATE_READY

STARTED = PodCondition(type=IN_PLACE_UPDATE_READY, status="False", reason="StartInPlaceUpdate")
DONE = PodCondition(type=IN_PLACE_UPDATE_READY, status="True")


def unfinished(pod: Pod) -> str:
    """Return the reason why the pod's last update is not complete; empty if it is.

    Raises ``UnreadableRecord``.
    """
    if pending_spec(pod) is not None:
        return "still in grace period of in-place update"
    state = update_state(pod)
    if state is None:
        return ""
    if state.has_next_batch:
        return "existing containers to in-place update in next batches"
    return unfinished_containers(pod, state)


def unfinished_containers(pod: Pod, state: UpdateState) -> str:
    """Return the reason why the containers of the last batches are not all changed; empty if they are."""
    if state.update_env_from_metadata and (why := _old_environment(pod)):
        return why
    if state.update_resources and (why := _not_resized(pod)):
        return why
    images = {each.name: _tagged(each.image or "") for each in pod.spec.containers}
    left = dict(state.last_container_statuses)
    for status in pod.status.container_statuses:
        old = left.pop(status.name, None)
        shown = _tagged(status.image)
        if old is not None and old.image_id == status.image_id and images.get(status.name) != shown:
            return f"container {status.name} imageID not changed"
    return f"not found statuses of containers {', '.join(sorted(left))}" if left else ""


def _old_environment(pod: Pod) -> str:
    """Return the reason why the containers do not all have the variables that the pod's metadata gives."""
    records = runtime_records(pod)
    if records is None:
        return "waiting for all containers hash consistent, but runtime-container-meta not found"
    return "" if has_own_environment(pod, records) else "waiting for all containers hash consistent"


def _tagged(image: str) -> str:
    return image if ":" in image else f"{image}:latest"


def _not_resized(pod: Pod) -> str:
    statuses = {each.name: each for each in pod.status.container_statuses}
    if len(statuses) != len(pod.spec.containers):
        return "some container status is not reported"
    for container in pod.spec.containers:
        if not _has_resources(container, statuses.get(container.name)):
            return f"container {container.name} resources not changed"
    return ""


def _has_resources(container: Container, status: ContainerStatus | None) -> bool:
    found = status.resources if status is not None else None
    if found is None:
        return False
    wanted = container.resources
    return _same(wanted.limits, found.limits) and _same(wanted.requests, found.requests)


def _same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return one.keys() == other.keys() and all(
        quantity.parse(one[name]) == quantity.parse(other[name]) for name in one
    )


def closes_gate(pod: Pod, spec: UpdateSpec) -> bool:
    """Return whether the pod must be not ready during an update: not for a resize without a restart."""
    return has_readiness_gate(pod) and not leaves_running(pod, spec)


def leaves_running(pod: Pod, spec: UpdateSpec) -> bool:
    """Return whether an update is a resize that restarts no container."""
    return spec.is_resize_only and not _restarts(pod, spec)


def _restarts(pod: Pod, spec: UpdateSpec) -> bool:
    for container in pod.spec.containers:
        own = spec.container_resources.get(container.name)
        changed = {*own.limits, *own.requests} if own is not None else set()
        if any(
            policy.restart_policy == "RestartContainer" and policy.resource_name in changed
            for policy in container.resize_policy
        ):
            return True
    return False


def has_condition(pod: Pod, wanted: PodCondition) -> bool:
    """Return whether the pod has a condition with this status, reason and message."""
    found = find(pod.status.conditions, wanted.type)
    return found is not None and (found.status, found.reason, found.message) == (
        wanted.status,
        wanted.reason,
        wanted.message,
    )


def with_gate(pod: Pod, wanted: PodCondition, now: datetime) -> Pod:
    """Return the pod with the condition of a readiness gate; a closed gate makes it not ready at once.

    The kubelet makes it ready again.
    """
    conditions = with_condition(pod.status.conditions, wanted, now)
    changed = structs.replace(pod, status=structs.replace(pod.status, conditions=conditions))
    return _not_ready(changed, now) if wanted.status == "False" else changed


def _not_ready(pod: Pod, now: datetime) -> Pod:
    """Return the pod with the Ready condition that its readiness gates imply."""
    conditions = pod.status.conditions
    inside = find(conditions, "ContainersReady")
    if find(conditions, "Ready") is None or inside is None or inside.status != "True":
        return pod
    reasons = []
    for gate in pod.spec.readiness_gates:
        found = find(conditions, gate.condition_type)
        if found is None:
            reasons.append(
                f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.'
            )
        elif found.status != "True":
            text = (
                f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {found.status}'
            )
            reasons.append(text)
    ready = PodCondition(type="Ready", status="True")
    if reasons:
        ready = PodCondition(
            type="Ready", status="False", reason="ReadinessGatesNotReady", message=", ".join(reasons)
        )
    return structs.replace(
        pod, status=structs.replace(pod.status, conditions=with_condition(conditions, ready, now))
    )
