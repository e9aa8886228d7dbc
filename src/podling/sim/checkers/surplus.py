"""Controllers never make more pods than their owners want.

A creation whose answer was lost may be made again, so that the next minute does not count.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from podling.api.core_v1 import Pod
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings

LOST = timedelta(seconds=60)
LAG = timedelta(seconds=30)
"""A creation may follow from a spec that was changed meanwhile."""
KINDS = ("ReplicaSet", "ReplicationController", "StatefulSet", "Job")


class Surplus(Checker):
    """Counts the active pods of an owner when it gets a new one."""

    name = "surplus"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._active: dict[str, set[str]] = {}
        """UIDs of pods by the UID of their owner."""
        self._wanted: dict[str, list[tuple[datetime, int]]] = {}
        """The numbers of pods that an owner has wanted, each until when; the last one is the present one."""

        self._lost: datetime | None = None
        """When an answer was last lost."""

    def answer_lost(self, part: str) -> None:
        if part == "controller-manager":
            self._lost = self.surroundings.now()

    def change(self, change: Change) -> None:
        if change.resource.kind in KINDS:
            self._note_owner(change)
        elif change.resource.kind == "Pod":
            self._note_pod(change)

    def _note_owner(self, change: Change) -> None:
        uid = change.last.metadata.uid or ""
        if change.new is None:
            self._wanted.pop(uid, None)
            self._active.pop(uid, None)
            return
        number = _wanted(change.resource.kind, change.new)
        history = self._wanted.setdefault(uid, [(change.at, number)])
        if history[-1][1] != number:
            history[-1] = change.at, history[-1][1]
            history.append((change.at, number))

    def _note_pod(self, change: Change) -> None:
        pod: Pod = change.last
        owner = next((each.uid for each in pod.metadata.owner_references if each.controller), "")
        if owner not in self._wanted:
            return
        active, uid = self._active.setdefault(owner, set()), pod.metadata.uid or ""
        if change.new is None or _is_over(pod):
            active.discard(uid)
            return
        active.add(uid)
        if change.old is not None or (self._lost is not None and change.at - self._lost < LOST):
            return
        history = self._wanted[owner]
        most = max(number for until, number in history if change.at - until < LAG or number == history[-1][1])
        if len(active) > most:
            self.report(f"{change.key} is pod {len(active)} of an owner that wants {most}")


def _wanted(kind: str, owner: Any) -> int:
    if owner.metadata.deletion_timestamp is not None:
        return 0
    number = owner.spec.parallelism if kind == "Job" else owner.spec.replicas
    return 1 if number is None else number


def _is_over(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None or pod.status.phase in ("Succeeded", "Failed")
