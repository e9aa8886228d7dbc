"""Estimates of the work of a request, in seats. Pure.

A LIST takes a seat for every 100 kB that it reads, a change one more for every ten watchers that it wakes,
as upstream. In addition, a body takes a seat for every ``BODY_BYTES_PER_SEAT``: decoding, patching and
validating it costs this server far more than sending as many bytes.

Source: ``apiserver/pkg/util/flowcontrol/request/{width,list_work_estimator,mutating_work_estimator}.go``.
"""

from __future__ import annotations

import math

from msgspec import Struct

from podling.client.requests import ListOptions

BYTES_PER_SEAT = 100_000
BYTES_FROM_CACHE_MAX = 1_000_000
"""Bytes that a LIST from the cache counts at most: it is sent in pieces."""
OBJECT_BYTES_MAX = 1_500_000
LIST_SEATS_MAX = 100
MUTATING_SEATS_MAX = 10
WATCHES_PER_SEAT = 10
EVENT_SECONDS = 0.005
"""Time that the watchers of one seat need for an event."""

BODY_BYTES_PER_SEAT = 12_800
FULL_SEATS = 40
"""A request of so many seats or more is of the widest kind: 512 KiB of body, or 4 MB to list."""
WIDEST_SHARE = 4
"""The widest request takes this fraction of its level's current seats."""


class WorkEstimate(Struct, frozen=True):
    """Seats while a request runs, and while its consequences are dealt with, which takes
    ``additional_seconds`` more."""

    initial_seats: int = 1
    final_seats: int = 0
    additional_seconds: float = 0.0

    @property
    def max_seats(self) -> int:
        return max(self.initial_seats, self.final_seats)


ONE_SEAT = WorkEstimate()


class ObjectStats(Struct, frozen=True):
    """The stored objects of a collection: their number and average size; size 0 means unknown."""

    count: int
    average_bytes: int


def list_seats(
    options: ListOptions, stats: ObjectStats | None, *, watch: bool = False, single: bool = False
) -> int:
    """Return the seats of a LIST, or of a watch that begins with one. ``stats`` of None: it is not known.

    ``single``: a field selector names one object.
    """
    if watch and not options.send_initial_events and options.resource_version not in ("", "0"):
        return 1
    if stats is None:
        return 1
    average = stats.average_bytes
    if average <= 0 and stats.count:
        average = OBJECT_BYTES_MAX
    from_cache = watch or not _reads_storage(options)
    limited = min(options.limit, stats.count) if options.limit > 0 else stats.count
    if single:
        loaded = 1
    elif not from_cache and (options.field_selector or options.label_selector):
        loaded = max(limited, stats.count // 2)
    else:
        loaded = limited
    size = loaded * average
    if from_cache:
        size = min(size, BYTES_FROM_CACHE_MAX)
    return min(max(1, math.ceil(size / BYTES_PER_SEAT)), LIST_SEATS_MAX)


def _reads_storage(options: ListOptions) -> bool:
    """Return whether upstream reads a LIST from etcd and not from its cache (``ShouldDelegateList``)."""
    match, revision = options.resource_version_match, options.resource_version
    if match:
        return match != "NotOlderThan"
    if options.continue_token or not revision:
        return True
    return options.limit > 0 and revision != "0"


def mutating_estimate(watchers: int, max_seats: int) -> WorkEstimate:
    """Return the work of a change that wakes ``watchers``; one request takes ``max_seats`` at most.

    Many watchers mean many seats for a short time; they count as fewer seats for longer, because a wide
    request keeps others from being dispatched.
    """
    if watchers < WATCHES_PER_SEAT:
        return ONE_SEAT
    most = max_seats if 0 < max_seats <= MUTATING_SEATS_MAX else MUTATING_SEATS_MAX
    seats = math.ceil(watchers / WATCHES_PER_SEAT)
    final = min(seats, most)
    return WorkEstimate(1, final, seats * EVENT_SECONDS / final)


def body_seats(size: int) -> int:
    """Return the seats of a change with ``size`` bytes to decode, patch and validate."""
    return max(1, math.ceil(size / BODY_BYTES_PER_SEAT))


def seats_in_level(seats: int, current_limit: int) -> int:
    """Return the seats that a request takes in a level with ``current_limit`` seats.

    The more seats a level has, the more takes one wide request: what it occupies is the event loop and the
    few workers beside it, of which no level has more than another.
    """
    if seats <= 1:
        return 1
    return max(2, current_limit * min(seats, FULL_SEATS) // (FULL_SEATS * WIDEST_SHARE))
