"""The thread of a store's file: in order, one call at a time, also when callers are cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from podling import clock
from podling.store.disk_thread import DiskThread

pytestmark = pytest.mark.asyncio(loop_factories=["real"])


@pytest.fixture
def disk() -> Iterator[DiskThread]:
    thread = DiskThread("disk")
    yield thread
    thread.close()


async def test_work_is_done_in_order_on_one_thread(disk: DiskThread) -> None:
    found: list[tuple[int, str]] = []

    def note(number: int) -> None:
        found.append((number, threading.current_thread().name))

    await asyncio.gather(*(disk.do(note, number) for number in range(5)))
    assert found == [(number, "disk") for number in range(5)]


async def test_exception_reaches_only_its_caller(disk: DiskThread) -> None:
    def fail() -> None:
        raise OSError("disk is full")

    with pytest.raises(OSError, match="disk is full"):
        await disk.do(fail)
    await disk.do(lambda: None)


async def test_work_goes_on_when_its_caller_does_not_wait(disk: DiskThread) -> None:
    begin, done = threading.Event(), list[str]()

    def work() -> None:
        begin.wait()
        done.append("work")

    waiting = asyncio.create_task(disk.do(work))
    await clock.sleep(0)
    waiting.cancel()
    begin.set()
    await disk.do(lambda: done.append("next"))
    assert (done, waiting.cancelled()) == (["work", "next"], True)


async def test_closing_does_what_is_queued() -> None:
    disk, done, begin = DiskThread("disk"), list[int](), threading.Event()

    def work() -> None:
        begin.wait()
        done.append(len(done))

    for _ in range(3):
        disk.submit(work, lambda error: None)
    begin.set()
    disk.close()
    assert done == [0, 1, 2]
