"""Two pods of one name never run at once: names are identities, of StatefulSets above all.

A person who deletes a pod by force, or its node, states that the pod does not run any more.
"""

from __future__ import annotations

from podling.api.core_v1 import Pod
from podling.runtime.base import ContainerEventType
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, ContainerChange, Report, Surroundings
from podling.sim.connection import Request

Name = tuple[str, str]


class OneIdentity(Checker):
    """Knows the pods whose containers run, by name."""

    name = "one-identity"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._running: dict[Name, dict[str, str]] = {}
        """The pod UIDs of running containers, by container ID."""
        self._uids: dict[Name, str] = {}
        self._nodes: set[str] = set()
        self._given_up: set[str] = set()
        """UIDs of pods that a person has declared dead."""

    def change(self, change: Change) -> None:
        if change.resource.kind == "Node":
            if change.new is None:
                self._nodes.discard(change.name)
            else:
                self._nodes.add(change.name)
        elif change.resource.kind == "Pod":
            pod: Pod = change.last
            self._uids[change.namespace, change.name] = pod.metadata.uid or ""
            if change.new is None and pod.spec.node_name not in self._nodes:
                self._given_up.add(pod.metadata.uid or "")

    def request(self, request: Request) -> None:
        target = request.target
        is_by_person = request.part == "administrator" and target.resource.kind == "Pod"
        if request.verb == "delete" and is_by_person and request.detail.grace_period_seconds == 0:
            self._given_up.add(self._uids.get((target.namespace, target.name), ""))

    def container(self, change: ContainerChange) -> None:
        sandbox = change.sandbox
        name = (sandbox.pod_namespace, sandbox.pod_name)
        running = self._running.setdefault(name, {})
        if change.type in (ContainerEventType.EXITED, None):
            running.pop(change.container.id, None)
        elif change.type is ContainerEventType.STARTED:
            others = {uid for uid in running.values() if uid != sandbox.pod_uid} - self._given_up
            if others:
                self.report(
                    f"pod {'/'.join(name)} starts on {change.node} while the pod of that name with the UID "
                    f"{min(others)} runs"
                )
            running[change.container.id] = sandbox.pod_uid
