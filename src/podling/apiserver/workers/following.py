"""The feed of a worker's replica: the writer's snapshot and changes, over the writer's Unix socket.

A connection that ends is made again and continues after the last revision received. Where the writer cannot
continue there (its history was compacted further, or its store is another one), a snapshot is taken.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing

from podling import clock
from podling.client.base import Unreachable
from podling.client.messages import Changes, Snapshot, StoreEntry, StoreEvent
from podling.machinery.errors import ApiError, is_expired
from podling.store.base import Entry, EventType
from podling.store.replica import Replica

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.02
RETRY_SECONDS_MAX = 0.5
SILENCE_SECONDS = 4.0
"""A writer that is silent for so long has stopped: it sends something every second."""

Parts = Callable[[int | None], AsyncGenerator[Snapshot | Changes, None]]
"""Follows the writer's store after a revision (``client.store_follow.follow``)."""


class Follower:
    """Keeps ``replica`` equal to the store that ``parts`` follows."""

    def __init__(self, replica: Replica, parts: Parts) -> None:
        self._replica, self._parts = replica, parts
        self._heard = clock.monotonic()
        self._is_expired = False
        self._why = "the writer has not been reached yet"

    @property
    def trouble(self) -> str:
        """Return why the replica may be out of date, or what keeps the writer from writing; else empty."""
        silent = clock.monotonic() - self._heard
        if self._why:
            return self._why
        if silent > SILENCE_SECONDS:
            return f"the writer has sent nothing for {silent:.0f} s"
        return self._replica.trouble

    async def run(self) -> None:
        """Follow until cancelled."""
        wait = RETRY_SECONDS
        while True:
            revision = self._replica.revision
            why = await self._follow()
            if self._replica.revision != revision:
                wait = RETRY_SECONDS
            if why != self._why:
                log.warning("%s", why)
            self._why = why
            self._replica.abandon()
            await clock.sleep(wait)
            wait = min(2 * wait, RETRY_SECONDS_MAX)

    async def _follow(self) -> str:
        """Follow until the connection ends; return why it did."""
        after = self._replica.revision if self._replica.is_complete and not self._is_expired else None
        received = 0
        try:
            async with aclosing(self._parts(after)) as parts:
                async for part in parts:
                    received += 1
                    await self._take(part)
        except Unreachable as error:
            return f"the writer cannot be reached: {error}"
        except ApiError as error:
            # After some parts it means a reader that was too slow, which continues where it is.
            self._is_expired = is_expired(error) and not received
            return f"the writer's changes cannot be followed: {error}"
        return "the writer has ended the connection"

    async def _take(self, part: Snapshot | Changes) -> None:
        replica = self._replica
        self._heard, self._why = clock.monotonic(), ""
        if isinstance(part, Snapshot):
            if not replica.is_receiving:
                replica.begin(part.revision, part.newest)
            replica.restore(map(_entry, part.entries))
            if part.last:
                replica.complete()
                self._is_expired = False
        elif part.events:
            replica.commit(list(_changes(part.events)))
        else:
            replica.trouble = part.trouble
            await replica.forget(part.compacted)


def _entry(entry: StoreEntry) -> Entry:
    return Entry(entry.key, entry.value, entry.revision, entry.create_revision)


def _changes(events: Iterable[StoreEvent]) -> Iterator[tuple[EventType, Entry]]:
    for event in events:
        yield EventType.DELETE if event.deleted else EventType.PUT, _entry(event.entry)
