"""``activeDeadlineSeconds``: the time limit of a pod on its node, all restarts included."""

from __future__ import annotations

from datetime import datetime

from podling.api.core_v1 import Pod, PodStatus
from podling.kubelet.status.status import Verdict
from podling.machinery.moments import shifted

REASON = "DeadlineExceeded"
MESSAGE = "Pod was active on the node longer than the specified deadline"


def active_until(pod: Pod, status: PodStatus) -> datetime | None:
    """Return the moment of the deadline; None if there is none, or the pod has not started."""
    if pod.spec.active_deadline_seconds is None or status.start_time is None:
        return None
    return shifted(status.start_time, pod.spec.active_deadline_seconds)


def deadline_verdict(pod: Pod, status: PodStatus, now: datetime) -> Verdict | None:
    """Return the verdict on a pod that is past its deadline."""
    until = active_until(pod, status)
    return Verdict(REASON, MESSAGE) if until is not None and now >= until else None
