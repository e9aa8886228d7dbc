"""Deletion of finished Jobs after ``ttlSecondsAfterFinished``.

Before the deletion the controller reads the Job from the server, in case the time was extended. Its pods are
deleted first. Upstream: ``pkg/controller/ttlafterfinished``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, ClassVar

from podling import clock
from podling.api.batch_v1 import Job
from podling.client.base import Key
from podling.client.runner import AwaitChange, RequeueAfter
from podling.controllers.base import Controller, ControllerContext
from podling.machinery.errors import unless_gone
from podling.machinery.histograms import Histogram, histograms

DELAY_SECONDS = tuple(0.1 * 2.0**power for power in range(14))


def expires_at(job: Job) -> datetime | None:
    """When the job is to be deleted; None if it is not finished, or is to stay."""
    seconds = job.spec.ttl_seconds_after_finished
    if seconds is None or job.metadata.deletion_timestamp is not None:
        return None
    for condition in job.status.conditions:
        finished = condition.type in ("Complete", "Failed") and condition.status == "True"
        if finished and condition.last_transition_time is not None:
            return condition.last_transition_time + timedelta(seconds=seconds)
    return None


class TTLAfterFinishedController(Controller):
    name: ClassVar[str] = "ttl-after-finished-controller"
    workers: ClassVar[int] = 5

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._jobs = context.informers.informer(Job)
        self._jobs.add_handler(self._look, lambda old, new: self._look(new))
        self._delays = Histogram(DELAY_SECONDS)

    def families(self) -> Iterator[Any]:
        yield histograms(
            "ttl_after_finished_controller_job_deletion_duration_seconds",
            "[ALPHA] The time it took to delete the job since it became eligible for deletion",
            (),
            {(): self._delays},
        )

    def _look(self, job: Job) -> None:
        if expires_at(job) is not None:
            self.enqueue(job)

    async def reconcile(self, key: Key) -> RequeueAfter | AwaitChange:
        job, now = self._jobs.get(key), clock.now()
        moment = expires_at(job) if job is not None else None
        if moment is None:
            return AwaitChange()
        if moment > now:
            return RequeueAfter((moment - now) / timedelta(seconds=1))
        with unless_gone():
            fresh = await self.client.get(Job, key.name, key.namespace)
            moment = expires_at(fresh)
            if moment is not None and moment <= now:
                await self.client.delete(
                    Job,
                    key.name,
                    key.namespace,
                    uid=fresh.metadata.uid or "",
                    resource_version=fresh.metadata.resource_version or "",
                    propagation="Foreground",
                )
                self._delays.observe((clock.now() - moment) / timedelta(seconds=1))
        return AwaitChange()
