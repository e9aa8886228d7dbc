"""Everything committed, in memory: current entries, their order, past changes and open watches.

Every store answers reads from a ``State`` and differs only in what happens before a change gets
here. ``put_event`` and ``delete_event`` decide whether a write may happen and what it would be;
``commit`` makes it so, all at once for every reader. Nothing in between is visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any

from podling import clock
from podling.store.base import (
    DELETE,
    PUT,
    VALUE_BYTES_MAX,
    Conflict,
    Encode,
    Entry,
    Event,
    Page,
    ValueTooLarge,
    Watch,
)
from podling.store.history import History
from podling.store.hub import DEFAULT_CAPACITY, Hub
from podling.store.keys import SortedKeys, just_after, prefix_end
from podling.store.large_values import LARGE_BYTES, LargeValues


class State:
    """The committed state. ``compacted`` is where its history begins."""

    def __init__(
        self, entries: Iterable[Entry] = (), compacted: int = 0, *, watch_capacity: int = DEFAULT_CAPACITY
    ) -> None:
        self._entries: dict[str, Entry] = {}
        self._keys = SortedKeys()
        self._large = LargeValues(self._entries)
        self.history = History(compacted)
        self.hub = Hub(self.history, watch_capacity)
        self.publish: Callable[[int], object] | None = None
        """Called with the newest revision before a change is acknowledged or read."""
        self.restore(entries)

    def restore(self, entries: Iterable[Entry]) -> None:
        """Add entries that were there before history begins."""
        for entry in entries:
            self._entries[entry.key] = entry
            self._keys.add(entry.key)
            if len(entry.value) > LARGE_BYTES:
                self._large.restore(entry)

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def count(self, prefix: str) -> int:
        return self._keys.count(prefix, prefix_end(prefix))

    def page(self, prefix: str, revision: int | None, limit: int, after: str) -> Page:
        """See ``Store.list``."""
        low, high = max(prefix, just_after(after)) if after else prefix, prefix_end(prefix)
        if revision is None and limit <= 0:  # everything, now: nothing to undo, nothing left to count
            return Page(tuple(self._walk(low, high)), self.history.revision)
        as_of = self.history.revision if revision is None else revision
        self.history.check(as_of)
        replaced = self.history.replaced_since(as_of, prefix) if as_of < self.history.revision else {}
        total = self._keys.count(low, high)
        entries = self._walk(low, high)
        if replaced:
            inside = {key: entry for key, entry in replaced.items() if key >= low}
            total += sum(self._difference(key, entry) for key, entry in inside.items())
            entries = _undone(entries, inside)
        taken = tuple(islice(entries, limit) if limit > 0 else entries)
        return Page(taken, as_of, total - len(taken))

    def put_event(self, key: str, encode: Encode, expect: int, revision: int, memo: Any) -> Event:
        """The change that a put would make at ``revision``. Raises ``Conflict`` or ``ValueTooLarge``."""
        previous = self._expected(key, expect)
        created = previous.create_revision if previous else revision
        value = encode(revision)
        if len(key) + len(value) > VALUE_BYTES_MAX:
            raise ValueTooLarge(f"{key}: {len(value)} bytes, at most {VALUE_BYTES_MAX}")
        return Event(PUT, Entry(key, value, revision, created, memo), previous)

    def delete_event(self, key: str, encode: Encode | None, expect: int, revision: int) -> Event:
        """Return the change that a deletion would make at ``revision``. Raises ``Conflict``."""
        previous = self._expected(key, expect)
        if previous is None:
            raise Conflict(key, expect, 0)
        value = encode(revision) if encode else previous.value
        return Event(DELETE, Entry(key, value, revision, previous.create_revision), previous)

    def commit(self, *events: Event) -> None:
        """Make changes visible, in order, to readers and watches."""
        for event in events:
            self.history.append(event)
            entry = event.entry
            if event.type is DELETE:
                del self._entries[entry.key]
                self._keys.remove(entry.key)
            else:
                if event.previous is None:
                    self._keys.add(entry.key)
                self._entries[entry.key] = entry
                if len(entry.value) > LARGE_BYTES:
                    self._large.add(entry)
            self.hub.publish(event)
        if self.publish is not None:
            self.publish(self.history.revision)
        self.hub.wake()

    def forget_derived(self) -> Iterator[None]:
        """Let go of memos, a few at each step: see ``Store.forget_derived``."""
        yield from self.history.forget_derived()
        yield from self._large.forget_derived()

    def compact(self, revision: int) -> None:
        self.history.compact(revision)
        self.hub.trim()

    def _expected(self, key: str, expect: int) -> Entry | None:
        entry = self._entries.get(key)
        actual = entry.revision if entry else 0
        if actual != expect:
            raise Conflict(key, expect, actual)
        return entry

    def _walk(self, low: str, high: str | None) -> Iterator[Entry]:
        return map(self._entries.__getitem__, self._keys.between(low, high))

    def _difference(self, key: str, before: Entry | None) -> int:
        return (before is not None) - (key in self._entries)


def _undone(entries: Iterator[Entry], replaced: dict[str, Entry | None]) -> Iterator[Entry]:
    """``entries`` with those in ``replaced`` as they were before, all in key order."""
    untouched = (entry for entry in entries if entry.key not in replaced)
    restored = sorted((entry for entry in replaced.values() if entry), key=_key)
    return merge(untouched, restored, key=_key)


def _key(entry: Entry) -> str:
    return entry.key


class CommittedReads:
    """The reading half of a store: everything committed is in memory, so no read waits."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.trouble = ""

    @property
    def revision(self) -> int:
        return self._state.history.revision

    def publish_revision(self, publish: Callable[[int], object]) -> None:
        """Call ``publish`` with the revision, now and before each change is acknowledged or read."""
        publish(self.revision)
        self._state.publish = publish

    @property
    def compacted(self) -> int:
        return self._state.history.compacted

    @property
    def size_bytes(self) -> int:
        return 0

    @property
    def history_bytes(self) -> int:
        return self._state.history.size_bytes

    def history_beyond(self, size_bytes: int) -> int:
        return self._state.history.beyond(size_bytes)

    async def forget_derived(self) -> None:
        for _ in self._state.forget_derived():
            await clock.sleep(0)

    async def get(self, key: str) -> Entry | None:
        return self._state.get(key)

    def peek(self, key: str) -> Entry | None:
        return self._state.get(key)

    async def list(
        self, prefix: str, *, revision: int | None = None, limit: int = 0, after: str = ""
    ) -> Page:
        return self._state.page(prefix, revision, limit, after)

    def count(self, prefix: str) -> int:
        return self._state.count(prefix)

    def watch(self, prefix: str, *, after: int) -> Watch:
        return self._state.hub.watch(prefix, after)
