"""Clean-up that a second cancellation does not interrupt."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.cancellation import cancel_and_settle, cancel_and_wait, run_to_end, settled


async def test_settled_waits_for_slow_clean_up_through_many_cancellations() -> None:
    ended = []

    async def slow() -> None:
        await clock.sleep(10)
        ended.append(True)

    work = asyncio.create_task(slow())
    waiter = asyncio.create_task(settled(work))
    for _ in range(5):
        await clock.sleep(1)
        waiter.cancel()
    await asyncio.wait((waiter,))
    assert (ended, waiter.cancelled(), work.cancelled()) == ([True], True, False)


async def test_cancel_and_settle_cancels_each_task_once_and_drops_errors() -> None:
    cancellations = []

    async def cleans_up(number: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancellations.append(number)
            await clock.sleep(5)
            raise ValueError("while cleaning up") from None

    tasks = [asyncio.create_task(cleans_up(number)) for number in range(3)]
    await clock.sleep(0)
    caller = asyncio.create_task(cancel_and_settle(*tasks))
    await clock.sleep(1)
    caller.cancel()
    await asyncio.wait((caller,))
    assert caller.cancelled()
    assert (cancellations, [task.done() for task in tasks]) == ([0, 1, 2], [True] * 3)


async def test_settled_returns_at_once_for_what_is_done() -> None:
    await settled()
    future = asyncio.get_running_loop().create_future()
    future.set_result(None)
    await settled(future)


async def test_run_to_end_gives_results_and_errors() -> None:
    async def gives() -> int:
        return 3

    async def fails() -> int:
        raise ValueError("no")

    assert await run_to_end(gives()) == 3
    with pytest.raises(ValueError, match="no"):
        await run_to_end(fails())


async def test_errors_of_cancelled_tasks_are_dropped_when_all_have_ended() -> None:
    ended: list[str] = []

    async def clean_up() -> None:
        try:
            await clock.sleep(100)
        finally:
            await clock.sleep(1)
            ended.append("cleaned up")
            raise ValueError("failed")

    done = asyncio.create_task(clock.sleep(0))
    waiting = asyncio.create_task(clean_up())
    await clock.sleep(1)
    await cancel_and_wait([done, waiting])
    assert ended == ["cleaned up"]
