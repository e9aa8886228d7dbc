"""The states of a pod worker. Pure.

    Syncing -> Terminating -> Terminated -> Finished

No state is ever left backwards. While a pod terminates its grace period can only shrink. It counts from the
moment the termination began, so repeated or resumed attempts do not restart it
(``pkg/kubelet/pod_workers.go``).
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from podling.api.core_v1 import Pod
from podling.kubelet.status.phase import TERMINAL_PHASES
from podling.kubelet.status.status import Verdict
from podling.machinery.moments import shifted

ORPHAN_GRACE_SECONDS = 1
"""The grace period of a pod that is gone from the API."""


class Syncing(Struct, frozen=True):
    """The pod is to run."""


class Terminating(Struct, frozen=True):
    """The pod's containers are to end, ``grace`` seconds after ``since`` at the latest."""

    since: datetime
    grace: int
    gone: bool = False
    """The pod is gone from the API: no status is reported."""


class Terminated(Struct, frozen=True):
    """No container of the pod runs; its volumes and other holdings are being released."""

    gone: bool = False


class Finished(Struct, frozen=True):
    """Only logs and ended containers are left on the node, until the pod is gone from the API."""

    gone: bool = False


State = Syncing | Terminating | Terminated | Finished


class Demand(Struct, frozen=True):
    """Everything that can demand the pod's end."""

    verdict: Verdict | None = None
    """The kubelet's own decision against the pod."""
    grace_override: int | None = None
    over: bool = False
    """True if all its containers have ended for good."""
    gone: bool = False


def effective_grace(pod: Pod, demand: Demand, current: int | None) -> int:
    """Return the pod's grace period in seconds, given the present one; at least one."""
    grace = current
    for offered in (pod.metadata.deletion_grace_period_seconds, demand.grace_override):
        if offered is not None and (grace is None or offered < grace):
            grace = offered
    if demand.gone and (grace is None or grace > ORPHAN_GRACE_SECONDS):
        grace = ORPHAN_GRACE_SECONDS
    if grace is None:
        grace = pod.spec.termination_grace_period_seconds
    return max(grace if grace is not None else 1, 1)


def ends(pod: Pod, demand: Demand) -> bool:
    """Return whether anything demands that the pod ends."""
    return (
        demand.gone
        or demand.over
        or demand.verdict is not None
        or pod.metadata.deletion_timestamp is not None
        or pod.status.phase in TERMINAL_PHASES
    )


def advance(state: State, pod: Pod, demand: Demand, now: datetime, *, resumed: bool = False) -> State:
    """Return the next state, given the pod and the demands.

    ``resumed``: this kubelet found the pod terminating already, so part of its grace period has passed.
    """
    if isinstance(state, Syncing):
        if not ends(pod, demand):
            return state
        grace, since, deadline = effective_grace(pod, demand, None), now, pod.metadata.deletion_timestamp
        if resumed and deadline is not None:
            since = min(now, shifted(deadline, -(pod.metadata.deletion_grace_period_seconds or 0)))
        return Terminating(since, grace, demand.gone)
    if isinstance(state, Terminating):
        grace = min(state.grace, effective_grace(pod, demand, state.grace))
        return replace(state, grace=grace, gone=state.gone or demand.gone)
    return replace(state, gone=state.gone or demand.gone)


def remaining(state: Terminating, now: datetime) -> float:
    """Return the seconds of grace that are left; 0 if they are used up."""
    deadline = shifted(state.since, state.grace)
    return max(0.0, (deadline - now).total_seconds())
