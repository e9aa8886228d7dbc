"""Fan-out of changes to watches.

All watches of one prefix share one log and hold a position in it. A write is therefore appended once
per watched prefix that it falls under, for any number of watches, and the queue of a slow watch costs
nothing but the events that it keeps alive. That cost is bounded: a watch more than ``capacity``
events or bytes behind is cut off and reads ``WatchOverflow``, so the writer never waits for a reader.

Finding the prefixes of a key: for each length in use the head of the key is looked up. There are few lengths,
for any number of watches. The result is remembered for the part of the key up to its last slash, until a
prefix comes or goes.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator, Callable
from itertools import islice

from podling.store.base import Event, StoreClosed, Watch, WatchOverflow
from podling.store.history import History

DEFAULT_CAPACITY = 16_384
"""The number of events that a watch may be behind. Generous, because a shared log makes it cheap and because
a burst of writes within one turn of the event loop gives no watch the chance to read."""

CAPACITY_BYTES = 32 * 1024 * 1024
"""The bytes of values, together, that a watch may be behind."""

READY_BYTES = 1024 * 1024
"""The bytes of values, together, that a watch takes at once with a limit."""

CROWD = 64
"""The number of watches woken at once. A thousand that all run in one turn of the event loop would hold it
for
all other work; so they are woken in groups, each after a pause, and read all new events at once."""

PAUSE_SECONDS = 0.003
"""Between one crowd and the next, so that writes and reads have their turns."""

FOLDERS_MAX = 4096
"""Collections of keys whose channels are remembered before remembering starts afresh."""

TRIM_AT_LEAST = 256
"""The number of new events after which a log is checked for those that every watch has read."""


class Hub:
    """Open watches by prefix. ``history`` supplies what happened before a watch was opened."""

    def __init__(self, history: History, capacity: int = DEFAULT_CAPACITY) -> None:
        self._history = history
        self._capacity = capacity
        self._channels: dict[str, _Channel] = {}
        self._folders: dict[str, tuple[tuple[_Channel, ...], tuple[int, ...]]] = {}
        """By the part of a key up to its last slash: the channels of its prefixes, and the lengths of the
        prefixes that begin with it."""
        self._touched: dict[_Channel, None] = {}
        self._closed = False

    def watch(self, prefix: str, after: int) -> Watch:
        """Open a watch. Raises ``Compacted``, ``FutureRevision`` or ``StoreClosed``."""
        if self._closed:
            raise StoreClosed("the store is closed")
        self._history.check(after)
        channel = self._channels.get(prefix)
        if channel is None:
            channel = self._channels[prefix] = _Channel(self._history, self._capacity, self._release(prefix))
            self._forget(prefix)
        if after >= channel.complete_after:
            return _Watch(channel, channel.position_after(after), ())
        missed = [event for event in self._history.after(after) if event.entry.key.startswith(prefix)]
        return _Watch(channel, channel.end, missed)

    def publish(self, event: Event) -> None:
        """Hand ``event``, already in the history, to the watches of its key; ``wake`` lets them run."""
        if not self._channels:
            return
        key = event.entry.key
        folder = key[: key.rfind("/") + 1]
        channels, longer = self._folders.get(folder) or self._find(folder)
        for channel in channels:
            channel.append(event)
            self._touched[channel] = None
        for length in longer:
            if length > len(key):
                break
            found = self._channels.get(key[:length])
            if found is not None:
                found.append(event)
                self._touched[found] = None

    def wake(self) -> None:
        """Wake the waiting watches that were published to: once per batch of events."""
        if self._touched:
            for channel in self._touched:
                channel.wake()
            self._touched.clear()

    def trim(self) -> None:
        """Let go of events that every watch has read."""
        for channel in tuple(self._channels.values()):
            if channel.has_events:
                channel.trim()

    def close(self) -> None:
        """Close every watch, and open none any more."""
        self._closed = True
        for channel in tuple(self._channels.values()):
            channel.close()

    def cut_off(self) -> None:
        """Cut off every watch, and open none any more: other contents take the place of these."""
        self._closed = True
        for channel in tuple(self._channels.values()):
            channel.cut_off()

    def _release(self, prefix: str) -> Callable[[], None]:
        def release() -> None:
            self._touched.pop(self._channels.pop(prefix), None)
            self._forget(prefix)

        return release

    def _find(self, folder: str) -> tuple[tuple[_Channel, ...], tuple[int, ...]]:
        """Return the channels of the prefixes of ``folder``, and the lengths of those that begin with it."""
        prefixes = sorted((prefix for prefix in self._channels if folder.startswith(prefix)), key=len)
        begun = (prefix for prefix in self._channels if prefix.startswith(folder))
        longer = {len(prefix) for prefix in begun if len(prefix) > len(folder)}
        if len(self._folders) >= FOLDERS_MAX:
            self._folders.clear()
        found = tuple(self._channels[prefix] for prefix in prefixes), tuple(sorted(longer))
        self._folders[folder] = found
        return found

    def _forget(self, prefix: str) -> None:
        """Forget the channels of folders that ``prefix`` concerns: it has another channel now, or none."""
        concerned = [each for each in self._folders if each.startswith(prefix) or prefix.startswith(each)]
        for folder in concerned:
            del self._folders[folder]


class _Channel:
    """The shared log of one prefix. Positions in it are absolute: trimming does not move them."""

    def __init__(self, history: History, capacity: int, release: Callable[[], None]) -> None:
        self.history = history
        self.complete_after = history.revision
        """The log holds every event of the prefix above this revision."""
        self._capacity = capacity
        self._release = release
        self._log: list[Event] = []
        self._start = self.end = 0
        self._size_bytes = 0
        """The values of the log."""
        self._trim_at = TRIM_AT_LEAST
        self._watches: dict[_Watch, None] = {}
        self._waiting: dict[_Watch, None] = {}
        """In the order in which they began to wait: those that are behind come first."""
        self._next_crowd: asyncio.TimerHandle | None = None

    @property
    def has_events(self) -> bool:
        return bool(self._log)

    def position_after(self, revision: int) -> int:
        return self._start + bisect_right(self._log, revision, key=lambda event: event.entry.revision)

    def at(self, position: int) -> Event:
        return self._log[position - self._start]

    def since(self, position: int, most: int | None) -> list[Event]:
        start = position - self._start
        return self._log[start : None if most is None else start + most]

    def append(self, event: Event) -> None:
        self._log.append(event)
        self.end += 1
        self._size_bytes += len(event.entry.value)
        if len(self._log) > self._trim_at or self._size_bytes > CAPACITY_BYTES:
            self.trim()

    def join(self, watch: _Watch) -> None:
        self._watches[watch] = None

    def leave(self, watch: _Watch) -> None:
        self.stop_waiting(watch)
        if watch in self._watches:
            del self._watches[watch]
            if not self._watches:
                self._release()

    def wait(self, watch: _Watch) -> None:
        self._waiting[watch] = None

    def stop_waiting(self, watch: _Watch) -> None:
        self._waiting.pop(watch, None)

    def wake(self) -> None:
        """Wake the waiting watches that are behind: a crowd now, the others crowd by crowd."""
        if self._next_crowd is None:
            self._wake_a_crowd()

    def _wake_a_crowd(self) -> None:
        self._next_crowd = None
        for watch in tuple(islice(self._waiting, CROWD)):
            if watch.position == self.end:
                return
            self.stop_waiting(watch)
            watch.wake()
        if self._waiting:
            loop = asyncio.get_running_loop()
            self._next_crowd = loop.call_later(PAUSE_SECONDS, self._wake_a_crowd)

    def trim(self) -> None:
        """Cut off who is too far behind, drop what the rest has read; amortised over many events."""
        self._drop_read()
        if self._size_bytes > CAPACITY_BYTES or len(self._log) > self._capacity:
            oldest = self._oldest_kept()
            for watch in tuple(self._watches):
                if watch.position < oldest:
                    watch.cut_off()
            self._drop_read()
        kept = len(self._log)
        self._trim_at = max(TRIM_AT_LEAST, min(2 * kept, self._capacity), kept + TRIM_AT_LEAST)

    def _oldest_kept(self) -> int:
        """Return the first position of which the log keeps everything that comes after it."""
        position, left = self.end, CAPACITY_BYTES
        for event in reversed(self._log):
            left -= len(event.entry.value)
            if left < 0 or self.end - position == self._capacity:
                break
            position -= 1
        return position

    def _drop_read(self) -> None:
        """Drop what every watch has read."""
        end = self.end
        lowest = min((watch.position for watch in self._watches), default=end)
        read = lowest - self._start
        if read:
            self.complete_after = self._log[read - 1].entry.revision
            self._size_bytes -= sum(len(event.entry.value) for event in self._log[:read])
            del self._log[:read]
            self._start = lowest

    def close(self) -> None:
        for watch in tuple(self._watches):
            watch.close()

    def cut_off(self) -> None:
        for watch in tuple(self._watches):
            watch.cut_off()


class _Watch:
    """One reader: first what it missed before it was opened, then the channel's log."""

    __slots__ = ("_channel", "_closed", "_missed", "_over_at", "_overflowed", "_waiter", "position")

    def __init__(self, channel: _Channel, position: int, missed: list[Event] | tuple[()]) -> None:
        self._channel = channel
        self._missed = deque(missed)
        self._closed = self._overflowed = False
        self._over_at: int | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.position = position
        channel.join(self)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while True:
            self._check()
            if self._closed:
                raise StopAsyncIteration
            if self._missed:
                return self._missed.popleft()
            if self.position < self._channel.end:
                self.position += 1
                return self._channel.at(self.position - 1)
            await self._wait()

    def ready(self, limit: int = 0) -> list[Event]:
        self._check()
        if not self.behind:
            return []
        events: list[Event] = []
        if self._missed:
            events = [
                self._missed.popleft() for _ in range(min(limit, len(self._missed)) or len(self._missed))
            ]
        rest = self._channel.since(self.position, limit - len(events) if limit else None)
        if limit and len(rest) > 1:
            rest = rest[: _few(rest)]
        self.position += len(rest)
        return events + rest if events else rest

    @property
    def behind(self) -> bool:
        if self.position == self._channel.end and not self._missed:
            return self._overflowed
        return self._overflowed or not self._closed

    @property
    def progress(self) -> int:
        if self._over_at is not None:
            return self._over_at
        if self._missed:
            return self._missed[0].entry.revision - 1
        if self.position < self._channel.end:
            return self._channel.at(self.position).entry.revision - 1
        return self._channel.history.revision

    def close(self) -> None:
        if self._over_at is None:
            self._closed = True
            self._let_go()

    def cut_off(self) -> None:
        self._overflowed = True
        self._let_go()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _let_go(self) -> None:
        self._over_at = self.progress
        self._missed.clear()
        self._channel.leave(self)
        self.wake()

    def _check(self) -> None:
        if self._overflowed:
            raise WatchOverflow("the watch fell too far behind and was cut off")

    async def _wait(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("a watch has one reader")
        self._waiter = asyncio.get_running_loop().create_future()
        self._channel.wait(self)
        try:
            await self._waiter
        finally:
            self._waiter = None
            self._channel.stop_waiting(self)


def _few(events: list[Event]) -> int:
    """Return how many of ``events`` are at most ``READY_BYTES`` together; but at least one."""
    size = 0
    for position, event in enumerate(events):
        size += len(event.entry.value)
        if size > READY_BYTES and position:
            return position
    return len(events)
