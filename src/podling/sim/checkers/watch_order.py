"""Revisions rise by one, and watches deliver every change once, in order, without a gap."""

from __future__ import annotations

from bisect import bisect_right

from podling.machinery.resource import Resource
from podling.sim.changes import Change
from podling.sim.checkers.base import Checker, Delivery, Report, Surroundings

Place = tuple[Resource, str]
"""A resource and a namespace; an empty one is all."""


class WatchOrder(Checker):
    """Compares what each watch delivers with the store's own history."""

    name = "watch-order"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._revision = 0
        self._history: dict[Place, list[int]] = {}
        self._delivered: dict[tuple[str, int], int] = {}

    def change(self, change: Change) -> None:
        if change.revision <= self._revision:
            self.report(f"revision {change.revision} of {change.key} follows revision {self._revision}")
        self._revision = change.revision
        for namespace in {"", change.namespace}:
            self._history.setdefault((change.resource, namespace), []).append(change.revision)

    def delivery(self, delivery: Delivery) -> None:
        watch = delivery.watch
        target, options = watch.target, watch.options
        what = f"watch {watch.number} of {target.resource.plural} by {watch.part}"
        number = (watch.part, watch.number)
        before = self._delivered.get(number)
        if before is None:
            before = int(options.resource_version) if options.resource_version.isdigit() else None
        self._delivered[number] = delivery.revision
        if before is None or (delivery.is_bookmark and delivery.revision == before):
            return
        if delivery.revision <= before:
            self.report(f"{what} delivers revision {delivery.revision} after {before}")
        elif not (options.label_selector or options.field_selector or target.name):
            place = (target.resource.storage_resource, target.namespace)
            self._check_gap(what, place, before, delivery.revision + delivery.is_bookmark)

    def _check_gap(self, what: str, place: Place, before: int, revision: int) -> None:
        """Report a change between two revisions. A bookmark says that its own revision was delivered too."""
        history = self._history.get(place, [])
        following = bisect_right(history, before)
        if following < len(history) and history[following] < revision:
            self.report(f"{what} misses revision {history[following]}: {revision} follows {before}")
