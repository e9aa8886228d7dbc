"""Keys in order: what a list by prefix walks through.

A single sorted list moves half its pointers on every insertion, which at 100,000 keys costs more
than everything else in a write. Keys are therefore kept in a row of short sorted blocks: finding is
two bisections, inserting moves at most one block, and a range is a few slices. A tree would save
nothing more: the row of blocks stays small enough to be searched and counted directly.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from itertools import chain

from podling.machinery.text_cache import cached_by_text

BLOCK_LENGTH = 512
"""A block is split in two when it grows past twice this."""

_HIGHEST = chr(sys.maxunicode)


@cached_by_text(1024)
def prefix_end(prefix: str) -> str | None:
    """The smallest key after every key that starts with ``prefix``; ``None`` when nothing comes after."""
    head = prefix.rstrip(_HIGHEST)
    return head[:-1] + chr(ord(head[-1]) + 1) if head else None


def just_after(key: str) -> str:
    """Return the smallest key greater than ``key``."""
    return key + "\0"


class SortedKeys:
    """A set of keys that can be walked and counted in order between two bounds.

    A range is ``low <= key < high``; ``high`` of ``None`` means to the end. Do not change the set
    while walking a range.
    """

    __slots__ = ("_blocks", "_firsts")

    def __init__(self) -> None:
        self._blocks: list[list[str]] = []
        self._firsts: list[str] = []

    def add(self, key: str) -> None:
        """Add ``key``, which must not be there yet."""
        if not self._blocks:
            self._blocks.append([key])
            self._firsts.append(key)
            return
        at = (bisect_right(self._firsts, key) or 1) - 1
        block = self._blocks[at]
        insort(block, key)
        self._firsts[at] = block[0]
        if len(block) > 2 * BLOCK_LENGTH:
            self._split(at)

    def remove(self, key: str) -> None:
        """Remove ``key``. Raises ``KeyError`` when it is not there."""
        at = bisect_right(self._firsts, key) - 1
        block = self._blocks[at] if at >= 0 else []
        offset = bisect_left(block, key)
        if offset == len(block) or block[offset] != key:
            raise KeyError(key)
        del block[offset]
        if block:
            self._firsts[at] = block[0]
        else:
            del self._blocks[at], self._firsts[at]

    def count(self, low: str, high: str | None) -> int:
        """Return the number of keys in the range."""
        start, first = self._position(low)
        end, last = self._position(high)
        if start >= end:
            return max(last - first, 0) if start == end else 0
        return sum(len(block) for block in self._blocks[start:end]) - first + last

    def between(self, low: str, high: str | None) -> Iterator[str]:
        """Return the keys in the range, in order."""
        start, first = self._position(low)
        end, last = self._position(high)
        if start >= end:
            few = start == end and first < last
            return iter(self._blocks[start][first:last] if few else ())
        whole = self._blocks[start + 1 : end]
        tail = self._blocks[end][:last] if last else []
        return chain(self._blocks[start][first:], chain.from_iterable(whole), tail)

    def _position(self, key: str | None) -> tuple[int, int]:
        """Block and offset of the first key at or after ``key``."""
        if key is None:
            return len(self._blocks), 0
        at = bisect_right(self._firsts, key) - 1
        if at < 0:
            return 0, 0
        return at, bisect_left(self._blocks[at], key)

    def _split(self, at: int) -> None:
        block = self._blocks[at]
        upper = block[BLOCK_LENGTH:]
        del block[BLOCK_LENGTH:]
        self._blocks.insert(at + 1, upper)
        self._firsts.insert(at + 1, upper[0])
