"""A regular container starts only after every init container of its pod has succeeded in this sandbox."""

from __future__ import annotations

from podling.api.core_v1 import Pod, PodSpec
from podling.machinery.pods import is_sidecar
from podling.runtime.base import ContainerEventType
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, ContainerChange, Report, Surroundings


class InitOrder(Checker):
    """Remembers the init containers that have succeeded, by sandbox."""

    name = "init-order"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._specs: dict[str, PodSpec] = {}
        """Of pods with init containers, by UID."""
        self._succeeded: dict[str, set[str]] = {}

    def change(self, change: Change) -> None:
        if change.resource.kind != "Pod":
            return
        pod: Pod = change.last
        if pod.spec.init_containers:
            self._specs[pod.metadata.uid or ""] = pod.spec

    def container(self, change: ContainerChange) -> None:
        spec = self._specs.get(change.sandbox.pod_uid)
        if spec is None:
            return
        container, done = change.container, self._succeeded.setdefault(change.sandbox.id, set())
        if change.type is ContainerEventType.EXITED and container.exit_code == 0:
            done.add(container.name)
        elif change.type is ContainerEventType.STARTED:
            if container.name not in {each.name for each in spec.containers}:
                return
            missing = [
                each.name for each in spec.init_containers if not is_sidecar(each) and each.name not in done
            ]
            if missing:
                pod = f"{change.sandbox.pod_namespace}/{change.sandbox.pod_name}"
                self.report(f"{container.name} of pod {pod} starts before {', '.join(missing)} has succeeded")
