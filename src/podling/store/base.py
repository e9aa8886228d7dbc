"""The store's contract: one revisioned key-value space that everything else reads.

Guarantees that every implementation gives, and ``tests/contract`` checks on each of them:

* Every write takes the next revision; revisions rise by one and are never used again.
* A write happens only if the key is still at the revision the writer expects (compare-and-swap).
* A write is acknowledged after it is durable, and becomes visible to readers and watchers only
  then, in revision order.
* A watch gives every event after its starting revision exactly once, in order, without a gap; if
  the history it needs was compacted away it says so with ``Compacted``.

The store knows nothing of Kubernetes: keys are paths, values are bytes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from enum import Enum
from typing import Any, Protocol

from msgspec import Struct

Encode = Callable[[int], bytes]
"""Makes the value once the revision is known, because objects carry their revision inside."""


VALUE_BYTES_MAX = 1536 * 1024
"""The largest size of a key and its value: the default of etcd (``--max-request-bytes``)."""


class StoreError(Exception):
    """Base of everything a store raises on purpose."""


class Conflict(StoreError):
    """The key is not at the expected revision. ``actual`` is where it is; 0 if it does not exist."""

    def __init__(self, key: str, expected: int, actual: int) -> None:
        super().__init__(f"{key}: expected revision {expected}, found {actual}")
        self.key, self.expected, self.actual = key, expected, actual


class Compacted(StoreError):
    """The requested revision is older than the history kept. ``oldest`` is the oldest usable one."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} has been compacted, the oldest kept is {oldest}")
        self.revision, self.oldest = revision, oldest


class FutureRevision(StoreError):
    """The requested revision has not happened yet."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is in the future, the current one is {current}")
        self.revision, self.current = revision, current


class WatchOverflow(StoreError):
    """The watcher fell too far behind and was cut off; it must list again."""


class WriteFailed(StoreError):
    """The write could not be made durable (the disk is full, say). Nothing of it is visible."""


class ValueTooLarge(StoreError):
    """The value is larger than ``VALUE_BYTES_MAX``. Nothing was written."""


class StoreClosed(StoreError):
    """The store was closed: it takes no writes and opens no watches. Reads still answer."""


class StoreLocked(StoreError):
    """Another process has the store's files open."""


class StoreDamaged(StoreError):
    """The store's files are not what a store wrote: damaged, or not a store at all."""


class Entry(Struct, eq=False, gc=False):
    """One key's value as of one revision. Never changed after it was made, but for ``memo``.

    ``memo`` is where the layer above keeps what it derived from ``value`` (the decoded object, say):
    the store carries it along and never looks at it. ``put`` may be given it so that what was just
    encoded need not be decoded again. It must not lead back to the entry: stores hold very many entries, and
    the garbage collector, which would have to walk through all of them, leaves them alone.
    """

    key: str
    value: bytes
    revision: int
    create_revision: int
    memo: Any = None


class EventType(Enum):
    PUT = "PUT"
    DELETE = "DELETE"


PUT, DELETE = EventType.PUT, EventType.DELETE
"""The same as names of this module: every write compares them."""


class Event(Struct, frozen=True, eq=False, gc=False):
    """One change. For a deletion ``entry`` holds the last state as ``delete`` encoded it.

    ``previous`` is the entry that the change replaced; ``None`` for a creation. It may also be
    ``None`` after a restart when history before the change is no longer kept.
    """

    type: EventType
    entry: Entry
    previous: Entry | None

    @property
    def revision(self) -> int:
        return self.entry.revision


class Page(Struct, frozen=True):
    """Entries in key order, all as of ``revision``; ``remaining`` counts those left out by a limit."""

    entries: tuple[Entry, ...]
    revision: int
    remaining: int = 0


class Watch(Protocol):
    """An open watch: an async iterator of events that can also be drained without waiting."""

    def __aiter__(self) -> AsyncIterator[Event]: ...

    async def __anext__(self) -> Event:
        """Return the next event. Raises ``WatchOverflow`` when cut off, ``StopAsyncIteration`` when closed.

        One reader at a time; giving up waiting (cancellation) loses nothing.
        """
        ...

    def ready(self, limit: int = 0) -> list[Event]:
        """Take the events that are here already, in order, without waiting; perhaps none.

        With a ``limit`` the others, beyond so many, stay. Raises ``WatchOverflow`` when cut off.
        """
        ...

    @property
    def behind(self) -> bool:
        """True if ``ready`` has anything to return or to raise: cheap, for frequent calls."""
        ...

    @property
    def progress(self) -> int:
        """Every matching event up to this revision was handed out: what a bookmark may say."""
        ...

    def close(self) -> None:
        """Stop watching. The opener of a watch must close it: it costs writers until then."""
        ...


class Store(Protocol):
    """A revisioned key-value store. All methods are called on the event loop."""

    @property
    def revision(self) -> int:
        """The newest committed revision; 0 for an empty store."""
        ...

    @property
    def compacted(self) -> int:
        """History up to and including this revision may be gone (current values never are)."""
        ...

    @property
    def trouble(self) -> str:
        """Why the last write failed for a reason of the store's own (a full disk); empty if it did not."""
        ...

    @property
    def size_bytes(self) -> int:
        """Return the bytes of the store on disk now; 0 for one without a disk."""
        ...

    @property
    def history_bytes(self) -> int:
        """The size of the values that were replaced or deleted and are kept as history."""
        ...

    def history_beyond(self, size_bytes: int) -> int:
        """Return the revision to compact to, so that history keeps at most ``size_bytes``."""
        ...

    async def forget_derived(self) -> None:
        """Let go of the memos of values that are history or large, unless written since the last call."""
        ...

    async def get(self, key: str) -> Entry | None: ...

    def peek(self, key: str) -> Entry | None:
        """``get`` without a task switch: everything committed is in memory."""
        ...

    async def list(
        self, prefix: str, *, revision: int | None = None, limit: int = 0, after: str = ""
    ) -> Page:
        """Entries under ``prefix`` in key order, strictly after the key ``after``.

        ``revision``: the state as of then (``None``: now). Raises ``Compacted`` or
        ``FutureRevision``.
        """
        ...

    def count(self, prefix: str) -> int: ...

    async def put(self, key: str, encode: Encode, *, expect: int, memo: Any = None) -> Entry:
        """Write ``key`` if it is at revision ``expect`` (0: if it does not exist).

        ``encode`` is called at most once, with the revision that the write takes. A put whose key has
        a write in flight waits for that write, then compares. Raises ``Conflict``, ``ValueTooLarge``,
        ``WriteFailed`` or ``StoreClosed``. A caller that is cancelled while waiting does not know whether it
        wrote.
        """
        ...

    async def delete(self, key: str, *, expect: int, encode: Encode | None = None) -> Entry:
        """Remove ``key`` if it is at revision ``expect``; the deletion takes a revision of its own.

        Returns the deletion's entry, whose value ``encode`` makes (default: the last value).
        Raises ``Conflict``, also when the key does not exist, and what ``put`` raises.
        """
        ...

    def watch(self, prefix: str, *, after: int) -> Watch:
        """Return every change under ``prefix`` with a revision above ``after``.

        Raises ``Compacted``, ``FutureRevision`` or ``StoreClosed`` at once.
        """
        ...

    async def compact(self, revision: int) -> None:
        """Forget history up to ``revision``; later lists and watches below it raise ``Compacted``.

        ``revision`` itself stays usable, and so do watches already open. Compacting again, or less,
        does nothing. Raises ``FutureRevision``.
        """
        ...

    async def close(self) -> None:
        """Finish what was accepted, close every watch, then let go of files and threads."""
        ...
