"""Tasks that rest until a request arrives."""

from __future__ import annotations

import asyncio

from podling import clock
from podling.apiserver.arrivals import Arrivals
from podling.sim.loop import run


def test_request_wakes_every_task_that_waits() -> None:
    async def story() -> None:
        arrivals = Arrivals()
        began = clock.machine_monotonic()
        waits = asyncio.gather(arrivals.wait(10), arrivals.wait(20))
        await clock.sleep(3)
        arrivals.note()
        assert list(await waits) == [began + 3, began + 3]
        assert not arrivals.is_awaited
        assert clock.machine_monotonic() == began + 3

    run(story())


def test_wait_without_requests_ends_in_time() -> None:
    async def story() -> None:
        arrivals = Arrivals()
        began = clock.machine_monotonic()
        longer = asyncio.ensure_future(arrivals.wait(20))
        assert await arrivals.wait(10) is None
        assert clock.machine_monotonic() == began + 10
        assert arrivals.is_awaited, "another task waits"
        arrivals.note()
        assert await longer == began + 10
        assert not arrivals.is_awaited

    run(story())


def test_cancelled_task_waits_no_more() -> None:
    async def story() -> None:
        arrivals = Arrivals()
        waits = asyncio.ensure_future(arrivals.wait(10))
        await clock.sleep(1)
        waits.cancel()
        await asyncio.wait((waits,))
        assert not arrivals.is_awaited

    run(story())
