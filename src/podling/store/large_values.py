"""Large current values: what the layer above derives from them is not kept for as long as they are.

Decoded, an object of many keys takes up to twenty times its bytes. For most values that is well spent: they
are small, and read often. Of large ones only those that were written just now keep their memo; a reader that
needs it makes it again, and the next sweep drops it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from podling.store.base import Entry

LARGE_BYTES = 64 * 1024
"""Values of at most this size keep their memo for as long as they are current."""
DERIVED_BYTES = 4 * 1024 * 1024
"""The newest large values that keep their memo, in bytes of the values."""


class LargeValues:
    """The large values among ``entries``, the current ones of a store."""

    __slots__ = ("_current", "_found", "_fresh", "_fresh_bytes", "_seen")

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._current = entries
        self._found: dict[str, Entry] = {}
        """By key; some may have been replaced or deleted since."""
        self._fresh: deque[Entry] = deque()
        """Those that keep their memo, in the order of their writes."""
        self._fresh_bytes = 0
        self._seen = 0
        """The newest revision at the last ``forget_derived``."""

    def restore(self, entry: Entry) -> None:
        """Note a value that was there before."""
        self._found[entry.key] = entry

    def add(self, entry: Entry) -> None:
        """Note a value that has been written."""
        self._found[entry.key] = entry
        self._fresh.append(entry)
        self._fresh_bytes += len(entry.value)
        while self._fresh_bytes > DERIVED_BYTES and len(self._fresh) > 1:
            self._age()

    def forget_derived(self) -> Iterator[None]:
        """Let go of what was derived from values that were there at the last call, one at each step.

        A reader may have made it again since the value was written.
        """
        seen = self._seen
        if self._fresh:
            self._seen = self._fresh[-1].revision
        while self._fresh and self._fresh[0].revision <= seen:
            self._age()
            yield
        for key, entry in [*self._found.items()]:
            if self._current.get(key) is not entry:
                if self._found.get(key) is entry:
                    del self._found[key]
            elif entry.revision <= seen and entry.memo is not None:
                entry.memo = None
                yield

    def _age(self) -> None:
        entry = self._fresh.popleft()
        self._fresh_bytes -= len(entry.value)
        if self._current.get(entry.key) is entry:  # else history keeps it, and lets go of its memo
            entry.memo = None
