"""Writers of one object queue after conflicts."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.apiserver.registry.write_queue import RETRIES, WAIT_SECONDS, Contention
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
        contention, counter = Contention(), Counter()
        found = await asyncio.gather(*(contention.write("a", counter.add) for _ in range(WRITERS)))
        assert sorted(found) == list(range(1, WRITERS + 1))
        assert counter.attempts < 2 * WRITERS
        assert not contention._queues

    run(main())


def test_late_writers_join_the_queue() -> None:
    async def main() -> None:
        contention, counter = Contention(), Counter()

        async def write(number: int) -> int:
            await clock.sleep(number * counter.seconds / 4)
            return await contention.write("a", counter.add)

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
            await Contention().write("a", conflicting)
        assert attempts == 1 + RETRIES

    run(main())


def test_writers_of_other_objects_do_not_wait() -> None:
    async def main() -> None:
        contention, slow, fast = Contention(), Counter(), Counter()
        writers = [asyncio.create_task(contention.write("a", slow.add)) for _ in range(WRITERS)]
        began = clock.monotonic()
        await contention.write("b", fast.add)
        assert clock.monotonic() - began < 2 * fast.seconds
        await asyncio.gather(*writers)

    run(main())


def test_a_slow_writer_holds_up_the_others_for_a_while_only() -> None:
    async def main() -> None:
        contention, quick = Contention(), Counter()

        async def very_slow() -> None:
            if not contention._queues:
                raise Conflict("a", 1, 2)
            await clock.sleep(10 * WAIT_SECONDS)

        slow = asyncio.create_task(contention.write("a", very_slow))
        await clock.sleep(0.001)
        began = clock.monotonic()
        await contention.write("a", quick.add)
        assert clock.monotonic() - began <= WAIT_SECONDS + 2 * quick.seconds
        await slow

    run(main())


def test_a_cancelled_writer_leaves_the_queue() -> None:
    async def main() -> None:
        contention, counter = Contention(), Counter()
        writers = [asyncio.create_task(contention.write("a", counter.add)) for _ in range(WRITERS)]
        await clock.sleep(counter.seconds * 3)
        for writer in writers[::2]:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
        assert not contention._queues
        assert all(writer.result() for writer in writers[1::2])

    run(main())
