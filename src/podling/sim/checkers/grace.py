"""No process of a deleted pod is killed before its grace period is over, nor lives much longer.

It holds while no fault lasts: an earlier kill may have begun for another reason. Containers with probes that
may kill them, and pods that the kubelet itself has ended, have grace periods of their own.
"""

from __future__ import annotations

from datetime import timedelta

from podling.api.core_v1 import Container, Pod
from podling.runtime.base import ContainerEventType
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, ContainerChange, Report, Surroundings

KILLED = 137
LATE_SECONDS = 12.0
"""After the end of the grace period: the runtime's two seconds at least, and the time between two looks."""
QUIET_SECONDS = 120.0


class Grace(Checker):
    """Knows the pods that are being deleted, and the processes that run."""

    name = "grace"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._deleting: dict[str, tuple[str, Pod]] = {}
        """Key and object by UID."""
        self._running: dict[str, dict[str, str]] = {}
        """The names of running containers by pod UID and container ID."""

    def change(self, change: Change) -> None:
        if change.resource.kind != "Pod":
            return
        pod: Pod = change.last
        if change.new is None or pod.metadata.deletion_timestamp is None:
            self._deleting.pop(pod.metadata.uid or "", None)
        else:
            self._deleting[pod.metadata.uid or ""] = change.key, pod

    def container(self, change: ContainerChange) -> None:
        uid, container = change.sandbox.pod_uid, change.container
        if change.type is ContainerEventType.STARTED:
            self._running.setdefault(uid, {})[container.id] = container.name
        elif change.type in (ContainerEventType.EXITED, None):
            self._running.get(uid, {}).pop(container.id, None)
            killed = container.exit_code == KILLED and container.reason != "OOMKilled"
            if killed and uid in self._deleting:
                self._check_early(change)

    def tick(self) -> None:
        for uid, (key, pod) in list(self._deleting.items()):
            running = sorted(self._running.get(uid, {}).values())
            due = pod.metadata.deletion_timestamp
            if not running or due is None or not self._is_quiet(pod):
                continue
            if self.surroundings.now() - due > timedelta(seconds=LATE_SECONDS):
                self.report(f"{', '.join(running)} of {key} should have ended at {due:%H:%M:%S}")
                del self._deleting[uid]

    def _check_early(self, change: ContainerChange) -> None:
        key, pod = self._deleting[change.sandbox.pod_uid]
        due, name = pod.metadata.deletion_timestamp, change.container.name
        spec = next((each for each in pod.spec.containers if each.name == name), None)
        if spec is None or due is None or _has_own_grace(pod, spec) or not self._is_quiet(pod):
            return
        if change.at < due - timedelta(seconds=1):
            self.report(
                f"{name} of {key} was killed at {change.at:%H:%M:%S}; its grace ends at {due:%H:%M:%S}"
            )

    def _is_quiet(self, pod: Pod) -> bool:
        return self.has_been_quiet_for(QUIET_SECONDS + (pod.metadata.deletion_grace_period_seconds or 0))


def _has_own_grace(pod: Pod, container: Container) -> bool:
    """Return whether something else than the deletion may have killed the container."""
    if container.liveness_probe is not None or container.startup_probe is not None:
        return True
    if pod.status.phase in ("Succeeded", "Failed") or pod.spec.active_deadline_seconds is not None:
        return True
    return any(each.reason == "TerminationByKubelet" for each in pod.status.conditions)
