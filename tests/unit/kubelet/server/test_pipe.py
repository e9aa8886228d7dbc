"""Pipes between a connection and its reader."""

from __future__ import annotations

import asyncio

from podling import clock
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


async def test_writer_waits_while_the_pipe_is_full() -> None:
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


async def test_writer_does_not_wait_for_a_reader_that_has_gone() -> None:
    pipe = Pipe(length=2)
    writing = asyncio.create_task(_fill(pipe, 100))
    await clock.sleep(1)
    pipe.close()
    await writing
    assert await read(pipe) == []


async def test_reader_waits_for_the_next_chunk() -> None:
    pipe = Pipe()
    reading = asyncio.create_task(read(pipe))
    await clock.sleep(5)
    await pipe.put(b"late")
    pipe.end()
    assert await reading == [b"late"]
