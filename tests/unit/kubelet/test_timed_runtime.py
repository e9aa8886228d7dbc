"""Deadlines of runtime calls, and the end of calls beyond them."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from podling import clock
from podling.kubelet.timed_runtime import CREATION_SECONDS, UNDO_SECONDS, Deadlines
from podling.runtime.failures import DeadlineExceeded, RuntimeFailure


class Work:
    """A call that takes ``seconds``, and ``undo`` more when it is cancelled."""

    def __init__(self, seconds: float, undo: float = 0.0) -> None:
        self.seconds = seconds
        self.undo = undo
        self.how = "goes on"

    async def run(self) -> str:
        try:
            await clock.sleep(self.seconds)
        except asyncio.CancelledError:
            await clock.sleep(self.undo)
            self.how = "undone"
            raise
        self.how = "done"
        return "made"


async def cancelled_after(seconds: float, call: asyncio.Task[str]) -> float:
    """Cancel ``call`` after ``seconds``; return how long it then took to end."""
    await clock.sleep(seconds)
    began = clock.monotonic()
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    return clock.monotonic() - began


async def test_answer_in_time_is_returned() -> None:
    calls = Deadlines(120)
    assert await calls.answer(Work(119).run()) == "made"
    assert await calls.complete(Work(119).run()) == "made"
    assert await calls.answer(Work(125).run(), more=30) == "made"


@pytest.mark.parametrize("kind", ["answer", "complete"])
async def test_call_beyond_its_deadline_is_undone(kind: str) -> None:
    work, began = Work(500, undo=3), clock.monotonic()
    with pytest.raises(DeadlineExceeded, match=r"^context deadline exceeded$"):
        await getattr(Deadlines(120), kind)(work.run())
    assert (work.how, clock.monotonic() - began) == ("undone", 123)


async def test_cancelled_caller_waits_for_a_nearly_complete_call() -> None:
    work = Work(10)
    took = await cancelled_after(9, asyncio.create_task(Deadlines(120).complete(work.run())))
    assert (work.how, took) == ("done", 1)


async def test_hanging_call_is_cancelled_with_its_caller() -> None:
    work = Work(500, undo=1)
    took = await cancelled_after(9, asyncio.create_task(Deadlines(120).complete(work.run())))
    assert (work.how, took) == ("undone", CREATION_SECONDS + 1)


async def test_call_that_cannot_be_undone_is_abandoned() -> None:
    work = Work(500, undo=1000)
    took = await cancelled_after(9, asyncio.create_task(Deadlines(120).complete(work.run())))
    assert (work.how, took) == ("goes on", CREATION_SECONDS + UNDO_SECONDS)
    await clock.sleep(1000)
    assert work.how == "undone", "it was not cut off in the middle of its undoing"


async def test_second_cancellation_does_not_interrupt_the_undoing() -> None:
    work = Work(500, undo=5)
    call = asyncio.create_task(Deadlines(120).complete(work.run()))
    await clock.sleep(1)
    call.cancel()
    await clock.sleep(CREATION_SECONDS + 1)
    assert await cancelled_after(0, call) == 0
    await clock.sleep(10)
    assert work.how == "undone"


async def test_errors_of_the_machine_are_runtime_failures() -> None:
    async def full() -> None:
        raise OSError(28, "No space left on device", "/data/x")

    for kind in ("answer", "complete"):
        with pytest.raises(RuntimeFailure, match=r"^/data/x: no space left on device$"):
            await getattr(Deadlines(1), kind)(full())
