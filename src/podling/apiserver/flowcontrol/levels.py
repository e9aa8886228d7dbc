"""Priority levels with their queue sets: their limits come from objects, and from what they lend and borrow.

Source: ``apiserver/pkg/util/flowcontrol/apf_controller.go``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from podling.api.flowcontrol_v1 import PriorityLevelConfiguration
from podling.apiserver.flowcontrol.concurrency import LevelDemand, Limits, adjust, limits_of, shares_of
from podling.apiserver.flowcontrol.dropped_requests import DroppedRequests
from podling.apiserver.flowcontrol.queue_set import QueueSet, Queuing
from podling.apiserver.flowcontrol.queues import SchemaCounts
from podling.apiserver.flowcontrol.seat_demand import SeatDemand
from podling.apiserver.kinds.flowcontrol.defaults import EXEMPT, mandatory_levels

log = logging.getLogger(__name__)

TURN_REQUESTS = 32
"""Requests of a level that start in one turn of the event loop: a few milliseconds of work."""
OnFullTurn = Callable[[QueueSet], object]
"""Called with a queue set in which requests wait for the next turn of the event loop."""


class Level:
    """One priority level."""

    def __init__(
        self,
        configuration: PriorityLevelConfiguration,
        queuing: Queuing,
        now: float,
        on_full_turn: OnFullTurn,
    ) -> None:
        self.configuration = configuration
        self.queuing = queuing
        self.queue_set = QueueSet(queuing, 0, now, TURN_REQUESTS)
        self.queue_set.on_full_turn = on_full_turn
        self.is_quiescing = False
        """True if its object is gone, and requests of it still wait or run."""
        self.limits = Limits(0, 0, 0)
        self.demand = SeatDemand()
        self.target = 0.0
        self.schemas: dict[str, SchemaCounts] = {}
        """Counts by the names of flow schemas."""
        self.brief_seconds = 0.0
        """Time of brief requests until the demand was read last."""
        self.dropped = DroppedRequests()
        self.has_limit = False
        """True once it has been given seats."""

    @property
    def name(self) -> str:
        return self.configuration.metadata.name or ""

    @property
    def uid(self) -> str:
        return self.configuration.metadata.uid or ""

    @property
    def is_exempt(self) -> bool:
        return self.queuing.queues < 0

    def counts_of(self, schema: str) -> SchemaCounts:
        found = self.schemas.get(schema)
        if found is None:
            found = self.schemas[schema] = SchemaCounts()
        return found


class Levels:
    """All priority levels of a server, among which ``server_limit`` seats are divided."""

    def __init__(
        self, server_limit: int, now: float, on_full_turn: OnFullTurn = lambda queue_set: None
    ) -> None:
        self.server_limit = server_limit
        self._on_full_turn = on_full_turn
        self.by_name: dict[str, Level] = {}
        self.fair_fraction = 0.0
        self._nominal_sum = 0
        self.configure((), now)

    def configure(self, found: Iterable[PriorityLevelConfiguration], now: float) -> None:
        """Use these objects from now on.

        Broken objects count as missing; the mandatory levels exist also without objects. A level whose object
        is gone stays until it is idle.
        """
        wanted = {each.metadata.name or "": each for each in found}
        levels: dict[str, Level] = {}
        for name, each in wanted.items():
            if (level := self._updated(each, now)) is not None:
                levels[name] = level
        for each in mandatory_levels():
            name = each.metadata.name or ""
            if name not in levels:
                level = self.by_name.get(name) or Level(each, queuing_of(each), now, self._on_full_turn)
                level.is_quiescing = False
                levels[name] = level
        for name, level in self.by_name.items():
            if name not in levels and not level.queue_set.is_idle:
                level.is_quiescing = True
                levels[name] = level
        self.by_name = levels
        self._divide()
        self._adjust(now)

    def adjust(self, now: float) -> None:
        """Divide the seats by the demand since the last time."""
        for name, level in [*self.by_name.items()]:
            if level.is_quiescing and level.queue_set.is_idle:
                del self.by_name[name]
                self._divide()
        self._adjust(now)

    def _updated(self, configuration: PriorityLevelConfiguration, now: float) -> Level | None:
        """Return the level of an object, new or changed; None if the object is broken."""
        try:
            queuing = queuing_of(configuration)
            queuing.check()
        except ValueError as error:
            log.warning("ignoring PriorityLevelConfiguration %s: %s", configuration.metadata.name, error)
            return None
        level = self.by_name.get(configuration.metadata.name or "")
        if level is None:
            return Level(configuration, queuing, now, self._on_full_turn)
        level.configuration, level.queuing, level.is_quiescing = configuration, queuing, False
        return level

    def _divide(self) -> None:
        """Set the limits of all levels by their shares."""
        levels = self.by_name.values()
        share_sum = sum(shares_of(each.configuration.spec) for each in levels)
        for level in levels:
            level.limits = limits_of(level.configuration.spec, share_sum, self.server_limit)
            if not level.has_limit:
                lendable = level.limits.nominal - level.limits.lower
                level.queue_set.limit = level.limits.nominal - lendable // 2
                level.has_limit = True
        self._nominal_sum = sum(level.limits.nominal for level in levels)

    def _adjust(self, now: float) -> None:
        levels = [*self.by_name.values()]
        for level in levels:
            brief_seconds = sum(each.brief_seconds for each in level.schemas.values())
            seen = level.queue_set.reset_demand(now, brief_seconds - level.brief_seconds)
            level.demand, level.brief_seconds = level.demand.after(seen), brief_seconds
        demands = [
            LevelDemand(level.limits, level.demand, level.queue_set.limit, level.is_exempt)
            for level in levels
        ]
        adjusted, self.fair_fraction = adjust(demands, self._nominal_sum)
        for level, new in zip(levels, adjusted, strict=True):
            level.target = new.target
            level.queue_set.configure(level.queuing, new.current, now)


def queuing_of(configuration: PriorityLevelConfiguration) -> Queuing:
    """Return the queues of a level. Raises ``ValueError`` for an object that contradicts itself."""
    spec, name = configuration.spec, configuration.metadata.name
    if (spec.type == "Limited") != (spec.limited is not None):
        raise ValueError("broken union structure at the top, for Limited")
    if (spec.type == "Exempt") != (spec.exempt is not None):
        raise ValueError("broken union structure at the top, for Exempt")
    if (spec.type == "Exempt") != (name == EXEMPT):
        raise ValueError("non-alignment between name and type")
    if spec.limited is None:
        return Queuing(-1)
    response = spec.limited.limit_response
    queuing = response.queuing
    if (response.type == "Reject") != (queuing is None):
        raise ValueError("broken union structure for limit response")
    if queuing is None:
        return Queuing(0)
    return Queuing(queuing.queues or 0, queuing.hand_size or 0, queuing.queue_length_limit or 0)
