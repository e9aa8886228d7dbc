"""The garbage collector deletes nothing whose owner lives.

Controllers may delete what they own: pods, jobs of cron jobs, old replica sets. What is left are other kinds,
and replica sets that still have pods; only the garbage collector and people delete them.
"""

from __future__ import annotations

from typing import Any

from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings
from podling.sim.connection import Request

BY_CONTROLLERS = frozenset(
    {
        "Pod",
        "Job",
        "ControllerRevision",
        "EndpointSlice",
        "Endpoints",
        "Lease",
        "Event",
        "PersistentVolumeClaim",
    }
)


class LivingOwners(Checker):
    """Looks for owners when a deletion begins."""

    name = "living-owners"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._living: set[str] = set()
        self._going: dict[str, str] = {}
        """Owners of objects whose deletion begins, by object; the request that follows says who deletes."""

    def change(self, change: Change) -> None:
        uid = change.last.metadata.uid or ""
        if change.new is None or change.new.metadata.deletion_timestamp is not None:
            self._living.discard(uid)
        else:
            self._living.add(uid)
        self._going.pop(change.key, None)
        if _begins_to_go(change) and not _may_go(change.resource.kind, change.last):
            owners = [each for each in change.last.metadata.owner_references if each.uid in self._living]
            if owners:
                self._going[change.key] = f"{owners[0].kind} {owners[0].name}"

    def request(self, request: Request) -> None:
        target = request.target
        if request.verb != "delete" or not self._going:
            return
        place = "/".join(part for part in (target.resource.plural, target.namespace, target.name) if part)
        owner = self._going.pop(place, None)
        if owner is not None and request.part == "controller-manager":
            self.report(f"{place} was deleted, although its owner {owner} lives")


def _begins_to_go(change: Change) -> bool:
    if change.old is None or change.old.metadata.deletion_timestamp is not None:
        return False
    return change.new is None or change.new.metadata.deletion_timestamp is not None


def _may_go(kind: str, obj: Any) -> bool:
    return kind in BY_CONTROLLERS or (kind == "ReplicaSet" and not obj.spec.replicas)
