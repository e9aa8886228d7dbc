"""Decisions that are taken from a string of bytes, which a property test may draw at once and shrink.

Zero is always the plainest decision, and so is every one after the end: a shorter or a smaller string makes
a simpler thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """One reader; a decision takes a byte, or two where there are more options than one can say."""

    def __init__(self, blob: bytes) -> None:
        self._bytes = iter(blob)

    def below(self, count: int) -> int:
        """A number from 0 to ``count - 1``, each as likely as the others; ``count`` is at most 65,536."""
        found = next(self._bytes, 0)
        return found * count >> 8 if count <= 256 else (found << 8 | next(self._bytes, 0)) * count >> 16

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def chance(self, share: float) -> bool:
        """True so often; never after the end, unless always."""
        return next(self._bytes, 0) >= 256 * (1 - share)
