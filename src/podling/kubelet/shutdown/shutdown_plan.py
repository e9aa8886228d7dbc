"""The groups in which pods end at a shutdown of their node, lowest priority first. Pure.

Upstream: ``pkg/kubelet/nodeshutdown/nodeshutdown_manager.go`` (``migrateConfig``, ``groupByPriority``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from podling.api.core_v1 import Pod, PodCondition
from podling.kubelet.config import KubeletConfig
from podling.kubelet.configuration.grace_periods import PriorityGracePeriod
from podling.kubelet.status.conditions import DISRUPTION_TARGET
from podling.kubelet.status.status import Verdict
from podling.machinery.feature_gates import is_enabled

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000

MESSAGE = "Pod was terminated in response to imminent node shutdown."
TERMINATED = Verdict(
    "Terminated",
    MESSAGE,
    condition=PodCondition(
        type=DISRUPTION_TARGET, status="True", reason="TerminationByKubelet", message=MESSAGE
    ),
)
"""The end of a pod by the shutdown of its node."""

REJECTED = Verdict("NodeShutdown", "Pod was rejected: Pod was rejected as the node is shutting down.")
"""The refusal of a pod that comes while its node shuts down."""


class Group(Struct, frozen=True):
    """Pods that end together within some seconds."""

    seconds: int
    pods: tuple[Pod, ...]


def periods_of(config: KubeletConfig) -> tuple[PriorityGracePeriod, ...]:
    """Return the grace periods by priority, lowest first; none if the kubelet does not delay shutdowns."""
    gates = config.feature_gates
    if not is_enabled("GracefulNodeShutdown", gates):
        return ()
    chosen = config.shutdown_grace_period_by_pod_priority
    if not (chosen and is_enabled("GracefulNodeShutdownBasedOnPodPriority", gates)):
        chosen = _two_phases(config.shutdown_grace_period, config.shutdown_grace_period_critical_pods)
    return tuple(sorted(chosen, key=lambda period: period.priority))


def _two_phases(total: float, critical: float) -> tuple[PriorityGracePeriod, ...]:
    """Return the periods of regular pods, and then of critical ones."""
    if total <= 0 or critical > total:
        return ()
    return (
        PriorityGracePeriod(priority=0, shutdown_grace_period_seconds=int(total - critical)),
        PriorityGracePeriod(priority=SYSTEM_CRITICAL_PRIORITY, shutdown_grace_period_seconds=int(critical)),
    )


def seconds_requested(periods: Sequence[PriorityGracePeriod]) -> int:
    """Return the delay of the shutdown that all groups need together."""
    return sum(period.shutdown_grace_period_seconds for period in periods)


def groups_of(periods: Sequence[PriorityGracePeriod], pods: Sequence[Pod]) -> tuple[Group, ...]:
    """Return the groups that have pods, in the order of their end.

    A pod belongs to the period with the greatest priority up to its own; one below all of them to the first.
    """
    found: list[list[Pod]] = [[] for _ in periods]
    priorities = [period.priority for period in periods]
    for pod in pods:
        found[max(0, bisect_right(priorities, pod.spec.priority or 0) - 1)].append(pod)
    return tuple(
        Group(period.shutdown_grace_period_seconds, tuple(pods))
        for period, pods in zip(periods, found, strict=True)
        if pods
    )


def grace_seconds(pod: Pod, group: Group) -> int:
    """Return the pod's grace period: its own, at most its group's."""
    own = pod.spec.termination_grace_period_seconds
    return group.seconds if own is None else min(own, group.seconds)
