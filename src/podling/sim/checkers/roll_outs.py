"""A rolling update of a Deployment keeps to its ``maxSurge``, and leaves pods as ``maxUnavailable`` says.

For a minute after the Deployment was changed its earlier numbers count as well, and giving up is judged only
while no fault lasts. Upstream: ``pkg/controller/deployment/rolling.go``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from podling.api.apps_v1 import Deployment, ReplicaSet
from podling.controllers.workloads.int_or_percent import scaled
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Report, Surroundings

LAG = timedelta(seconds=60)
QUIET_SECONDS = 60.0


class Bounds(Struct, frozen=True):
    """The least and the most replicas that a Deployment's replica sets want together."""

    least: int
    most: int


class RollOuts(Checker):
    """Adds up the replicas of each Deployment's replica sets."""

    name = "roll-outs"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._bounds: dict[str, list[tuple[datetime, Bounds]]] = {}
        """By the Deployment's UID, each since when."""
        self._wants: dict[str, dict[str, int]] = {}
        """The replicas of each replica set by the Deployment's UID."""

    def change(self, change: Change) -> None:
        if change.resource.kind == "Deployment":
            self._note_deployment(change)
        elif change.resource.kind == "ReplicaSet":
            self._note_set(change)

    def _note_deployment(self, change: Change) -> None:
        uid = change.last.metadata.uid or ""
        found = bounds_of(change.last)
        if change.new is None or found is None:
            self._bounds.pop(uid, None)
            return
        history = self._bounds.setdefault(uid, [])
        if not history or history[-1][1] != found:
            history.append((change.at, found))

    def _note_set(self, change: Change) -> None:
        held: ReplicaSet = change.last
        owner = next((each.uid for each in held.metadata.owner_references if each.controller), "")
        wants, uid = self._wants.setdefault(owner, {}), held.metadata.uid or ""
        before, total = wants.get(uid, 0), sum(wants.values())
        number = 0 if change.new is None else (1 if held.spec.replicas is None else held.spec.replicas)
        wants[uid] = number
        if change.new is None or number == before or owner not in self._bounds:
            return
        valid = self._valid(owner, change.at)
        after, most = sum(wants.values()), max(each.most for each in valid)
        if number > before and after > most:
            self.report(f"{change.key} grows to {number}: {after} replicas, where {most} are allowed")
        least = min(each.least for each in valid)
        if number < before and after < min(least, total) and self.has_been_quiet_for(QUIET_SECONDS):
            self.report(f"{change.key} shrinks to {number}: {after} replicas, where {least} must be left")

    def _valid(self, owner: str, at: datetime) -> list[Bounds]:
        """Return the bounds that hold now, and those that held within the last minute."""
        history = self._bounds[owner]
        untils = [*(since for since, _ in history[1:]), at]
        return [bounds for until, (_, bounds) in zip(untils, history, strict=True) if at - until < LAG]


def bounds_of(deployment: Deployment) -> Bounds | None:
    """Return the bounds of a Deployment; None if it replaces all pods at once. Pure."""
    strategy = deployment.spec.strategy
    if strategy.type == "Recreate":
        return None
    replicas = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    rolling = strategy.rolling_update
    surge = rolling.max_surge if rolling is not None and rolling.max_surge is not None else "25%"
    missing = (
        rolling.max_unavailable if rolling is not None and rolling.max_unavailable is not None else "25%"
    )
    more, fewer = scaled(surge, replicas, round_up=True), scaled(missing, replicas, round_up=False)
    return Bounds(replicas - (fewer or (0 if more else 1)), replicas + more)
