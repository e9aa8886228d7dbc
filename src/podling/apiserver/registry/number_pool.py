"""A pool of numbers, each of which one object at a time may have: addresses of Services and node ports.

The stored objects say which numbers are in use. The pool adds those that requests hold which are not stored
yet, so that two requests at the same time never get the same number.

Upstream: ``calculateRangeOffset`` in ``pkg/registry/core/service/ipallocator`` and ``portallocator``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import chain

from podling import ids

RANDOM_TRIES = 64
STATIC_MIN = 16


def static_band(size: int, step: int, most: int) -> int:
    """Return how many of the lowest numbers are left for requests that name theirs.

    A pool of fewer than 16 numbers leaves none; a larger one every ``step``-th, between 16 and ``most``.
    """
    return 0 if size <= STATIC_MIN else min(max(STATIC_MIN, size // step), most)


class NumberPool:
    """The numbers of ``range``; without a wish a number comes from above the first ``static`` ones if any
    of those is free."""

    def __init__(self, numbers: range, static: int = 0) -> None:
        self.range = numbers
        self._bands = (numbers[static:], numbers[:static])
        self._holders: dict[int, Hashable] = {}

    def draw(self, holder: Hashable, is_used: Callable[[int], bool]) -> int | None:
        """Reserve a random number that is neither used nor held; None if there is none."""
        for band in self._bands:
            number = self._random(band, is_used)
            if number is not None:
                self._holders[number] = holder
                return number
        return None

    def take(self, holder: Hashable, number: int, is_used: Callable[[int], bool]) -> bool:
        """Reserve just this number; return False if it is used or held by another."""
        if is_used(number) or self._holders.get(number, holder) != holder:
            return False
        self._holders[number] = holder
        return True

    def release(self, holder: Hashable) -> None:
        """Free all that ``holder`` has reserved."""
        for number in [number for number, each in self._holders.items() if each == holder]:
            del self._holders[number]

    def _random(self, band: range, is_used: Callable[[int], bool]) -> int | None:
        drawn = (band[ids.below(len(band))] for _ in range(RANDOM_TRIES if band else 0))
        return next(
            (number for number in chain(drawn, band) if number not in self._holders and not is_used(number)),
            None,
        )
