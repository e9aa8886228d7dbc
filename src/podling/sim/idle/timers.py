"""The timers of the virtual-time loop: ordered by their making, and of kinds that leaps treat differently."""

from __future__ import annotations

import asyncio
from enum import IntEnum


class Kind(IntEnum):
    """The kinds of timers, by what a leap over their moment does with them (``podling.sim.idle.leaps``)."""

    EVENT = 0
    """No leap passes over it."""
    REPORT = 1
    """It is postponed by whole periods."""
    ROUND = 2
    """It is made once at the end."""
    HEARTBEAT = 3
    """It is made once at the end, before the rounds."""


class NumberedTimer(asyncio.TimerHandle):
    """A timer that knows its turn among those of the same moment: they fire in the order of their making.

    asyncio compares moments only: its order of equal ones follows from the inside of the heap, which changes
    with timers that were cancelled, and may differ between versions of Python.
    """

    __slots__ = ("kind", "number", "period")
    number: int
    kind: Kind
    period: float
    """The seconds by whose multiples a report may be postponed."""

    def _run(self) -> None:
        """Run the callback at its moment, not before it.

        asyncio also fires timers that the clock has nearly reached. Code that then waits for the rest would
        set a timer that fires at once, and time would stand still.
        """
        self._loop.reach(self._when)  # type: ignore[attr-defined]
        super()._run()

    def __lt__(self, other: NumberedTimer) -> bool:  # type: ignore[override]  # a loop has no others
        when, others = self._when, other._when  # type: ignore[attr-defined]
        return bool(when < others or (when == others and self.number < other.number))
