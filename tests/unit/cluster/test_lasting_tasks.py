"""Waiting beside tasks that should never end."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.cluster.lasting_tasks import first_of, run_until


async def fail() -> None:
    raise OSError("the disk is gone")


async def end() -> None:
    pass


async def last() -> None:
    await asyncio.Event().wait()


async def test_run_ends_with_the_request_to_stop() -> None:
    stop = asyncio.Event()
    lasting = asyncio.ensure_future(last())
    running = asyncio.ensure_future(run_until(stop, {"one": lasting}))
    await clock.sleep(5)
    assert not running.done()
    stop.set()
    await running
    assert not lasting.done(), "its owner ends it"
    lasting.cancel()


async def test_failure_of_a_task_ends_the_run() -> None:
    with pytest.raises(OSError, match="the disk is gone"):
        await run_until(asyncio.Event(), {"one": asyncio.ensure_future(fail())})


async def test_task_that_ends_is_named() -> None:
    with pytest.raises(RuntimeError, match="the node has ended"):
        await run_until(asyncio.Event(), {"the node": asyncio.ensure_future(end())})


async def test_first_wait_cancels_the_others() -> None:
    slow, quick = await first_of({}, clock.sleep(20), clock.sleep(10))
    assert quick.done()
    assert not quick.cancelled()
    await asyncio.wait([slow])
    assert slow.cancelled()


async def test_nothing_is_over_in_time() -> None:
    began = clock.monotonic()
    (only,) = await first_of({}, clock.sleep(20), seconds=10)
    assert not only.done()
    assert clock.monotonic() - began == 10
