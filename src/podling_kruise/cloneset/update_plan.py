"""The pods to update next. Pure.

Upstream: ``SortUpdateIndexes`` and ``limitUpdateIndexes`` of ``cloneset_update.go``, and
``ActivePods`` of Kubernetes' ``controller_utils.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from podling.api.core_v1 import Pod
from podling.machinery.pods import is_ready
from podling_kruise.cloneset.removal_ranking import PHASES, compare_histories
from podling_kruise.cloneset.scale_plan import Differences, is_pod_available
from podling_kruise.cloneset.types import CloneSetSpec, RollingUpdate
from podling_kruise.lifecycle import NORMAL, PREPARING_UPDATE, is_of_revision, is_quiet, state_of
from podling_kruise.names import TEMPLATE_HASH
from podling_kruise.update_ranking import by_priority, scattered


def activity(one: Pod, other: Pod) -> int:
    """Compare two pods: unbound, pending, not ready, often restarted and young pods come first."""
    simple = (
        bool(one.spec.node_name) - bool(other.spec.node_name),
        PHASES.get(one.status.phase or "", 0) - PHASES.get(other.status.phase or "", 0),
        is_ready(one) - is_ready(other),
    )
    for difference in simple:
        if difference:
            return difference
    return compare_histories(one, other)


def update_order(rolling: RollingUpdate, waiting: Sequence[Pod], pods: Sequence[Pod]) -> list[Pod]:
    """Return the waiting pods in the order of the strategy; those that prepare already come first."""
    chosen = by_priority(rolling.priority_strategy, waiting)
    chosen = scattered(rolling.scatter_strategy, chosen, pods)
    return sorted(chosen, key=lambda pod: state_of(pod) != PREPARING_UPDATE)


def limited(
    spec: CloneSetSpec,
    found: Differences,
    waiting: Sequence[Pod],
    pods: Sequence[Pod],
    target: str,
    now: datetime,
) -> list[Pod]:
    """Return the first of the waiting pods: as many as may become unavailable now."""
    chosen = waiting[: abs(found.update_number)]
    bad = [pod for pod in pods if not is_pod_available(pod, spec.min_ready_seconds, now)]
    unavailable, bad_target = len(bad), sum(is_of_revision(pod, target) for pod in bad)
    count = 0
    for pod in chosen:
        if bad_target + count >= found.update_max_unavailable:
            break
        if is_pod_available(pod, spec.min_ready_seconds, now):
            if unavailable >= found.update_max_unavailable:
                break
            unavailable += 1
        count += 1
    return list(chosen[:count])


def is_at_rest(pod: Pod) -> bool:
    """Return whether a look at the pod can bring nothing forward: nearly all pods, nearly always."""
    return TEMPLATE_HASH in pod.metadata.labels and state_of(pod) == NORMAL and is_quiet(pod)
