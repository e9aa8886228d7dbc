"""Large requests do not delay small ones."""

from __future__ import annotations

import asyncio
import threading

import pytest

from podling import clock
from podling.apiserver.registry.large_requests import LARGE_BYTES, PAUSE_SECONDS, BodyReader, Turns
from podling.sim.loop import run


@pytest.mark.asyncio(loop_factories=["real"])
async def test_large_bodies_are_read_in_one_thread_of_their_own() -> None:
    reader = BodyReader()
    try:
        small = await reader.read(b"x" * (LARGE_BYTES - 1), lambda data: threading.current_thread())
        large = await asyncio.gather(
            *(reader.read(b"x" * LARGE_BYTES, lambda data: threading.current_thread()) for _ in range(8))
        )
    finally:
        reader.close()
    assert small is threading.current_thread()
    assert len(set(large)) == 1
    assert small not in large


def test_changes_of_large_objects_begin_one_at_a_time() -> None:
    async def main() -> None:
        turns, begun = Turns(), list[float]()

        async def change(size: int) -> None:
            await turns.wait(size)
            begun.append(clock.monotonic())

        began = clock.monotonic()
        await asyncio.gather(*(change(LARGE_BYTES) for _ in range(5)))
        pauses = [after - before for before, after in zip([began, *begun], begun, strict=False)]
        assert all(pause >= PAUSE_SECONDS * 0.999 for pause in pauses)
        before = clock.monotonic()
        await asyncio.gather(*(change(LARGE_BYTES - 1) for _ in range(5)))
        assert clock.monotonic() == before

    run(main())
