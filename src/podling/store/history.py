"""The window of past changes that watches resume from and consistent paging looks back into.

Revisions rise by one, so the event of a revision is found by subtraction: the window is a plain list
and ``compacted`` is the revision just before its first event. Because an event carries the entry it
replaced, the state at any revision of the window is today's state with later events undone; nothing
is stored twice. The size of the window is what it alone keeps alive: values that were replaced or deleted.

Of an older event only the bytes stay. What the layer above derived from them takes several times as much, and
is made again in the rare case that a watch resumes so far back.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from podling.store.base import DELETE, Compacted, Entry, Event, FutureRevision

DERIVED_BYTES = 4 * 1024 * 1024
"""The newest replaced and deleted values that keep their ``memo``, in bytes of the values."""


STEP_BYTES, STEP_EVENTS = 64 * 1024, 1_000
"""Others get a turn after the memo of so large a value, and after so many events."""

PARTS = 6
"""The number of calls in which all of a long history is searched for what late readers made again."""


class History:
    """Events in revision order, without gaps, from just after ``compacted`` to ``revision``."""

    __slots__ = (
        "_derived",
        "_derived_bytes",
        "_events",
        "_searched",
        "_seen",
        "compacted",
        "revision",
        "size_bytes",
    )

    def __init__(self, compacted: int = 0) -> None:
        self._events: list[Event] = []
        self.compacted = compacted
        self.revision = compacted
        self.size_bytes = 0
        """The values that nothing but the window keeps."""
        self._derived = 0
        """The place of the first event whose values keep what was derived from them."""
        self._derived_bytes = 0
        self._searched = 0
        """The place up to which was searched for what late readers made again."""
        self._seen = compacted
        """The revision at the last ``forget_derived``."""

    def append(self, event: Event) -> None:
        """Add the next event; its revision must be the next one."""
        revision = event.entry.revision
        if revision != self.revision + 1:
            raise ValueError(f"revision {revision} does not follow {self.revision}")
        self._events.append(event)
        self.revision = revision
        if event.previous is not None or event.type is DELETE:
            size = _size(event)
            self.size_bytes += size
            self._derived_bytes += size
            while self._derived_bytes > DERIVED_BYTES and self._derived < len(self._events) - 1:
                self._age()  # all but the newest event

    def forget_derived(self) -> Iterator[None]:
        """Let go of what was derived from values that were history at the last call, in short steps.

        Also of what late readers have made again, all of it in as many calls as there are parts.
        """
        start = self._searched if self._searched < self._derived else 0
        self._searched = min(self._derived, start + max(STEP_EVENTS, self._derived // PARTS + 1))
        for event in islice(self._events, start, self._searched):
            _forget(event)
        seen, self._seen = self._seen, self.revision
        while self._derived < len(self._events) and self._events[self._derived].revision <= seen:
            if self._age() > STEP_BYTES or self._derived % STEP_EVENTS == 0:
                yield

    def _age(self) -> int:
        """Let go of what was derived from the values of the oldest event that keeps it; return their size."""
        event = self._events[self._derived]
        size = _size(event)
        _forget(event)
        self._derived_bytes -= size
        self._derived += 1
        return size

    def check(self, revision: int) -> None:
        """Raise ``Compacted`` or ``FutureRevision`` unless the state at ``revision`` is known."""
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)

    def after(self, revision: int) -> Iterator[Event]:
        """Return the events with a revision above ``revision``, which must not be compacted."""
        return islice(self._events, revision - self.compacted, None)

    def up_to(self, revision: int) -> Iterator[Event]:
        """Return the kept events with a revision of at most ``revision``."""
        return islice(self._events, max(revision - self.compacted, 0))

    def replaced_since(self, revision: int, prefix: str) -> dict[str, Entry | None]:
        """Return the value at ``revision`` of each key that changed after it; ``None``: no value."""
        before: dict[str, Entry | None] = {}
        for event in self.after(revision):
            key = event.entry.key
            if key not in before and key.startswith(prefix):
                before[key] = event.previous
        return before

    def compact(self, revision: int) -> None:
        """Forget the events up to ``revision``."""
        if revision > self.compacted:
            gone = revision - self.compacted
            self.size_bytes -= sum(map(_size, self.up_to(revision)))
            self._derived_bytes -= sum(map(_size, self._events[self._derived : gone]))
            self._derived = max(self._derived - gone, 0)
            self._searched = max(self._searched - gone, 0)
            del self._events[:gone]
            self.compacted = revision

    def beyond(self, size_bytes: int) -> int:
        """Return the revision up to which events have to go, so that at most ``size_bytes`` are kept."""
        left, revision = self.size_bytes, self.compacted
        for event in self._events:
            if left <= size_bytes:
                break
            left -= _size(event)
            revision = event.entry.revision
        return revision


def _forget(event: Event) -> None:
    if event.previous is not None:
        event.previous.memo = None
    if event.type is DELETE:
        event.entry.memo = None


def _size(event: Event) -> int:
    replaced = len(event.previous.value) if event.previous is not None else 0
    return replaced + (len(event.entry.value) if event.type is DELETE else 0)
