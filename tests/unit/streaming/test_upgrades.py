"""Streams that move at once: each turn of the loop sends a bounded part of what they have."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from podling import clock, turns
from podling.streaming.listener import Listener
from podling.streaming.upgrades import COST, SMALL, accept_upgrade, open_upgrade

pytestmark = pytest.mark.asyncio(loop_factories=["real", "uvloop"])

HERE = "127.0.0.1"
STREAMS = 32
CHUNK = b"x" * 16 * 1024
CHUNKS = 8
PER_TURN = turns.TURN_BYTES // (len(CHUNK) * COST)


async def test_chunks_of_many_streams_are_spread_over_turns() -> None:
    sent: list[int] = []
    all_open = asyncio.Event()

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response, connection = await accept_upgrade(request, "test", {})
        await all_open.wait()
        for _ in range(CHUNKS):
            await connection.send(CHUNK)
            sent.append(len(CHUNK))
        await connection.close()
        return response

    runner = web.ServerRunner(web.Server(endless))
    await runner.setup()
    site = Listener(runner, HERE, 0)
    await site.start()
    reading: list[asyncio.Future[int]] = []
    try:
        for _ in range(STREAMS):
            _, opened = await open_upgrade(f"http://{HERE}:{site.port}/", None, "test", [])
            reading.append(asyncio.ensure_future(_length(opened)))
        all_open.set()
        most = 0
        while not all(each.done() for each in reading):
            before = len(sent)
            await clock.sleep(0)
            most = max(most, len(sent) - before)
        assert [each.result() for each in reading] == [CHUNKS * len(CHUNK)] * STREAMS
        assert most <= 2 * PER_TURN, "of the turns before and after a sleep"
    finally:
        await runner.cleanup()


async def _length(opened: Any) -> int:
    total = 0
    while data := await opened.receive():
        total += len(data)
    await opened.close()
    return total


async def test_small_chunks_need_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    async def take(size: int) -> None:
        taken.append(size)

    monkeypatch.setattr(turns, "take", take)

    async def echo(request: web.BaseRequest) -> web.StreamResponse:
        response, connection = await accept_upgrade(request, "test", {})
        await connection.send(b"x" * (SMALL - 1))
        await connection.send(b"x" * SMALL)
        await connection.close()
        return response

    runner = web.ServerRunner(web.Server(echo))
    await runner.setup()
    site = Listener(runner, HERE, 0)
    await site.start()
    try:
        _, opened = await open_upgrade(f"http://{HERE}:{site.port}/", None, "test", [])
        assert await _length(opened) == 2 * SMALL - 1
        assert taken == [SMALL * COST]
    finally:
        await runner.cleanup()
