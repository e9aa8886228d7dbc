"""Estimates of the work of HTTP requests, from what is known before their bodies are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from podling.apiserver.flowcontrol.levels import Level
from podling.apiserver.flowcontrol.object_sizes import ObjectSizes
from podling.apiserver.flowcontrol.queues import SchemaCounts
from podling.apiserver.flowcontrol.watch_counts import WatchCounts, exact_value
from podling.apiserver.flowcontrol.work_estimate import (
    BODY_BYTES_PER_SEAT,
    FULL_SEATS,
    ONE_SEAT,
    WATCHES_PER_SEAT,
    WorkEstimate,
    body_seats,
    list_seats,
    mutating_estimate,
    seats_in_level,
)
from podling.client.requests import ListOptions, Target
from podling.store.base import Store

HEAVY_PATHS = ("/openapi/", "/metrics")
"""Documents that take long to make and to send."""
HEAVY_SEATS = 10
FULL_BYTES = FULL_SEATS * BODY_BYTES_PER_SEAT
"""The size that a body of unknown size is taken for."""
LIMIT_DIGITS_MAX = 18
WITH_BODIES = ("create", "update", "patch")
CHANGES = (*WITH_BODIES, "delete")


class Body(Protocol):
    """The body of a request that has not been read."""

    def is_eof(self) -> bool:
        """Return whether all of it has arrived."""
        ...

    @property
    def total_bytes(self) -> int: ...


class Arrived(Protocol):
    """A request whose head has arrived."""

    @property
    def content_length(self) -> int | None: ...

    @property
    def content(self) -> Body: ...

    @property
    def query_string(self) -> str: ...

    @property
    def query(self) -> Mapping[str, str]: ...


class WorkEstimator:
    """Estimates the work of requests for stored resources."""

    def __init__(self, store: Store) -> None:
        self.watches = WatchCounts()
        self._store = store
        self._sizes = ObjectSizes(store)

    def of_change(
        self, level: Level, counts: SchemaCounts, verb: str, target: Target, request: Arrived
    ) -> WorkEstimate:
        """Return the work of a create, update, patch or delete."""
        events = ONE_SEAT
        if target.subresource != "token" or target.resource.plural != "serviceaccounts":
            watchers = self.watches.interested(target)
            counts.watchers.observe(watchers)
            if watchers >= WATCHES_PER_SEAT:
                events = mutating_estimate(watchers, level.limits.max_seats)
        if level.is_exempt or verb not in WITH_BODIES:
            return events
        size = self._size(verb, target, request)
        return events if size <= BODY_BYTES_PER_SEAT else _with_seats(level, body_seats(size), events)

    def _size(self, verb: str, target: Target, request: Arrived) -> int:
        """Return the bytes to work on: of the body, or of the stored object if that is larger."""
        if request.content.is_eof():
            size = request.content.total_bytes
        else:
            length = request.content_length
            size = FULL_BYTES if length is None else length
        if verb == "create" or not target.resource.stored:
            return size
        entry = self._store.peek(target.resource.key(target.namespace, target.name))
        return size if entry is None else max(size, len(entry.value))

    async def of_list(self, level: Level, target: Target, request: Arrived, *, watch: bool) -> WorkEstimate:
        """Return the work of a list, or of a ``watch``, or of a deletion of a collection."""
        options = ListOptions()
        if request.query_string:
            options = _options(request.query)
        single = bool(target.name or exact_value(options.field_selector, "metadata.name"))
        stats = await self._sizes.stats(target)
        return _with_seats(level, list_seats(options, stats, watch=watch, single=single))


def estimate_of_path(level: Level, path: str) -> WorkEstimate:
    """Return the work of a request for no resource."""
    return _with_seats(level, HEAVY_SEATS) if path.startswith(HEAVY_PATHS) else ONE_SEAT


def _with_seats(level: Level, seats: int, events: WorkEstimate = ONE_SEAT) -> WorkEstimate:
    """Return the work of a request with ``seats`` of its own, and of the events that it causes."""
    if seats <= 1 or level.is_exempt:
        return events
    scaled = seats_in_level(seats, level.queue_set.limit)
    return WorkEstimate(scaled, events.final_seats, events.additional_seconds)


def _options(query: Mapping[str, str]) -> ListOptions:
    """Return the options that an estimate needs; wrong ones are refused later."""
    limit, initial = query.get("limit", ""), query.get("sendInitialEvents")
    return ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
        limit=int(limit) if limit.isdecimal() and len(limit) <= LIMIT_DIGITS_MAX else 0,
        continue_token=query.get("continue", ""),
        send_initial_events=None if initial is None else initial.lower() not in ("0", "false"),
    )
