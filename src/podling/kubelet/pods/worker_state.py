"""Where a pod stands with its worker: living, ending, ended, or done with. Pure.

    Syncing -> Terminating -> Terminated -> Finished

There is no way back. What demands the end may grow more urgent while the pod is ending: its grace
period only ever shrinks, and it is counted from the moment the end began, so that repeated or resumed
attempts never start it anew (``pkg/kubelet/pod_workers.go``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from podling.api.core_v1 import Pod
from podling.kubelet.status.phase import TERMINAL_PHASES
from podling.kubelet.status.status import Verdict
from podling.machinery.moments import shifted

ORPHAN_GRACE_SECONDS = 1
"""What a pod gets that the API no longer knows."""


@dataclass(frozen=True, slots=True)
class Syncing:
    """The pod is to live."""


@dataclass(frozen=True, slots=True)
class Terminating:
    """The pod's containers are to end, ``grace`` seconds after ``since`` at the latest."""

    since: datetime
    grace: int
    gone: bool = False
    """The API does not know the pod any more: there is nobody to report to."""


@dataclass(frozen=True, slots=True)
class Terminated:
    """Nothing of the pod runs; what it held is being given back."""

    gone: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """Nothing is left on the node but logs and ended containers of a pod that the API still has."""

    gone: bool = False


State = Syncing | Terminating | Terminated | Finished


@dataclass(frozen=True, slots=True)
class Demand:
    """All that may ask for the pod's end."""

    verdict: Verdict | None = None
    """The kubelet itself decided against the pod."""
    grace_override: int | None = None
    over: bool = False
    """Its containers have all ended for good."""
    gone: bool = False


def effective_grace(pod: Pod, demand: Demand, current: int | None) -> int:
    """Seconds that the pod gets, given what it has been granted so far; at least one."""
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
    """Whether anything demands that the pod ends."""
    return (
        demand.gone
        or demand.over
        or demand.verdict is not None
        or pod.metadata.deletion_timestamp is not None
        or pod.status.phase in TERMINAL_PHASES
    )


def advance(state: State, pod: Pod, demand: Demand, now: datetime, *, resumed: bool = False) -> State:
    """The state after looking at the pod and the demands anew.

    ``resumed``: this kubelet found the pod ending already, so part of its grace has passed.
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
    """Seconds of grace that are left; nothing if they are used up."""
    deadline = shifted(state.since, state.grace)
    return max(0.0, (deadline - now).total_seconds())
