"""The numbers of pods to create, delete and update. Pure.

Upstream: ``calculateDiffsWithExpectation`` and its helpers in ``pkg/controller/cloneset/sync``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.controllers.pod_state import is_available
from podling.controllers.workloads.int_or_percent import scaled
from podling.machinery.conditions import find
from podling.machinery.numbers import INT32_MAX
from podling_kruise.cloneset.types import MAX_UNAVAILABLE, CloneSetSpec
from podling_kruise.lifecycle import NORMAL, PREPARING_DELETE, is_of_revision, state_of
from podling_kruise.names import IN_PLACE_UPDATE_READY, PARTITION_ROLLBACK, SPECIFIED_DELETE


class Differences(Struct, frozen=True):
    """The differences between the pods that there are and those wanted.

    ``update_number`` is negative if pods go back to the old revision. The limits bound the pods to create,
    and the available pods to delete and to update.
    """

    scale_up: int = 0
    scale_up_old: int = 0
    scale_down: int = 0
    scale_down_old: int = 0
    scale_up_limit: int = 0
    delete_ready_limit: int = 0
    use_surge: int = 0
    use_surge_old: int = 0
    update_number: int = 0
    update_max_unavailable: int = 0


class _Counts(Struct):
    """The pods of one revision."""

    all: int = 0
    active: int = 0
    pre_deleting: int = 0
    to_delete: int = 0
    unavailable: int = 0


class _Bounds(Struct, frozen=True):
    partition: int
    max_surge: int
    max_unavailable: int
    scale_max_unavailable: int


IsUpdated = Callable[[Pod], bool]


def is_specified_delete(spec: CloneSetSpec, pod: Pod) -> bool:
    """Return whether the user chose the pod to be deleted."""
    return SPECIFIED_DELETE in pod.metadata.labels or pod.metadata.name in spec.scale_strategy.pods_to_delete


def is_update_ready(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Return whether the pod is running, available, and not in the middle of an in-place update."""
    if pod.status.phase != "Running" or not is_available(pod, min_ready_seconds, now):
        return False
    gate = find(pod.status.conditions, IN_PLACE_UPDATE_READY)
    return gate is None or gate.status == "True"


