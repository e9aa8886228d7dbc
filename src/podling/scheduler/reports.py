"""Reports about pods without a feasible node: the ``PodScheduled`` condition and the nomination.

Only the newest report of a pod is written, one write per pod at a time, in order, by a work queue. A report
that changes nothing is not written.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from podling import clock
from podling.api.core_v1 import Pod
from podling.client.base import Client, Key, PatchType
from podling.client.informer import Informer
from podling.client.runner import AwaitChange, Runner
from podling.client.workqueue import WorkQueue
from podling.machinery.conditions import transition_time
from podling.machinery.errors import ApiError, is_not_found
from podling.machinery.pods import condition

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"

_WORKERS = 8


class Report(Struct, frozen=True):
    """The report about the pod ``uid``. ``reason`` empty: only the nomination. ``nominated``: the node,
    empty for none, None to leave it unchanged."""

    uid: str
    reason: str = ""
    message: str = ""
    nominated: str | None = None


class Reporter:
    """Writes reports, each pod's newest."""

    def __init__(self, client: Client, pods: Informer[Pod]) -> None:
        self._client = client
        self._pods = pods
        self._newest: dict[Key, Report] = {}
        self._queue: WorkQueue[Key] = WorkQueue()

    def report(self, key: Key, report: Report) -> None:
        held = self._newest.get(key)
        if held is not None and held.uid == report.uid:
            report = _merged(held, report)
        self._newest[key] = report
        self._queue.add(key)

    async def run(self) -> None:
        await Runner(self, self._queue, _WORKERS, "scheduler-reports").run()

    async def reconcile(self, key: Key) -> AwaitChange:
        report = self._newest.pop(key, None)
        pod = self._pods.get(key)
        if report is None or pod is None or pod.metadata.uid != report.uid or pod.spec.node_name:
            return AwaitChange()
        patch = status_patch(pod, report, clock.now())
        if patch:
            try:
                await self._client.patch(
                    Pod,
                    key.name,
                    {"status": patch},
                    key.namespace,
                    patch_type=PatchType.STRATEGIC,
                    subresource="status",
                )
            except ApiError as error:
                if is_not_found(error):
                    return AwaitChange()
                self._newest.setdefault(key, report)
                raise
            except Exception:
                self._newest.setdefault(key, report)
                raise
        return AwaitChange()


def _merged(old: Report, new: Report) -> Report:
    return Report(
        new.uid,
        new.reason or old.reason,
        new.message if new.reason else old.message,
        old.nominated if new.nominated is None else new.nominated,
    )


def status_patch(pod: Pod, report: Report, now: datetime) -> dict[str, Any]:
    """Return the strategic merge patch of the pod's status; empty when it says all that already."""
    patch: dict[str, Any] = {}
    old = condition(pod, "PodScheduled")
    wanted = ("False", report.reason, report.message, pod.metadata.generation)
    if report.reason and (
        old is None or (old.status, old.reason, old.message, old.observed_generation) != wanted
    ):
        since = transition_time(old, "False", now)
        patch["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": report.reason,
                "message": report.message,
                "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "observedGeneration": pod.metadata.generation,
            }
        ]
    if report.nominated is not None and report.nominated != (pod.status.nominated_node_name or ""):
        patch["nominatedNodeName"] = report.nominated or None
    return patch
