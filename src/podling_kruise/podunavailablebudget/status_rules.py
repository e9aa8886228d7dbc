"""The numbers of a PodUnavailableBudget. Pure. Upstream: ``podunavailablebudget_controller.go``.

A pod for which the budget was spent counts as unavailable until the operation is seen, at most for 20 s after
a deletion or an eviction and for 10 s after an update.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from podling.api.core_v1 import Pod
from podling.controllers.pod_state import is_active
from podling.controllers.workloads.int_or_percent import scaled
from podling_kruise.podunavailablebudget.protection import is_available
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget, PodUnavailableBudgetStatus

DELETION_TIMEOUT = timedelta(seconds=20)
UPDATE_TIMEOUT = timedelta(seconds=10)


class Records(Struct, frozen=True):
    """The pods for which the budget was spent and nothing is seen yet.

    ``broken``: those that were not deleted in time; ``seconds``: the time until the next of the others is.
    """

    disrupted: Mapping[str, datetime]
    unavailable: Mapping[str, datetime]
    broken: tuple[Pod, ...] = ()
    seconds: float | None = None


def records(status: PodUnavailableBudgetStatus, pods: Sequence[Pod], now: datetime) -> Records:
    """Return what is left of the records of a status."""
    active = [pod for pod in pods if is_active(pod)]
    disrupted, late = _kept(status.disrupted_pods, active, DELETION_TIMEOUT, now)
    unavailable, _ = _kept(status.unavailable_pods, active, UPDATE_TIMEOUT, now)
    ends = [since + DELETION_TIMEOUT for since in disrupted.values()]
    ends += [since + UPDATE_TIMEOUT for since in unavailable.values()]
    seconds = (min(ends) - now) / timedelta(seconds=1) if ends else None
    return Records(disrupted, unavailable, tuple(late), seconds)


def _kept(
    times: Mapping[str, datetime], pods: Sequence[Pod], timeout: timedelta, now: datetime
) -> tuple[dict[str, datetime], list[Pod]]:
    kept: dict[str, datetime] = {}
    late = []
    for pod in pods:
        name = pod.metadata.name or ""
        since = times.get(name)
        if since is None:
            continue
        if since + timeout < now:
            late.append(pod)
        else:
            kept[name] = since
    return kept, late


def desired_available(budget: PodUnavailableBudget, total: int) -> int:
    """Return the number of pods that must stay available. Raises ``ValueError`` for a share that is none."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(0, total - scaled(spec.max_unavailable, total, round_up=True))
    return scaled(spec.min_available, total, round_up=True)


def status_of(
    budget: PodUnavailableBudget, pods: Sequence[Pod], total: int, found: Records
) -> PodUnavailableBudgetStatus:
    """Return the status. Raises ``ValueError`` for a share that is none."""
    recorded = {*found.disrupted, *found.unavailable}
    current = sum(pod.metadata.name not in recorded and is_available(pod) for pod in pods)
    desired = desired_available(budget, total)
    return PodUnavailableBudgetStatus(
        observed_generation=budget.metadata.generation or 0,
        disrupted_pods=dict(found.disrupted),
        unavailable_pods=dict(found.unavailable),
        unavailable_allowed=max(0, current - desired),
        current_available=current,
        desired_available=desired,
        total_replicas=total,
    )
