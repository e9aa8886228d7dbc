"""Faults that are thrown into tasks take no cancellation away from them."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from tests.support.failing_tasks import Driven


async def stubborn(begun: asyncio.Event) -> None:
    """Work that goes on after every error of its own."""
    while True:
        begun.set()
        try:
            await asyncio.Event().wait()
        except OSError:
            continue


@pytest.mark.parametrize("is_first_run", [True, False])
async def test_task_that_fails_and_is_cancelled_at_once_ends(is_first_run: bool) -> None:
    begun = asyncio.Event()
    driven = Driven(stubborn(begun), OSError("first") if is_first_run else None)

    async def run() -> None:
        await driven

    task = asyncio.create_task(run())
    await begun.wait()
    if not is_first_run:
        driven.fail(OSError("later"))
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_wait_that_has_ended_well_does_not_fail() -> None:
    ended, seen = asyncio.Event(), list[str]()

    async def work() -> None:
        try:
            await ended.wait()
            seen.append("ended")
            await asyncio.Event().wait()
        except OSError:
            seen.append("failed")

    driven = Driven(work(), None)

    async def run() -> None:
        await driven

    task = asyncio.create_task(run())
    await clock.sleep(0)
    ended.set()
    driven.fail(OSError("at the same moment"))
    await asyncio.wait([task])
    assert seen == ["ended", "failed"]
