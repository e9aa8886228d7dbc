"""Background tasks outlive every failure but their own cancellation."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable

import pytest

from podling import clock, supervisor
from podling.supervisor import HEALTHY_SECONDS, RESTART_SECONDS_MAX, Supervisor, restart_seconds

pytestmark = pytest.mark.usefixtures("failures_expected")

UNEXPECTED = [
    RecursionError("maximum recursion depth exceeded"),
    OverflowError("int too large to convert to float"),
    OSError(errno.EMFILE, "Too many open files"),
    OSError(errno.ENOSPC, "No space left on device"),
    MemoryError(),
    ExceptionGroup("two at once", [ValueError("one"), KeyError("two")]),
]


class Script:
    """Work that ends each run as listed, and then waits until it is cancelled."""

    def __init__(self, *runs: Exception | Callable[[], Awaitable[None]]) -> None:
        self._runs = list(runs)
        self.starts: list[float] = []

    async def __call__(self) -> None:
        self.starts.append(clock.monotonic())
        run = self._runs.pop(0) if self._runs else asyncio.Event().wait
        if isinstance(run, Exception):
            raise run
        await run()


@pytest.mark.parametrize("error", UNEXPECTED, ids=repr)
async def test_failed_task_starts_again_and_others_go_on(error: Exception) -> None:
    failing, neighbour = Script(error), Script()
    tasks = Supervisor()
    tasks.keep_running("failing", failing)
    tasks.keep_running("neighbour", neighbour)
    await clock.sleep(10)
    await tasks.close()
    assert (len(failing.starts), len(neighbour.starts)) == (2, 1)


async def test_failure_of_one_run_ends_only_that_task() -> None:
    neighbour = Script()
    tasks = Supervisor()
    tasks.keep_running("neighbour", neighbour)
    task = tasks.run_once("bind", Script(RecursionError()), "default/web")
    await clock.sleep(60)
    assert task.done()
    assert task.exception() is None
    await tasks.close()
    assert len(neighbour.starts) == 1


async def test_back_off_grows_to_its_limit_and_restarts_after_a_healthy_period() -> None:
    async def lives() -> None:
        await clock.sleep(HEALTHY_SECONDS)
        raise OSError(errno.ENOSPC, "No space left on device")

    script = Script(*[ValueError("again")] * 6, lives, ValueError("again"))
    tasks = Supervisor()
    tasks.keep_running("failing", script)
    await clock.sleep(300)
    await tasks.close()
    waits = [after - before for before, after in zip(script.starts, script.starts[1:], strict=False)]
    waits[6] -= HEALTHY_SECONDS
    for failures, wait in zip([1, 2, 3, 4, 5, 6, 1, 2], waits, strict=True):
        assert restart_seconds(failures) <= wait <= 2 * restart_seconds(failures)
    assert max(waits) <= 2 * RESTART_SECONDS_MAX


async def test_back_off_of_very_many_failures_is_bounded() -> None:
    assert restart_seconds(1_000_000) == RESTART_SECONDS_MAX


async def test_failures_are_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    before = supervisor.failures["kubelet/pod"]
    tasks = Supervisor()
    with caplog.at_level(logging.ERROR):
        tasks.keep_running("kubelet/pod", Script(OverflowError("too large")), "web")
        await clock.sleep(10)
    await tasks.close()
    assert supervisor.failures["kubelet/pod"] == before + 1
    (record,) = caplog.records
    assert record.getMessage().startswith("kubelet/pod/web failed; it starts again in ")
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], OverflowError)


async def test_failure_is_shown_until_restart() -> None:
    tasks = Supervisor()
    tasks.keep_running("compaction", Script(OSError(errno.ENOSPC, "No space left on device")))
    await clock.sleep(0)
    assert tasks.trouble("compaction") == "[Errno 28] No space left on device"
    await clock.sleep(2)
    assert tasks.trouble("compaction") == ""
    await tasks.close()


async def test_stray_cancellation_is_a_failure() -> None:
    async def waits_for_cancelled_task() -> None:
        other = asyncio.create_task(clock.sleep(1))
        asyncio.get_running_loop().call_soon(other.cancel)
        await other

    script = Script(waits_for_cancelled_task)
    tasks = Supervisor()
    tasks.keep_running("failing", script)
    await clock.sleep(10)
    await tasks.close()
    assert len(script.starts) == 2


async def test_cancelled_task_is_not_started_again() -> None:
    script = Script()
    tasks = Supervisor()
    task = tasks.keep_running("informer", script)
    await clock.sleep(1)
    task.cancel()
    await clock.sleep(60)
    assert task.cancelled()
    assert len(script.starts) == 1
    await tasks.close()


async def test_task_that_returns_is_done() -> None:
    async def returns() -> None: ...

    script = Script(returns)
    async with Supervisor() as tasks:
        tasks.keep_running("events", script)
    assert len(script.starts) == 1


async def test_block_waits_for_tasks_that_are_started_meanwhile() -> None:
    ended: list[str] = []

    async def later() -> None:
        await clock.sleep(5)
        ended.append("later")

    async with Supervisor() as tasks:

        async def first() -> None:
            await clock.sleep(1)
            tasks.run_once("later", later)

        tasks.run_once("first", first)
    assert ended == ["later"]


async def test_exception_in_the_block_cancels_the_tasks() -> None:
    script = Script()
    with pytest.raises(ValueError, match="the block"):
        async with Supervisor() as tasks:
            task = tasks.keep_running("task", script)
            await clock.sleep(0)
            raise ValueError("the block")
    assert task.cancelled()


async def test_cancelling_the_block_cancels_the_tasks_and_waits_for_them() -> None:
    unwound: list[float] = []

    async def slow_to_end() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await clock.sleep(3)
            unwound.append(clock.monotonic())

    async def component() -> None:
        async with Supervisor() as tasks:
            tasks.keep_running("slow", slow_to_end)

    began = clock.monotonic()
    task = asyncio.create_task(component())
    await clock.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert unwound == [began + 4]


async def test_close_during_a_back_off_ends_at_once() -> None:
    tasks = Supervisor()
    tasks.keep_running("failing", Script(*[ValueError("again")] * 100))
    await clock.sleep(20)
    began = clock.monotonic()
    await tasks.close()
    assert clock.monotonic() == began


async def test_closed_supervisor_starts_nothing() -> None:
    tasks = Supervisor()
    await tasks.close()
    with pytest.raises(RuntimeError, match="supervisor is closed"):
        tasks.keep_running("late", Script())


async def test_task_that_fails_while_it_is_cancelled_does_not_start_again() -> None:
    """Clean-up may fail. Started again, the task would keep its supervisor from closing for ever."""
    runs = 0

    async def clean_up_fails() -> None:
        nonlocal runs
        runs += 1
        try:
            await clock.sleep(1000)
        finally:
            raise OSError(errno.EMFILE, "Too many open files")

    supervisor = Supervisor()
    supervisor.keep_running("test", clean_up_fails)
    await clock.sleep(1)
    async with asyncio.timeout(60):
        await supervisor.close()
    assert runs == 1
