"""The loop with real sockets and a wound clock: which waits stand still, and which do not."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from podling import clock
from podling.sim.loop import EPOCH
from podling.sim.wound_loop import WoundLoop
from podling.winding import Winding

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=lambda: WoundLoop(EPOCH, seed=1)) as runner:
        return runner.run(main)


def winding() -> Winding:
    found = clock.wound_clock()
    assert isinstance(found, Winding)
    return found


def test_cluster_time_stands_still_while_the_machine_waits() -> None:
    async def main() -> tuple[timedelta, float, float]:
        wall, steady, machine = clock.now(), clock.monotonic(), clock.machine_monotonic()
        await clock.machine_sleep(0.01)
        return clock.now() - wall, clock.monotonic() - steady, clock.machine_monotonic() - machine

    wall, steady, machine = run(main())
    assert (wall, steady) == (timedelta(), 0)
    assert machine >= 0.01


def test_waits_of_components_end_when_the_clock_is_wound() -> None:
    async def component(seconds: float, log: list[float]) -> None:
        await clock.sleep(seconds)
        log.append(clock.monotonic())

    async def main() -> tuple[list[float], timedelta]:
        log: list[float] = []
        waiting = asyncio.gather(*(component(seconds, log) for seconds in (86_400, 60, 3600)))
        await clock.machine_sleep(0)
        await winding().advance(86_400)
        await waiting
        return log, clock.now() - EPOCH

    assert run(main()) == ([60, 3600, 86_400], timedelta(days=1))


def test_timeouts_of_components_are_cluster_time() -> None:
    async def main() -> list[str]:
        async def limited() -> str:
            try:
                async with clock.timeout(30):
                    await asyncio.Event().wait()
            except TimeoutError:
                return f"over at {clock.monotonic():g}"
            return "never"

        async def unlimited() -> str:
            async with clock.timeout(30):
                await clock.sleep(10)
            return f"done at {clock.monotonic():g}"

        tasks = [asyncio.create_task(each()) for each in (limited, unlimited)]
        await winding().advance(60)
        return [await each for each in tasks]

    assert run(main()) == ["over at 30", "done at 10"]


def test_cancellation_from_outside_is_no_timeout() -> None:
    async def main() -> None:
        async def limited() -> None:
            async with clock.timeout(30):
                await asyncio.Event().wait()

        task = asyncio.create_task(limited())
        await winding().advance(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_wait_for_uses_the_wound_clock() -> None:
    async def main() -> tuple[bool, bool]:
        event = asyncio.Event()
        clock.call_later(20, event.set)
        waits = [asyncio.create_task(clock.wait_for(event, seconds)) for seconds in (10, 30)]
        await winding().advance(60)
        first, second = [await each for each in waits]
        return first, second

    assert run(main()) == (False, True)


def test_sockets_work_while_time_stands_still() -> None:
    async def main() -> tuple[bytes, float]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            async with asyncio.timeout(60):
                found = await reader.readline()
            writer.close()
            return found, clock.monotonic()

    assert run(main()) == (b"hello\n", 0)


def test_client_that_reacts_in_time_is_waited_for() -> None:
    """A client across a socket answers each tick; the clock does not run ahead of it."""

    async def main() -> list[float]:
        answers: list[float] = []
        ours, theirs = await _connected()

        async def client() -> None:
            while line := await theirs[0].readline():
                await clock.machine_sleep(0.001)
                theirs[1].write(line)

        async def collect() -> None:
            while await ours[0].readline():
                answers.append(clock.monotonic())

        async def tick() -> None:
            while True:
                await clock.sleep(60)
                ours[1].write(b"tick\n")
                clock.note_activity()

        winding().settle_seconds = 2.0
        tasks = [asyncio.create_task(each()) for each in (client, collect, tick)]
        await winding().advance(180)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _, writer in (ours, theirs):
            writer.close()
        return answers

    assert run(main()) == [60, 120, 180]


async def _connected() -> tuple[
    tuple[asyncio.StreamReader, asyncio.StreamWriter], tuple[asyncio.StreamReader, asyncio.StreamWriter]
]:
    import socket

    first, second = socket.socketpair()
    return await asyncio.open_connection(sock=first), await asyncio.open_connection(sock=second)


def test_seed_decides_random_choices() -> None:
    from podling import ids

    async def main() -> str:
        return ids.uid()

    assert run(main()) == run(main())
