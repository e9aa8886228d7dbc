"""A pod's container lives once: never two processes of one container, on any node, at any time."""

from __future__ import annotations

from podling.runtime.base import ContainerEventType
from podling.sim.checkers.base import Checker, ContainerChange, Report, Surroundings

Slot = tuple[str, str]


class OneLiveContainer(Checker):
    """Counts the running processes of each (pod UID, container), and the starts of each attempt."""

    name = "one-live-container"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._running: dict[Slot, str] = {}
        self._started: dict[tuple[str, str, int], str] = {}

    def container(self, change: ContainerChange) -> None:
        uid, name = change.sandbox.pod_uid, change.container.name
        place = f"{change.container.id[:12]} on {change.node}"
        if change.type is ContainerEventType.STARTED:
            self._start(uid, name, place, change)
        elif change.type in (ContainerEventType.EXITED, None) and self._running.get((uid, name)) == place:
            del self._running[uid, name]

    def _start(self, uid: str, name: str, place: str, change: ContainerChange) -> None:
        pod = f"{change.sandbox.pod_namespace}/{change.sandbox.pod_name}"
        other = self._running.get((uid, name))
        if other is not None:
            self.report(f"container {name} of pod {pod} runs twice: {other}, and {place}")
        self._running[uid, name] = place
        attempt = (uid, f"{change.container.sandbox_id}/{name}", change.container.attempt)
        before = self._started.setdefault(attempt, place)
        if before != place:
            self.report(
                f"attempt {change.container.attempt} of {name} of pod {pod} started as {before}, {place}"
            )
