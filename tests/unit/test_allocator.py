"""Return of memory to the system: when, and that the allocator takes its settings."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest

from podling.allocator import CHECK_SECONDS, EAGER_SECONDS, GROWTH_BYTES, PAUSE_SECONDS_MAX, Trimmer

MB = 1024 * 1024


RETURNS = """
from podling import allocator
allocator.tune()
before = allocator.resident_bytes()
blocks = [bytes([number % 256]) * 64 * 1024 for number in range(1600)]
grown = allocator.resident_bytes() - before
kept = blocks[::400] + blocks[-1:]
del blocks
allocator.trim()
print(grown, allocator.resident_bytes() - before)
"""


class Memory:
    """A process of which ``trim`` returns what is free."""

    def __init__(self, used: int) -> None:
        self.used, self.free, self.trims = used, 0, 0

    def resident(self) -> int:
        return self.used + self.free

    def trim(self) -> None:
        self.trims += 1
        self.free = 0


@pytest.fixture
def memory() -> Memory:
    return Memory(100 * MB)


@pytest.fixture
def trimmer(memory: Memory) -> Trimmer:
    return Trimmer(memory.resident, memory.trim)


@pytest.mark.asyncio(loop_factories=["real"])
async def test_memory_is_returned_after_growth_has_ended(memory: Memory, trimmer: Trimmer) -> None:
    await trimmer.check(0)
    memory.free = 200 * MB
    await trimmer.check(0)
    memory.free = 300 * MB
    await trimmer.check(0)
    assert memory.trims == 0, "the load still grows"
    await trimmer.check(0)
    assert (memory.trims, memory.free) == (1, 0)
    await trimmer.check(0)
    assert memory.trims == 1


@pytest.mark.asyncio(loop_factories=["real"])
async def test_memory_in_use_is_not_trimmed_again_and_again(memory: Memory, trimmer: Trimmer) -> None:
    memory.used += 200 * MB
    for _ in range(10):
        await trimmer.check(0)
    assert memory.trims == 1


@pytest.mark.asyncio(loop_factories=["real"])
async def test_small_growth_is_left_alone(memory: Memory, trimmer: Trimmer) -> None:
    memory.free = GROWTH_BYTES - 1
    for _ in range(3):
        await trimmer.check(0)
    assert memory.trims == 0


@pytest.mark.asyncio(loop_factories=["real"])
async def test_memory_that_shrinks_by_itself_sets_a_new_measure(memory: Memory, trimmer: Trimmer) -> None:
    memory.used = 50 * MB
    await trimmer.check(0)
    memory.free = 20 * MB
    await trimmer.check(0)
    await trimmer.check(0)
    assert memory.trims == 1


@pytest.mark.asyncio(loop_factories=["real"])
async def test_attempts_go_on_and_become_rare(memory: Memory, trimmer: Trimmer) -> None:
    """Objects of a load may be in use for minutes after it."""
    memory.used += 200 * MB
    attempts = []
    for second in range(0, 4000, int(CHECK_SECONDS)):
        before = memory.trims
        await trimmer.check(second)
        if memory.trims != before:
            attempts.append(second)
    pauses = [later - earlier for earlier, later in pairwise(attempts)]
    eager = int(EAGER_SECONDS / CHECK_SECONDS)
    assert pauses[:eager] == [CHECK_SECONDS] * eager
    assert pauses[eager : eager + 3] == [2 * CHECK_SECONDS, 4 * CHECK_SECONDS, 8 * CHECK_SECONDS]
    assert pauses[-1] == PAUSE_SECONDS_MAX
    memory.free += 2 * GROWTH_BYTES
    await trimmer.check(4000)
    await trimmer.check(4005)
    assert memory.free == 0, "new growth is looked at soon"


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc and /proc")
def test_free_memory_between_kept_objects_is_returned() -> None:
    """In a process of its own, of which the memory is in no other use."""
    done = subprocess.run([sys.executable, "-c", RETURNS], capture_output=True, text=True, check=True)
    grown, left = map(int, done.stdout.split())
    assert grown > 90 * MB
    assert left < grown / 4
