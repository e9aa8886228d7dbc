"""No container runs on for a pod that is gone from the API, once its kubelet works again."""

from __future__ import annotations

from datetime import datetime, timedelta

from podling.api.core_v1 import Pod
from podling.runtime.base import ContainerEventType
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, ContainerChange, Report, Surroundings, names

QUIET_SECONDS = 120.0


class ForgottenContainers(Checker):
    """Compares the running containers with the pods, while no fault lasts."""

    name = "forgotten-containers"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._running: dict[str, dict[str, str]] = {}
        """Texts of running containers by pod UID and container ID."""
        self._gone: dict[str, datetime] = {}

    def change(self, change: Change) -> None:
        if change.resource.kind == "Pod" and change.new is None:
            pod: Pod = change.last
            self._gone[pod.metadata.uid or ""] = change.at

    def container(self, change: ContainerChange) -> None:
        sandbox, container = change.sandbox, change.container
        running = self._running.setdefault(sandbox.pod_uid, {})
        if change.type is ContainerEventType.STARTED:
            text = f"{container.name} of {sandbox.pod_namespace}/{sandbox.pod_name} on {change.node}"
            running[container.id] = text
        elif change.type in (ContainerEventType.EXITED, None):
            running.pop(container.id, None)

    def tick(self) -> None:
        if not self.has_been_quiet_for(QUIET_SECONDS):
            return
        latest = self.surroundings.now() - timedelta(seconds=QUIET_SECONDS)
        for uid, moment in list(self._gone.items()):
            if moment > latest:
                continue
            del self._gone[uid]
            if left := self._running.get(uid):
                text = f"still runs; its pod went at {moment:%H:%M:%S}"
                self.report(f"{names(sorted(left.values()))} {text}")
