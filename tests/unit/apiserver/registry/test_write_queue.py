"""Writers of one object queue after conflicts."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.apiserver.registry.write_queue import HOLD_SECONDS, RETRIES, WriteQueue
from podling.sim.loop import run
from podling.store.base import Conflict

WRITERS = 40


class Counter:
    """A value with a revision; ``add`` is one attempt: it reads, decides for a while, and stores."""

    def __init__(self, seconds: float = 0.01) -> None:
        self.revision = self.attempts = 0
        self.seconds = seconds

    async def add(self) -> int:
        self.attempts += 1
        seen = self.revision
        await clock.sleep(self.seconds)
        if self.revision != seen:
            raise Conflict("counter", seen, self.revision)
        self.revision += 1
        return self.revision


def test_concurrent_writers_decide_about_twice() -> None:
    async def main() -> None:
        queue, counter = WriteQueue(), Counter()
        found = await asyncio.gather(*(queue.write("a", False, counter.add) for _ in range(WRITERS)))
        assert sorted(found) == list(range(1, WRITERS + 1))
        assert counter.attempts < 2 * WRITERS
        assert not queue._lines

    run(main())


def test_late_writers_join_the_queue() -> None:
    async def main() -> None:
        queue, counter = WriteQueue(), Counter()

        async def write(number: int) -> int:
            await clock.sleep(number * counter.seconds / 4)
            return await queue.write("a", False, counter.add)

        await asyncio.gather(*(write(number) for number in range(WRITERS)))
        assert counter.attempts < WRITERS + 6

    run(main())


def test_a_writer_gives_up_after_five_retries() -> None:
    async def main() -> None:
        attempts = 0

        async def conflicting() -> None:
            nonlocal attempts
            attempts += 1
            raise Conflict("a", 1, 2)

        with pytest.raises(Conflict):
            await WriteQueue().write("a", False, conflicting)
        assert attempts == 1 + RETRIES

    run(main())


def test_writers_of_other_objects_do_not_wait() -> None:
    async def main() -> None:
        queue, slow, fast = WriteQueue(), Counter(), Counter()
        writers = [asyncio.create_task(queue.write("a", False, slow.add)) for _ in range(WRITERS)]
        began = clock.monotonic()
        await queue.write("b", False, fast.add)
        assert clock.monotonic() - began < 2 * fast.seconds
        await asyncio.gather(*writers)

    run(main())


def test_a_slow_writer_holds_up_the_others_for_a_while_only() -> None:
    async def main() -> None:
        queue, quick = WriteQueue(), Counter()

        async def very_slow() -> None:
            if not queue._lines:
                raise Conflict("a", 1, 2)
            await clock.sleep(10 * HOLD_SECONDS)

        slow = asyncio.create_task(queue.write("a", False, very_slow))
        await clock.sleep(0.001)
        began = clock.monotonic()
        await queue.write("a", False, quick.add)
        assert clock.monotonic() - began <= HOLD_SECONDS + 2 * quick.seconds
        await slow

    run(main())


def test_a_cancelled_writer_leaves_the_queue() -> None:
    async def main() -> None:
        queue, counter = WriteQueue(), Counter()
        writers = [asyncio.create_task(queue.write("a", False, counter.add)) for _ in range(WRITERS)]
        await clock.sleep(counter.seconds * 3)
        for writer in writers[::2]:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
        assert not queue._lines
        assert all(writer.result() for writer in writers[1::2])

    run(main())


def test_writers_that_queue_at_once_decide_once() -> None:
    async def main() -> None:
        queue, counter = WriteQueue(), Counter()
        found = await asyncio.gather(*(queue.write("a", True, counter.add) for _ in range(WRITERS)))
        assert found == list(range(1, WRITERS + 1)), "in order of arrival"
        assert counter.attempts == WRITERS
        assert not queue._lines

    run(main())


def test_writers_queue_behind_those_that_queued_at_once() -> None:
    async def main() -> None:
        queue, counter = WriteQueue(), Counter()
        await asyncio.gather(*(queue.write("a", number % 2 == 0, counter.add) for number in range(WRITERS)))
        assert counter.attempts == WRITERS

    run(main())


def test_writer_cancelled_with_its_turn_passes_it_on() -> None:
    async def main() -> None:
        queue, counter = WriteQueue(), Counter()
        first, second, third = (asyncio.create_task(queue.write("a", True, counter.add)) for _ in range(3))
        await clock.sleep(0)
        first.cancel()
        second.cancel()
        assert await third == 1
        assert not queue._lines

    run(main())
