"""Turns of readers of logs: other work runs between two pieces of long logs."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.kubelet.server.log_turns import LogTurns
from podling.kubelet.server.logs import BLOCK, LogOptions, read_log

LINE = b"2026-01-01T12:00:00.000000000Z stdout F y\n"
LENGTH = 4 * BLOCK


class LongLog:
    """A log that has more than is read, and counts what is read of it."""

    def __init__(self, pieces: list[int]) -> None:
        self._pieces = pieces

    def size(self) -> int:
        return LENGTH

    def read(self, offset: int, length: int) -> bytes:
        end = min(offset + length, LENGTH)
        self._pieces.append(end - offset)
        text = LINE * (length // len(LINE) + 2)
        return text[offset % len(LINE) :][: end - offset]

    async def wait_for_more(self, offset: int) -> bool:
        raise AssertionError("not followed")


@pytest.mark.parametrize(
    "options", [LogOptions(), LogOptions(stream="stderr"), LogOptions(tail_lines=10**6)], ids=str
)
async def test_readers_take_one_piece_in_a_turn_of_the_loop(options: LogOptions) -> None:
    pieces: list[int] = []
    turns, most = LogTurns(), 0

    async def read() -> None:
        async for _ in read_log(LongLog(pieces), options, turns):
            pass

    readers = [asyncio.ensure_future(read()) for _ in range(8)]
    while not all(reader.done() for reader in readers):
        before = len(pieces)
        await clock.sleep(0)
        most = max(most, len(pieces) - before)
    await asyncio.gather(*readers)
    assert sum(pieces) >= 8 * LENGTH
    assert most == 1


async def test_reader_that_is_cancelled_leaves_its_turn() -> None:
    turns = LogTurns()

    async def hold() -> None:
        async with turns.turn():
            await clock.sleep(3600)

    holder = asyncio.ensure_future(hold())
    await clock.sleep(0)
    holder.cancel()
    async with asyncio.timeout(1), turns.turn():
        pass
