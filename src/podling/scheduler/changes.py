"""Changes of nodes and pods that matter to scheduling; most (heartbeats, statuses) do not."""

from __future__ import annotations

from podling.api.core_v1 import ContainerStatus, Node, Pod
from podling.scheduler.framework import Aspect, OwnChange, PodEvent
from podling.scheduler.podfacts import PodFacts

POD_UPDATED = "UnschedulablePodUpdate"
"""The event of a changed pod that waits for a node, as Kubernetes' metrics name it."""


def node_aspects(old: Node, new: Node) -> Aspect:
    """In which aspects the node changed."""
    changed = Aspect.NONE
    if old.status.allocatable != new.status.allocatable:
        changed |= Aspect.ALLOCATABLE
    if old.metadata.labels != new.metadata.labels:
        changed |= Aspect.LABELS
    if old.spec.taints != new.spec.taints or bool(old.spec.unschedulable) != bool(new.spec.unschedulable):
        changed |= Aspect.TAINTS
    return changed


def counts_differently(old: Pod, new: Pod) -> bool:
    """Return whether the facts of a placed pod must be worked out again."""
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or (old.metadata.deletion_timestamp is None) != (new.metadata.deletion_timestamp is None)
        or _held(old) != _held(new)
    )


def placed_pod_event(old: PodFacts, new: PodFacts) -> PodEvent:
    """Return the changes of a bound pod that may help waiting pods."""
    event = PodEvent(0)
    if old.labels != new.labels:
        event |= PodEvent.LABELS
    if any(amount > new.requests.get(name, 0) for name, amount in old.requests.items()):
        event |= PodEvent.SHRUNK
    return event


def own_change(old: PodFacts, new: PodFacts) -> OwnChange:
    """Return in which ways the pending pod itself changed; its status does not matter."""
    change = OwnChange.NONE
    if old.labels != new.labels:
        change |= OwnChange.LABELS
    if old.spec.tolerations != new.spec.tolerations:
        change |= OwnChange.TOLERATIONS
    if any(amount > new.requests.get(name, 0) for name, amount in old.requests.items()):
        change |= OwnChange.SMALLER
    before, after = old.pod.metadata, new.pod.metadata
    others = (before.annotations, before.owner_references) != (after.annotations, after.owner_references)
    resized = change & (OwnChange.TOLERATIONS | OwnChange.SMALLER)
    if others or (not resized and old.spec != new.spec):
        change |= OwnChange.OTHER
    return change


def own_change_label(old: PodFacts, new: PodFacts) -> str:
    """Return Kubernetes' label of a change of a pending pod; of several kinds, that of the first."""
    change = own_change(old, new)
    if change & OwnChange.LABELS:
        return f"{POD_UPDATED}PodLabel"
    if change & OwnChange.SMALLER:
        return f"{POD_UPDATED}PodScaleDown"
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        return f"{POD_UPDATED}PodSchedulingGatesEliminated"
    return f"{POD_UPDATED}PodToleration" if change & OwnChange.TOLERATIONS else POD_UPDATED


def _held(pod: Pod) -> list[tuple[object, ...]]:
    """Return the allocated resources of the containers, and whether a resize is refused."""
    statuses: tuple[ContainerStatus, ...] = (
        *pod.status.container_statuses,
        *pod.status.init_container_statuses,
    )
    held: list[tuple[object, ...]] = [
        (status.name, status.resources, status.allocated_resources)
        for status in statuses
        if status.resources is not None
    ]
    held += [
        (condition.reason,) for condition in pod.status.conditions if condition.type == "PodResizePending"
    ]
    return held
