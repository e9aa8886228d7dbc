"""Lengths of the pieces in which the event loop runs: a ticker that measures its own lateness.

No request is to hold the loop for more than 10 ms. uvloop offers no hook around its turns, so a task wakes
every 10 ms and counts by how much it was late: the length of the longest piece, less up to one interval.
While it is on time its intervals grow, for 100 wake-ups a second are most of what an idle cluster does.
Intervals of more than ``WORKING_INTERVAL_SECONDS`` end when a request arrives, and its piece is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podling import clock
from podling.apiserver.arrivals import Arrivals
from podling.machinery.histograms import Histogram, gauges, histograms

INTERVAL_SECONDS = 0.01
WORKING_INTERVAL_SECONDS = 0.16
IDLE_INTERVAL_SECONDS = 10.0
ON_TIME_SECONDS = 0.001
PIECE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12)


def next_interval(interval: float, late: float) -> float:
    """Return the seconds until the next wake-up, after one that was ``late`` by so many seconds.

    A rest that nothing ended is followed by another one, however busy the machine is.
    """
    if late > ON_TIME_SECONDS and interval <= WORKING_INTERVAL_SECONDS:
        return INTERVAL_SECONDS
    return min(2 * interval, IDLE_INTERVAL_SECONDS)


class LoopPieces:
    """The lateness of a ticker on one event loop: a ``Collector`` of metrics.

    Args:
        arrivals: the requests that the loop serves.
    """

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._lateness = Histogram(PIECE_SECONDS)
        self.longest = 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        interval = INTERVAL_SECONDS
        while True:
            wait = interval if interval < IDLE_INTERVAL_SECONDS else clock.aligned(interval)
            due = clock.machine_monotonic() + wait
            if interval <= WORKING_INTERVAL_SECONDS:
                await clock.machine_sleep(wait)
            elif (arrived_at := await self._arrivals.wait(wait)) is not None:
                due, interval = arrived_at, INTERVAL_SECONDS
            late = clock.machine_monotonic() - due
            self.observe(late)
            interval = next_interval(interval, late)

    def observe(self, late: float) -> None:
        """Count one wake-up that was ``late`` by so many seconds."""
        self._lateness.observe(late)
        self.longest = max(self.longest, late)

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        text = "Seconds by which a ticker of 10 ms to 10 s was late: how long work held the event loop."
        yield histograms("podling_event_loop_piece_seconds", text, (), {(): self._lateness})
        text = "The longest lateness since the start of the process."
        yield gauges("podling_event_loop_longest_piece_seconds", text, (), {(): self.longest})