def is_pod_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Return whether the pod counts as available: update-ready, and held by no hook."""
    return state_of(pod) in ("", NORMAL) and is_update_ready(pod, min_ready_seconds, now)


def partition_of(partition: int | str | None, replicas: int) -> int:
    """Return the number of pods that keep the old revision. Raises ``ValueError``.

    A share below 100 % leaves at least one pod to update.
    """
    value = scaled(partition, replicas, round_up=True)
    if replicas > 1 and value == replicas and isinstance(partition, str) and partition != "100%":
        value = replicas - 1
    return max(min(value, replicas), 0)


def differences(
    spec: CloneSetSpec,
    pods: Sequence[Pod],
    revisions: tuple[str, str],
    gates: Mapping[str, bool],
    now: datetime,
    is_updated: IsUpdated | None = None,
) -> Differences:
    """Return the differences between the active ``pods`` and those wanted.

    Args:
        revisions: the names of the current and of the update revision.
        is_updated: selects the pods of the update revision; by their labels if not given.
    """
    current, update = revisions
    bounds, replicas = _bounds(spec), spec.wanted
    belongs = is_updated or (lambda pod: is_of_revision(pod, update))
    new, old = _counts(spec, pods, belongs, now)
    unavailable = new.pre_deleting + old.pre_deleting + new.unavailable + old.unavailable
    old_surplus = old.active - bounds.partition
    new_surplus = new.active - (replicas - bounds.partition)
    if update == current or not gates[PARTITION_ROLLBACK]:
        old_surplus, new_surplus = max(old_surplus, 0), min(new_surplus, 0)
    surge, surge_old = _surge(bounds, new, old, unavailable, (old_surplus, new_surplus))
    total, total_old = len(pods), old.all
    if spec.scale_strategy.exclude_preparing_delete:
        total -= old.pre_deleting + new.pre_deleting
        total_old -= old.pre_deleting
    wanted, wanted_old = replicas + surge, bounds.partition + surge_old
    up, down = max(wanted - total, 0), max(total - old.to_delete - new.to_delete - wanted, 0)
    deletes = bool(new.to_delete or old.to_delete or down)
    extra = len(pods) - replicas
    number = old_surplus if abs(old_surplus) <= abs(new_surplus) else -new_surplus
    return Differences(
        scale_up=up,
        scale_up_old=max(wanted_old - total_old, 0) if up else 0,
        scale_up_limit=min(up, max(bounds.scale_max_unavailable - unavailable, 0)),
        scale_down=down,
        scale_down_old=max(total_old - old.to_delete - wanted_old, 0) if down else 0,
        delete_ready_limit=max(bounds.max_unavailable + extra - unavailable, 0) if deletes else 0,
        use_surge=surge,
        use_surge_old=surge_old,
        update_number=number,
        update_max_unavailable=bounds.max_unavailable + extra if number else 0,
    )


def _bounds(spec: CloneSetSpec) -> _Bounds:
    """Return the settings as numbers; one that cannot be read counts as 0, as upstream."""
    replicas, rolling = spec.wanted, spec.update_strategy.rolling_update
    scale_limit = spec.scale_strategy.max_unavailable
    scale_max = INT32_MAX if scale_limit is None else _number(scale_limit, replicas, round_up=True)
    if rolling is None:
        return _Bounds(0, 0, _number(MAX_UNAVAILABLE, replicas, round_up=False), scale_max)
    surge = 0 if rolling.paused else _number(rolling.max_surge, replicas, round_up=True)
    limit = MAX_UNAVAILABLE if rolling.max_unavailable is None else rolling.max_unavailable
    try:
        partition = partition_of(rolling.partition, replicas)
    except ValueError:
        partition = 0
    return _Bounds(partition, surge, _number(limit, replicas, round_up=surge == 0), scale_max)


def _number(value: int | str | None, total: int, *, round_up: bool) -> int:
    try:
        return scaled(value, total, round_up=round_up)
    except ValueError:
        return 0


def _counts(
    spec: CloneSetSpec, pods: Sequence[Pod], belongs: IsUpdated, now: datetime
) -> tuple[_Counts, _Counts]:
    """Return the counts of the pods of the update revision, and of all others."""
    new, old = _Counts(), _Counts()
    for pod in pods:
        counts = new if belongs(pod) else old
        counts.all += 1
        if state_of(pod) == PREPARING_DELETE:
            counts.pre_deleting += 1
            continue
        counts.active += 1
        if is_specified_delete(spec, pod):
            counts.to_delete += 1
        elif not is_pod_available(pod, spec.min_ready_seconds, now):
            counts.unavailable += 1
    return new, old


def _surge(
    bounds: _Bounds, new: _Counts, old: _Counts, unavailable: int, surpluses: tuple[int, int]
) -> tuple[int, int]:
    """Return the pods above the desired number, and those of them of the old revision.

    Surge replaces pods to be deleted beyond what may be unavailable, or pods to be updated: the larger number
    of both.
    """
    if bounds.max_surge <= 0:
        return 0, 0
    scale, scale_old, doomed = 0, 0, new.to_delete + old.to_delete
    if doomed:
        scale = min(max(unavailable + doomed - bounds.max_unavailable, 0), doomed)
        scale_old = max(scale - new.to_delete, 0)
    update, update_old = _update_surge(*surpluses)
    chosen, chosen_old = (scale, scale_old) if scale >= update else (update, update_old)
    surge = min(bounds.max_surge, chosen)
    return surge, min(surge, chosen_old)


def _update_surge(old_surplus: int, new_surplus: int) -> tuple[int, int]:
    """Return the surge for pods that go from one revision to the other: one has too many, one too few."""
    if old_surplus * new_surplus >= 0:
        return 0, 0
    surge = min(abs(old_surplus), abs(new_surplus))
    return surge, surge if old_surplus < 0 else 0
