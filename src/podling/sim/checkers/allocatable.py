"""The scheduler never binds a pod to a node whose free resources are less than its requests.

Pods that name their node themselves are the kubelet's to refuse, and do not count as the scheduler's.
"""

from __future__ import annotations

from collections.abc import Mapping

from podling.api.core_v1 import Node, Pod
from podling.machinery.pods import pod_requests
from podling.machinery.quantity import ZERO, Quantity, parse
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings

FINAL = ("Succeeded", "Failed")


class Allocatable(Checker):
    """Adds up the requests of the pods on each node."""

    name = "allocatable"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, dict[str, Mapping[str, Quantity]]] = {}
        """The requests by node and by the pod's key."""

    def change(self, change: Change) -> None:
        if change.resource.kind == "Node":
            if change.new is None:
                self._nodes.pop(change.name, None)
            else:
                self._nodes[change.name] = change.new
        elif change.resource.kind == "Pod":
            self._note_pod(change)

    def _note_pod(self, change: Change) -> None:
        old: Pod | None = change.old
        pod: Pod = change.last
        node = pod.spec.node_name or ""
        if not node:
            return
        on_node = self._pods.setdefault(node, {})
        if change.new is None or pod.status.phase in FINAL:
            on_node.pop(change.key, None)
            return
        was_bound = old is None or bool(old.spec.node_name)
        on_node[change.key] = pod_requests(pod.spec)
        if not was_bound:
            self._check(change.key, node)

    def _check(self, key: str, node: str) -> None:
        found = self._nodes.get(node)
        if found is None:
            return
        for name in ("cpu", "memory", "ephemeral-storage"):
            has = parse(found.status.allocatable.get(name, "0"))
            used = sum((each.get(name, ZERO) for each in self._pods[node].values()), ZERO)
            if used > has and self._pods[node][key].get(name, ZERO):
                self.report(f"{key} was bound to {node}, whose pods now request {used} of {has} {name}")
        most = parse(found.status.allocatable.get("pods", "0")).value
        if len(self._pods[node]) > most:
            self.report(
                f"{key} was bound to {node}, which has {len(self._pods[node])} pods of at most {most}"
            )
