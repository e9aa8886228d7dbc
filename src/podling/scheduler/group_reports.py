"""Reports about pod groups: their ``PodGroupScheduled`` condition.

Only the newest report of a group is written. A group that was scheduled once is not reported as
unschedulable for pods that come later.

Upstream: ``updatePodGroupCondition`` in ``pkg/scheduler/schedule_one_podgroup.go``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, structs, to_builtins

from podling import clock
from podling.api.meta_v1 import Condition
from podling.api.scheduling_v1alpha2 import PodGroup
from podling.client.base import Client, Key, PatchType
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, Runner
from podling.client.workqueue import WorkQueue
from podling.machinery.errors import unless_gone

CONDITION = "PodGroupScheduled"
SCHEDULED, UNSCHEDULABLE, ERROR = "Scheduled", "Unschedulable", "SchedulerError"
"""The reasons of the condition."""


class GroupReport(Struct, frozen=True):
    """The outcome of an attempt to schedule a group."""

    reason: str
    message: str = ""


class GroupReporter:
    """Writes reports, each group's newest."""

    def __init__(self, client: Client, groups: Informer[PodGroup]) -> None:
        self._client = client
        self._groups = groups
        self._newest: dict[Key, GroupReport] = {}
        self._queue: WorkQueue[Key] = WorkQueue()

    def report(self, key: Key, report: GroupReport) -> None:
        self._newest[key] = report
        self._queue.add(key)

    async def run(self) -> None:
        await Runner(self, self._queue, 1, "scheduler-group-reports").run()

    async def reconcile(self, key: Key) -> AwaitChange:
        report, group = self._newest.get(key), self._groups.get(key)
        patch = None if report is None or group is None else condition_patch(group, report, clock.now())
        if patch is not None:
            with unless_gone():
                await self._client.patch(
                    PodGroup,
                    key.name,
                    {"status": {"conditions": [patch]}},
                    key.namespace,
                    patch_type=PatchType.STRATEGIC,
                    subresource="status",
                )
        if self._newest.get(key) is report:
            self._newest.pop(key, None)
        return AwaitChange()


def condition_patch(group: PodGroup, report: GroupReport, now: datetime) -> dict[str, Any] | None:
    """Return the condition to merge into a group's status; None if it says that already."""
    old = next((each for each in group.status.conditions if each.type == CONDITION), None)
    status = "True" if report.reason == SCHEDULED else "False"
    if old is not None and old.status == "True" and status != "True":
        return None
    since = clock.seconds_precision(now)
    if old is not None and old.status == status:
        since = old.last_transition_time or since
    new = Condition(
        type=CONDITION,
        status=status,
        reason=report.reason,
        message=report.message,
        last_transition_time=since,
        observed_generation=group.metadata.generation or 0,
    )
    if old is not None and structs.astuple(old) == structs.astuple(new):
        return None
    plain: dict[str, Any] = to_builtins(new)
    return {**plain, "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ"), "message": report.message}
