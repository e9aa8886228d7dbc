"""No container runs on for a pod that is gone from the API, once its kubelet works again."""

from __future__ import annotations

from datetime import datetime, timedelta

from podling.api.core_v1 import Pod
from podling.runtime.base import ContainerEventType
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, ContainerChange, Report, Surroundings, names
from podling.sim.checkers.ready_nodes import RECOVERY_SECONDS, ReadyNodes


class ForgottenContainers(Checker):
    """Compares the running containers with the pods, while no fault lasts."""

    name = "forgotten-containers"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._running: dict[str, dict[str, tuple[str, str]]] = {}
        """Names and nodes of running containers by pod UID and container ID."""
        self._nodes = ReadyNodes()
        self._gone: dict[str, datetime] = {}

    def change(self, change: Change) -> None:
        self._nodes.note(change)
        if change.resource.kind == "Pod" and change.new is None:
            pod: Pod = change.last
            self._gone[pod.metadata.uid or ""] = change.at

    def container(self, change: ContainerChange) -> None:
        sandbox, container = change.sandbox, change.container
        running = self._running.setdefault(sandbox.pod_uid, {})
        if change.type is ContainerEventType.STARTED:
            name = f"{container.name} of {sandbox.pod_namespace}/{sandbox.pod_name}"
            running[container.id] = name, change.node
        elif change.type in (ContainerEventType.EXITED, None):
            running.pop(container.id, None)

    def tick(self) -> None:
        if not self.has_been_quiet_for(RECOVERY_SECONDS):
            return
        latest = self.surroundings.now() - timedelta(seconds=RECOVERY_SECONDS)
        for uid, moment in list(self._gone.items()):
            if moment > latest:
                continue
            left = self._running.get(uid, {}).values()
            if not left:
                del self._gone[uid]
                continue
            ready = [self._nodes.since(node) for _, node in left]
            late = [each for each, since in zip(left, ready, strict=True) if since and since <= latest]
            if late:
                del self._gone[uid]
                texts = sorted(f"{name} on {node}" for name, node in late)
                self.report(f"{names(texts)} still runs; its pod went at {moment:%H:%M:%S}")
