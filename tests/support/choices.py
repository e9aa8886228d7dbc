"""Decisions read from a string of bytes, which a property test draws at once and shrinks.

Zero is always the plainest decision, and so is every one after the end: a shorter or a smaller string makes
a simpler thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Reads decisions; each takes a byte, or two for more than 256 options."""

    def __init__(self, blob: bytes) -> None:
        self._bytes = iter(blob)

    def below(self, count: int) -> int:
        """Return a number from 0 to ``count - 1``, all equally likely; ``count`` is at most 65,536."""
        found = next(self._bytes, 0)
        return found * count >> 8 if count <= 256 else (found << 8 | next(self._bytes, 0)) * count >> 16

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def chance(self, share: float) -> bool:
        """Return True with probability ``share``; False after the end, unless ``share`` is 1."""
        return next(self._bytes, 0) >= 256 * (1 - share)
