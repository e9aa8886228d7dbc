"""Turns of the event loop: how many pieces run in one of them, and in which order."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

import pytest

from podling import clock, turns
from podling.turns import SHORT_BYTES, TURN_BYTES


class Loop:
    """Counts the turns of the running loop; ``of`` records in which of them the pieces of a name ran."""

    def __init__(self) -> None:
        self.turn = 0
        self.of: dict[str, list[int]] = {}
        self._is_counting = True

    def count(self) -> None:
        self.turn += 1
        if self._is_counting:
            asyncio.get_running_loop().call_soon(self.count)

    async def pieces(self, name: str, count: int, size: int = TURN_BYTES) -> None:
        for _ in range(count):
            await turns.take(size)
            self.of.setdefault(name, []).append(self.turn)

    async def run(self, *works: Coroutine[Any, Any, None]) -> list[int]:
        """Return the turns of all pieces, in order."""
        self.count()
        await asyncio.gather(*works)
        self._is_counting = False
        await clock.sleep(0)
        return sorted(turn for found in self.of.values() for turn in found)


async def test_long_pieces_of_many_requests_run_in_turns_of_their_own() -> None:
    loop = Loop()
    ran = await loop.run(*(loop.pieces(f"r{number}", 5) for number in range(64)))
    assert len(ran) == len(set(ran)) == 64 * 5


async def test_requests_run_their_long_pieces_in_rotation() -> None:
    loop = Loop()
    await loop.run(*(loop.pieces(f"r{number}", 5) for number in range(8)))
    for turn in range(loop.turn):
        done = [sum(each < turn for each in ran) for ran in loop.of.values()]
        assert max(done) - min(done) <= 2


async def test_pieces_of_one_request_run_in_consecutive_turns() -> None:
    loop = Loop()
    ran = await loop.run(loop.pieces("only", 10))
    assert {later - earlier for earlier, later in pairwise(ran[1:])} == {1}, ran


@pytest.mark.parametrize(("size", "at_once"), [(TURN_BYTES // 4, 4), (TURN_BYTES // 5, 5), (1000, 1048)])
async def test_turn_admits_short_pieces_up_to_its_size(size: int, at_once: int) -> None:
    loop = Loop()
    ran = await loop.run(*(loop.pieces(f"r{number}", 1, size) for number in range(3 * at_once)))
    assert max(ran.count(turn) for turn in ran) == at_once


async def test_piece_longer_than_a_turn_runs_alone() -> None:
    loop = Loop()
    ran = await loop.run(*(loop.pieces(f"r{number}", 2, 5 * TURN_BYTES) for number in range(3)))
    assert len(set(ran)) == 6


async def test_short_piece_does_not_wait_for_queue_of_long_ones() -> None:
    loop = Loop()

    async def late() -> None:
        await clock.sleep(0)
        came = loop.turn
        await loop.pieces("short", 1, SHORT_BYTES)
        assert loop.of["short"][0] - came <= 1

    await loop.run(*(loop.pieces(f"r{number}", 3) for number in range(100)), late())


async def test_cancelled_request_leaves_its_place() -> None:
    loop = Loop()
    waiting = [asyncio.ensure_future(loop.pieces(f"r{number}", 1)) for number in range(10)]
    await clock.sleep(0)
    for task in waiting[1:9]:
        task.cancel()
    await loop.run(asyncio.wait_for(waiting[9], None))
    assert set(loop.of) == {"r0", "r9"}


async def test_idle_turns_schedule_no_calls() -> None:
    loop = Loop()
    await loop.run(loop.pieces("only", 3))
    for _ in range(5):
        await clock.sleep(0)
    handles: Any = asyncio.get_running_loop()
    assert not handles._ready


def test_closed_loop_is_not_kept() -> None:
    async def work() -> weakref.ref[asyncio.AbstractEventLoop]:
        await turns.take()
        await turns.take()
        return weakref.ref(asyncio.get_running_loop())

    found = asyncio.run(work())
    gc.collect()
    assert found() is None


@pytest.mark.asyncio(loop_factories=["real"])
async def test_computations_run_in_one_thread_beside_the_loop() -> None:
    async def thread() -> threading.Thread:
        return await turns.in_thread(threading.current_thread)

    threads = await asyncio.gather(*(thread() for _ in range(20)))
    assert len(set(threads)) == 1
    assert threads[0] is not threading.main_thread()
    with pytest.raises(ZeroDivisionError):
        await turns.in_thread(divmod, 1, 0)


async def test_computations_on_virtual_time_need_no_thread() -> None:
    assert await turns.in_thread(threading.current_thread) is threading.main_thread()


@pytest.mark.asyncio(loop_factories=["real"])
async def test_function_of_the_loop_runs_there_for_every_thread() -> None:
    where = turns.on_this_loop(threading.get_ident)
    assert await turns.in_thread(where) == where() == threading.get_ident()


@pytest.mark.asyncio(loop_factories=["real"])
async def test_failure_of_the_function_reaches_the_thread() -> None:
    with pytest.raises(ValueError, match="not a number"):
        await turns.in_thread(turns.on_this_loop(int), "not a number")
