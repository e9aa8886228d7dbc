"""The ticker that measures how long work holds the event loop."""

from __future__ import annotations

import asyncio
import time  # noqa: TID251 - holds the loop for real

from podling import clock
from podling.apiserver.arrivals import Arrivals
from podling.apiserver.http.metrics import exposition
from podling.apiserver.loop_pieces import (
    IDLE_INTERVAL_SECONDS,
    INTERVAL_SECONDS,
    WORKING_INTERVAL_SECONDS,
    LoopPieces,
    next_interval,
)
from podling.sim.loop import run
from podling.supervisor import Supervisor


def _exposed(pieces: LoopPieces) -> str:
    return exposition(list(pieces.collect()), process=False).decode()


def test_lateness_is_counted_in_buckets() -> None:
    pieces = LoopPieces(Arrivals())
    for late in (0.0002, 0.009, 0.3):
        pieces.observe(late)
    text = _exposed(pieces)
    assert 'podling_event_loop_piece_seconds_bucket{le="0.01"} 2.0' in text
    assert "podling_event_loop_piece_seconds_count 3.0" in text
    assert "podling_event_loop_longest_piece_seconds 0.3" in text


def test_piece_that_holds_the_loop_is_measured() -> None:
    async def hold() -> float:
        pieces, tasks = LoopPieces(Arrivals()), Supervisor()
        tasks.keep_running("test/loop-pieces", pieces.run)
        await clock.sleep(0.03)
        time.sleep(0.4)  # noqa: ASYNC251
        await clock.sleep(0.03)
        await tasks.close()
        return pieces.longest

    assert asyncio.run(hold()) >= 0.4 - WORKING_INTERVAL_SECONDS


def test_piece_of_a_request_that_ends_a_rest_is_measured_whole() -> None:
    async def hold() -> float:
        arrivals, tasks = Arrivals(), Supervisor()
        pieces = LoopPieces(arrivals)
        tasks.keep_running("test/loop-pieces", pieces.run)
        while not arrivals.is_awaited:
            await clock.sleep(WORKING_INTERVAL_SECONDS)
        arrivals.note()
        time.sleep(0.1)  # noqa: ASYNC251
        await clock.sleep(0.03)
        await tasks.close()
        return pieces.longest

    assert asyncio.run(hold()) >= 0.1


def test_ticker_rests_while_it_is_on_time() -> None:
    intervals = [INTERVAL_SECONDS]
    for late in (0.0002, 0.0002, 0.0002, 0.02, 0.0002, 0.0002, 0.0002, 0.0002, 0.0002):
        intervals.append(next_interval(intervals[-1], late))
    assert intervals == [0.01, 0.02, 0.04, 0.08, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32]
    assert next_interval(0.32, 0.02) == 0.64, "it rests on a busy machine, too"
    assert next_interval(IDLE_INTERVAL_SECONDS, 0.0002) == IDLE_INTERVAL_SECONDS


def test_ticker_wakes_a_few_times_in_a_minute_without_requests() -> None:
    async def idle() -> tuple[str, str]:
        arrivals, tasks = Arrivals(), Supervisor()
        pieces = LoopPieces(arrivals)
        tasks.keep_running("test/loop-pieces", pieces.run)
        await clock.sleep(60)
        before = _exposed(pieces)
        arrivals.note()
        await clock.sleep(0.075)
        await tasks.close()
        return before, _exposed(pieces)

    before, after = run(idle())
    assert "podling_event_loop_piece_seconds_count 14.0" in before
    assert "podling_event_loop_piece_seconds_count 17.0" in after, "at once, after 20 and 40 ms"
