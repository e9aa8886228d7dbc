"""Owners of items take turns."""

from __future__ import annotations

import asyncio

from podling import clock
from podling.apiserver.compute.fair_queue import FairQueue
from podling.sim.loop import run


def test_owners_take_turns() -> None:
    async def main() -> None:
        queue: FairQueue[str] = FairQueue()
        for number in range(3):
            queue.put("eager", f"e{number}")
        queue.put("modest", "m0")
        assert len(queue) == 4
        assert [await queue.take(0) for _ in range(4)] == ["e0", "m0", "e1", "e2"]

    run(main())


def test_item_that_is_put_back_is_the_next() -> None:
    async def main() -> None:
        queue: FairQueue[str] = FairQueue()
        for owner in ("a", "b"):
            for number in range(2):
                queue.put(owner, f"{owner}{number}")
        first = await queue.take(0)
        queue.put_back("a", first)
        assert [await queue.take(0) for _ in range(4)] == ["a0", "b0", "a1", "b1"]

    run(main())


def test_idle_taker_with_the_lowest_rank_is_served() -> None:
    async def main() -> None:
        queue: FairQueue[str] = FairQueue()
        takers = [asyncio.create_task(queue.take(rank)) for rank in (1, 0)]
        await clock.sleep(0.01)
        queue.put("a", "first")
        await clock.sleep(0.01)
        assert [taker.done() for taker in takers] == [False, True]
        queue.put("a", "second")
        assert await asyncio.gather(*takers) == ["second", "first"]

    run(main())


def test_cancelled_taker_loses_no_item() -> None:
    async def main() -> None:
        queue: FairQueue[str] = FairQueue()
        taker = asyncio.create_task(queue.take(0))
        await clock.sleep(0.01)
        queue.put("a", "item")
        taker.cancel()
        await asyncio.gather(taker, return_exceptions=True)
        assert await queue.take(0) == "item"

    run(main())
