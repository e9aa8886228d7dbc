"""The loop of a run that stops at a moment, and is wound from there."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import pytest

from podling import clock
from podling.sim.held_loop import HeldLoop, HeldWinding

T = TypeVar("T")


async def held(at: float) -> HeldWinding:
    """Let virtual time pass until ``at``, and return the clock that stands there."""
    loop, reached = running_loop(), asyncio.Event()
    loop.hold_at(at, reached.set)
    await reached.wait()
    assert loop.winding is not None
    loop.winding.settle_seconds = 0
    return loop.winding


def running_loop() -> HeldLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, HeldLoop)
    return loop


def test_time_stands_still_until_it_is_wound() -> None:
    async def main() -> list[tuple[str, float]]:
        happened: list[tuple[str, float]] = []

        async def every_minute() -> None:
            while True:
                await clock.sleep(60)
                happened.append(("minute", clock.monotonic()))

        task = asyncio.create_task(every_minute())
        winding = await held(90)
        happened.append(("stopped", clock.monotonic()))
        clock.call_later(5, lambda: happened.append(("later", clock.monotonic())))
        clock.call_later(6, happened.clear).cancel()
        await winding.advance(30)
        happened.append(("wound", clock.monotonic()))
        task.cancel()
        return happened

    with asyncio.Runner(loop_factory=HeldLoop) as runner:
        found = runner.run(main())
    assert found == [("minute", 60), ("stopped", 90), ("later", 95), ("minute", 120), ("wound", 120)]


def test_sockets_are_served_while_time_stands() -> None:
    async def main() -> tuple[bytes, float]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        await held(10)
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"question\n")
            found = await reader.read()
            writer.close()
            await writer.wait_closed()
        return found, clock.monotonic()

    with asyncio.Runner(loop_factory=HeldLoop) as runner:
        assert runner.run(main()) == (b"question\n", 10)


def test_condition_ends_the_winding() -> None:
    async def main() -> tuple[bool, float, bool, float]:
        winding = await held(10)
        met = await winding.run_until(clock.sleep(5), 60)
        at = clock.monotonic()
        again = await winding.run_until(asyncio.Event().wait(), 60)
        return met, at, again, clock.monotonic()

    with asyncio.Runner(loop_factory=HeldLoop) as runner:
        assert runner.run(main()) == (True, 15, False, 75)


def test_stopped_run_has_no_speed() -> None:
    async def main() -> None:
        winding = await held(10)
        with pytest.raises(ValueError, match="no speed of its own"):
            winding.set_speed(60)
        winding.set_speed(0)
        timer = clock.call_later(7, lambda: None)
        assert (winding.status().mode, winding.status().speed) == ("paused", 0)
        assert winding.status().next_timer is not None
        timer.cancel()

    with asyncio.Runner(loop_factory=HeldLoop) as runner:
        runner.run(main())


def test_released_loop_runs_freely() -> None:
    async def main() -> float:
        await held(10)
        running_loop().release()
        await clock.sleep(3600)
        return clock.monotonic()

    with asyncio.Runner(loop_factory=HeldLoop) as runner:
        assert runner.run(main()) == 3610
