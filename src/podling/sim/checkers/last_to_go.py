"""A kubelet removes a pod from the API only after all of its containers have ended."""

from __future__ import annotations

from podling.api.core_v1 import Pod
from podling.runtime.base import ContainerEventType
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, ContainerChange, Report, Surroundings
from podling.sim.connection import Request


class LastToGo(Checker):
    """Looks at the running containers when a kubelet deletes a pod."""

    name = "last-to-go"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._running: dict[str, dict[str, str]] = {}
        self._left: dict[str, list[str]] = {}
        """The containers that ran when a pod went, by the pod's key."""

    def change(self, change: Change) -> None:
        if change.resource.kind != "Pod":
            return
        pod: Pod = change.last
        self._left.pop(change.key, None)
        if change.new is None and (running := self._running.get(pod.metadata.uid or "")):
            self._left[change.key] = sorted(running.values())

    def container(self, change: ContainerChange) -> None:
        running = self._running.setdefault(change.sandbox.pod_uid, {})
        if change.type is ContainerEventType.STARTED:
            running[change.container.id] = change.container.name
        elif change.type in (ContainerEventType.EXITED, None):
            running.pop(change.container.id, None)

    def request(self, request: Request) -> None:
        target = request.target
        if request.verb != "delete" or target.resource.kind != "Pod" or request.error is not None:
            return
        key = f"pods/{target.namespace}/{target.name}"
        left = self._left.pop(key, None)
        if left and request.part.startswith("node/"):
            self.report(f"{request.part} removed {key} while {', '.join(left)} ran")
