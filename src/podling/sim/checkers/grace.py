"""No process of a deleted pod is killed before its grace period is over, nor lives much longer.

It holds while no fault lasts: an earlier kill may have begun for another reason. Containers with probes that
may kill them, and pods that the kubelet itself has ended, have grace periods of their own.
"""

from __future__ import annotations

from datetime import timedelta

from podling.api.core_v1 import Container, Pod
from podling.runtime.base import ContainerEventType
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, ContainerChange, Deletion, Report, Surroundings
from podling.sim.checkers.ready_nodes import RECOVERY_SECONDS, ReadyNodes

KILLED = 137
LATE_SECONDS = 12.0
"""After the end of the grace period: the runtime's two seconds at least, and the time between two looks."""


class Grace(Checker):
    """Knows the pods that are being deleted, and the processes that run."""

    name = "grace"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._deleting: dict[str, Deletion] = {}
        """By UID."""
        self._nodes = ReadyNodes()
        self._running: dict[str, dict[str, str]] = {}
        """The names of running containers by pod UID and container ID."""

    def change(self, change: Change) -> None:
        self._nodes.note(change)
        if change.resource.kind != "Pod":
            return
        pod: Pod = change.last
        uid = pod.metadata.uid or ""
        if change.new is None or pod.metadata.deletion_timestamp is None:
            self._deleting.pop(uid, None)
        else:
            since = self._deleting[uid].since if uid in self._deleting else change.at
            self._deleting[uid] = Deletion(change.key, pod, since)

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
        late = self.surroundings.now() - timedelta(seconds=LATE_SECONDS)
        for uid, each in list(self._deleting.items()):
            running = sorted(self._running.get(uid, {}).values())
            ready = self._nodes.since(each.pod.spec.node_name or "")
            if not running or ready is None or max(each.due, ready) >= late or not self._is_quiet(each):
                continue
            self.report(f"{', '.join(running)} of {each.key} should have ended at {each.due:%H:%M:%S}")
            del self._deleting[uid]

    def _check_early(self, change: ContainerChange) -> None:
        found, name = self._deleting[change.sandbox.pod_uid], change.container.name
        spec = next((each for each in found.pod.spec.containers if each.name == name), None)
        if spec is None or _has_own_grace(found.pod, spec) or not self._is_quiet(found):
            return
        if change.at < found.due - timedelta(seconds=1):
            text = f"was killed at {change.at:%H:%M:%S}; its grace ends at {found.due:%H:%M:%S}"
            self.report(f"{name} of {found.key} {text}")

    def _is_quiet(self, deletion: Deletion) -> bool:
        """Return whether no fault is at work still. The deadline of a stop is longer by the grace period."""
        return self.has_been_quiet_for(RECOVERY_SECONDS + deletion.grace_seconds)


def _has_own_grace(pod: Pod, container: Container) -> bool:
    """Return whether something else than the deletion may have killed the container."""
    if container.liveness_probe is not None or container.startup_probe is not None:
        return True
    if pod.status.phase in ("Succeeded", "Failed") or pod.spec.active_deadline_seconds is not None:
        return True
    return any(each.reason == "TerminationByKubelet" for each in pod.status.conditions)
