"""The pods of a controller that may be missing at a time, and decisions about one of them. Pure.

Upstream: ``updater/restriction``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.client.base import Key, key_of
from podling.controllers.owner_references import controller_of
from podling.machinery.conditions import find
from podling_vpa.names import IN_PLACE, IN_PLACE_OR_RECREATE
from podling_vpa.types import VerticalPodAutoscaler
from podling_vpa.updater.settings import DEFERRED_TIMEOUT, IN_PROGRESS_TIMEOUT, UpdaterSettings

PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
DEFERRED, INFEASIBLE, ERROR = "Deferred", "Infeasible", "Error"
JOB = "Job"


class Creator(Struct, frozen=True):
    """The controller that made a pod: its ReplicaSet, not the Deployment above it."""

    namespace: str
    kind: str
    name: str


class NoReplicas(Exception):
    """A controller whose number of replicas cannot be read."""


class Group:
    """The pods of one controller, and the updates of this round."""

    def __init__(self, configured: int, tolerance: float, pods: Iterable[Pod]) -> None:
        self._configured = configured
        self._tolerance = int(configured * tolerance)
        self._running = sum(pod.status.phase != "Pending" for pod in pods)
        self._evicted = self._resized = 0

    def can_disrupt(self) -> bool:
        """Return whether one more pod may be missing."""
        alive = self._running - (self._evicted + self._resized)
        if alive > self._configured - self._tolerance:
            return True
        untouched = not (self._tolerance or self._evicted or self._resized)
        return untouched and self._configured == self._running

    def note_eviction(self) -> None:
        self._evicted += 1

    def note_resize(self) -> None:
        self._resized += 1


class Decision(Enum):
    """The answer to a resize in place."""

    APPROVED = "InPlaceApproved"
    DEFERRED = "InPlaceDeferred"
    EVICT = "InPlaceEvict"
    INFEASIBLE = "InPlaceInfeasible"


def creator_of(pod: Pod) -> Creator | None:
    owner = controller_of(pod)
    if owner is None:
        return None
    return Creator(pod.metadata.namespace or "", owner.kind, owner.name)


def groups_of(
    pods: Iterable[Pod],
    autoscaler: VerticalPodAutoscaler,
    settings: UpdaterSettings,
    replicas_of: Callable[[Creator], int],
) -> Mapping[Key, Group]:
    """Return the group of each pod; those of controllers with too few pods have none.

    Args:
        replicas_of: returns the configured replicas; raises ``NoReplicas``.
    """
    by_creator: dict[Creator, list[Pod]] = {}
    for pod in pods:
        creator = creator_of(pod)
        if creator is not None:
            by_creator.setdefault(creator, []).append(pod)
    policy = autoscaler.spec.update_policy
    own = policy.min_replicas if policy is not None else None
    required = own if own is not None else settings.min_replicas
    found: dict[Key, Group] = {}
    for creator, members in by_creator.items():
        if len(members) < required:
            continue
        try:
            configured = len(members) if creator.kind == JOB else replicas_of(creator)
        except NoReplicas:
            continue
        group = Group(configured, settings.tolerance, members)
        found.update({key_of(pod): group for pod in members})
    return found


def is_resizing(pod: Pod) -> bool:
    """Return whether the first condition of a resize is True."""
    found = next((each for each in pod.status.conditions if each.type in (PENDING, IN_PROGRESS)), None)
    return found is not None and found.status == "True"


def can_evict(pod: Pod, group: Group | None, since: datetime, now: datetime) -> bool:
    """Return whether a pod may be evicted now.

    Args:
        since: the time at which its resize, if there is one, was first seen.
    """
    if group is None:
        return False
    if pod.status.phase == "Pending":
        return True
    if is_resizing(pod):
        return has_failed_resize(pod, group, since, now)
    return group.can_disrupt()


def has_failed_resize(pod: Pod, group: Group, since: datetime, now: datetime) -> bool:
    """Return whether a resize is infeasible, has failed, or takes too long, and the pod may be missing."""
    if not is_resizing(pod) or not group.can_disrupt():
        return False
    pending = find(pod.status.conditions, PENDING)
    if pending is not None:
        return now - since > DEFERRED_TIMEOUT if pending.reason == DEFERRED else True
    running = find(pod.status.conditions, IN_PROGRESS)
    if running is None:
        return False
    if not running.reason and not running.message:
        return now - since > IN_PROGRESS_TIMEOUT
    return True


def resize_decision(
    pod: Pod, autoscaler: VerticalPodAutoscaler, group: Group | None, since: datetime, now: datetime
) -> Decision:
    """Return whether a pod may be resized in place now."""
    if group is None or pod.status.phase == "Pending" or autoscaler.status.recommendation is None:
        return Decision.DEFERRED
    if is_resizing(pod):
        if autoscaler.update_mode == IN_PLACE:
            pending = find(pod.status.conditions, PENDING)
            is_infeasible = pending is not None and pending.reason == INFEASIBLE
            return Decision.INFEASIBLE if is_infeasible else Decision.DEFERRED
        return Decision.EVICT if has_failed_resize(pod, group, since, now) else Decision.DEFERRED
    return Decision.APPROVED if group.can_disrupt() else Decision.DEFERRED


def resizes(autoscaler: VerticalPodAutoscaler, *, allows_in_place: bool) -> bool:
    """Return whether the mode is one that resizes; ``InPlace`` needs its feature gate."""
    mode = autoscaler.update_mode
    return mode == IN_PLACE_OR_RECREATE or (mode == IN_PLACE and allows_in_place)
