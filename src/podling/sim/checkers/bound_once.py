"""A pod is bound once, and its containers start on that node only."""

from __future__ import annotations

from podling.api.core_v1 import Pod
from podling.runtime.base import ContainerEventType
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, ContainerChange, Report, Surroundings


class BoundOnce(Checker):
    """Compares each pod's node with the one it had, and with the node of its containers."""

    name = "bound-once"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._nodes: dict[str, str] = {}

    def change(self, change: Change) -> None:
        if change.resource.kind != "Pod":
            return
        pod: Pod = change.last
        uid, node = pod.metadata.uid or "", pod.spec.node_name or ""
        before = self._nodes.get(uid, "")
        if before and node != before:
            self.report(f"pod {change.namespace}/{change.name} moved from {before} to {node or 'no node'}")
        if node:
            self._nodes[uid] = node

    def container(self, change: ContainerChange) -> None:
        node = self._nodes.get(change.sandbox.pod_uid)
        if change.type is ContainerEventType.STARTED and node is not None and node != change.node:
            pod = f"{change.sandbox.pod_namespace}/{change.sandbox.pod_name}"
            self.report(
                f"container {change.container.name} of pod {pod} starts on {change.node}, not on {node}"
            )
