"""Logs of simulated containers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from podling import clock
from podling.runtime.sim.memory_log import LINES_MAX, MemoryLog

AT = datetime(2026, 1, 1, tzinfo=UTC)
STAMP = b"2026-01-01T00:00:00.000000000Z"


def test_lines_have_cri_format() -> None:
    log = MemoryLog()
    assert log.read() == b""
    log.write(AT, b"hello")
    log.write(AT, b"broken", "stderr")
    first, second = STAMP + b" stdout F hello\n", STAMP + b" stderr F broken\n"
    assert log.read() == first + second
    assert log.read(len(first)) == second
    assert log.read(log.end) == b""


def test_offsets_count_lines_that_were_dropped() -> None:
    log = MemoryLog()
    for number in range(LINES_MAX + 2):
        log.write(AT, b"%04d" % number)
    length = log.end // (LINES_MAX + 2)
    assert log.start == 2 * length
    assert log.read(0) == log.read(log.start)
    assert log.read(log.start).startswith(STAMP + b" stdout F 0002\n")
    assert log.read(log.end - length) == STAMP + b" stdout F 1001\n"


async def test_reader_waits_for_bytes_beyond_its_offset() -> None:
    log = MemoryLog()
    log.write(AT, b"one")
    await log.wait(0)
    waiting = asyncio.ensure_future(log.wait(log.end))
    await clock.sleep(1)
    assert not waiting.done()
    log.write(AT, b"two")
    await waiting
