"""When a process gives memory back, and how often it tries."""

from __future__ import annotations

import asyncio

import pytest

from podling import clock
from podling.cluster.memory import (
    CHECK_SECONDS,
    CHECK_SECONDS_MAX,
    GROWN_BYTES,
    MemoryReturn,
    is_due,
    looked,
    new_plan,
    resident_bytes,
    tried,
)

MEGABYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("sizes", "due"),
    [
        ([80, 80], False),
        ([80, 110], False),
        ([80, 113], True),
        ([80, 500, 500], True),
        ([500, 80, 100], False),
        ([80, 60, 100], True),
    ],
)
def test_growth_beyond_the_smallest_size_is_trimmed(sizes: list[int], due: bool) -> None:
    plan = new_plan(sizes[0] * MEGABYTE, 0)
    for now, size in enumerate(sizes[1:], 1):
        plan = looked(plan, size * MEGABYTE, now)
    assert is_due(plan, 10) is due


def test_attempts_that_give_little_back_become_rare() -> None:
    plan, now, pauses = looked(new_plan(80 * MEGABYTE, 0), 500 * MEGABYTE, 0), 0.0, []
    for _ in range(8):
        assert is_due(plan, now)
        plan = tried(plan, 499 * MEGABYTE, now)
        pauses.append(plan.due - now)
        assert not is_due(plan, plan.due - 1)
        now = plan.due
    assert pauses[:3] == [2 * CHECK_SECONDS, 4 * CHECK_SECONDS, 8 * CHECK_SECONDS]
    assert pauses[-1] == CHECK_SECONDS_MAX


def test_new_growth_is_tried_soon() -> None:
    plan = looked(new_plan(80 * MEGABYTE, 0), 500 * MEGABYTE, 0)
    for _ in range(5):
        plan = tried(plan, 499 * MEGABYTE, 0)
    assert not is_due(plan, 20)
    assert is_due(looked(plan, plan.used + GROWN_BYTES + 1, 20), 20)


@pytest.mark.asyncio(loop_factories=["real"])
async def test_heap_with_holes_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that stay lie between those that were freed, so that the heap's end cannot move."""
    monkeypatch.setattr("podling.cluster.memory.CHECK_SECONDS", 0.05)
    trimming = asyncio.ensure_future(MemoryReturn().run())
    await clock.sleep(0)  # it looks at the size for the first time
    blocks = [b"x" * number for number in range(100_000, 102_000)]
    full = resident_bytes()
    del blocks[::2]
    try:
        async with asyncio.timeout(30):
            while full - resident_bytes() < 60 * MEGABYTE:
                await clock.sleep(0.05)
    finally:
        trimming.cancel()
