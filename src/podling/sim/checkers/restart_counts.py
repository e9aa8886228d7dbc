"""A container's restart count never falls."""

from __future__ import annotations

from podling.api.core_v1 import Pod
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker


class RestartCounts(Checker):
    """Compares the counts before and after each change of a pod."""

    name = "restart-counts"

    def change(self, change: Change) -> None:
        old, new = change.old, change.new
        if change.resource.kind != "Pod" or old is None or new is None:
            return
        if old.metadata.uid != new.metadata.uid:
            return
        before = _counts(old)
        for name, count in _counts(new).items():
            if count < before.get(name, 0):
                self.report(
                    f"the restart count of {name} in {change.key} fell from {before[name]} to {count}"
                )


def _counts(pod: Pod) -> dict[str, int]:
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return {each.name: each.restart_count for each in statuses}
