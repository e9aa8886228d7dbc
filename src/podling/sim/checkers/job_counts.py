"""The counts of a job never fall, and count no pod that has not ended so."""

from __future__ import annotations

from podling.api.batch_v1 import Job
from podling.api.core_v1 import Pod
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings


class JobCounts(Checker):
    """Compares each job's counts with its pods."""

    name = "job-counts"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._pods: dict[str, set[str]] = {}
        self._succeeded: dict[str, set[str]] = {}
        """The UIDs of all pods that a job ever had, and of those that have succeeded."""

    def change(self, change: Change) -> None:
        if change.resource.kind == "Pod":
            self._note_pod(change.last)
        elif change.resource.kind == "Job" and change.new is not None:
            self._check(change)

    def _note_pod(self, pod: Pod) -> None:
        for owner in pod.metadata.owner_references:
            if owner.controller and owner.kind == "Job":
                self._pods.setdefault(owner.uid, set()).add(pod.metadata.uid or "")
                if pod.status.phase == "Succeeded":
                    self._succeeded.setdefault(owner.uid, set()).add(pod.metadata.uid or "")

    def _check(self, change: Change) -> None:
        job: Job = change.new
        uid, status = job.metadata.uid or "", job.status
        succeeded, failed = status.succeeded or 0, status.failed or 0
        if change.old is not None and change.old.metadata.uid == uid:
            old = change.old.status
            if succeeded < (old.succeeded or 0) or failed < (old.failed or 0):
                before = f"{old.succeeded or 0} succeeded, {old.failed or 0} failed"
                self.report(f"{change.key} counted {before}; now {succeeded} and {failed}")
        really, ever = len(self._succeeded.get(uid, ())), len(self._pods.get(uid, ()))
        if succeeded > really:
            self.report(f"{change.key} counts {succeeded} succeeded pods of {really}")
        elif succeeded + failed > ever:
            self.report(f"{change.key} counts {succeeded + failed} ended pods; it had {ever}")
