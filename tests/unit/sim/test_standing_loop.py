"""The loop of programs that look at a cluster whose time stands still."""

from __future__ import annotations

from datetime import UTC, datetime

from podling import clock
from podling.sim.standing_loop import run_at

MOMENT = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


def test_time_is_the_cluster_s_and_timers_are_the_machine_s() -> None:
    async def main() -> tuple[datetime, float, datetime]:
        before, begin = clock.now(), clock.monotonic()
        await clock.sleep(0.001)
        return before, clock.monotonic() - begin, clock.now()

    before, passed, after = run_at(MOMENT, main())
    assert before == after == MOMENT
    assert passed > 0
    assert clock.now() != MOMENT
