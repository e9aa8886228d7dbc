"""The small parts under the streams: a pipe that never waits for the dead, a watch that may have to look."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.kubelet.file_watch import POLL_SECONDS, DirectoryWatch
from podling.kubelet.server.pipe import Pipe


async def read(pipe: Pipe) -> list[bytes]:
    return [chunk async for chunk in pipe]


async def test_chunks_come_out_in_order_and_then_the_end() -> None:
    pipe = Pipe()
    for chunk in (b"a", b"b"):
        await pipe.put(chunk)
    pipe.end()
    await pipe.put(b"too late")
    assert await read(pipe) == [b"a", b"b"]


async def test_a_writer_waits_for_room() -> None:
    pipe = Pipe(length=2)
    writing = asyncio.create_task(_fill(pipe, 5))
    await clock.sleep(60)
    assert not writing.done()
    assert await read(pipe) == [b"0", b"1", b"2", b"3", b"4"]
    assert writing.done()


async def _fill(pipe: Pipe, count: int) -> None:
    for number in range(count):
        await pipe.put(b"%d" % number)
    pipe.end()


async def test_a_writer_does_not_wait_for_a_reader_that_has_gone() -> None:
    pipe = Pipe(length=2)
    writing = asyncio.create_task(_fill(pipe, 100))
    await clock.sleep(1)
    pipe.close()
    await writing
    assert await read(pipe) == []


async def test_a_reader_waits_for_what_comes() -> None:
    pipe = Pipe()
    reading = asyncio.create_task(read(pipe))
    await clock.sleep(5)
    await pipe.put(b"late")
    pipe.end()
    assert await reading == [b"late"]


@pytest.mark.parametrize(("notified", "seconds"), [(True, 7.0), (False, POLL_SECONDS)])
async def test_who_is_not_told_of_changes_looks_now_and_then(notified: bool, seconds: float) -> None:
    watched = DirectoryWatch(notified=notified)
    asyncio.get_running_loop().call_later(7, watched.change)
    began = clock.monotonic()
    await watched.wait()
    assert clock.monotonic() - began == seconds


async def test_a_change_before_looking_is_forgotten_and_one_after_is_not() -> None:
    watched = DirectoryWatch(notified=True)
    watched.change()
    watched.mark()
    watched.change()
    await watched.wait()
