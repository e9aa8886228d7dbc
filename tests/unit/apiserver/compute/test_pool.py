"""The pool of worker processes: jobs, losses, limits, idle processes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from podling import clock
from podling.apiserver.compute.frames import Perform
from podling.apiserver.compute.pool import Pool, PoolLimits, default_limits
from podling.apiserver.http.metrics import exposition
from podling.machinery.errors import ApiError
from tests.support import compute_jobs as jobs

pytestmark = pytest.mark.asyncio(loop_factories=["real"])
MEGABYTE = 1024 * 1024


@asynccontextmanager
async def pool_of(limits: PoolLimits | None = None) -> AsyncIterator[Pool]:
    pool = Pool(limits or PoolLimits())
    try:
        yield pool
    finally:
        await pool.close()


async def run(pool: Pool, perform: Perform, data: bytes = b"", owner: str = "") -> bytes:
    return await pool.run(perform, lambda notes: data, owner=owner)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_no_process_starts_before_the_first_job() -> None:
    async with pool_of() as pool:
        await clock.sleep(0.05)
        assert not pool.pids
        assert await run(pool, jobs.echo, b"x" * (3 * MEGABYTE)) == b"x" * (3 * MEGABYTE)
        assert int(await run(pool, jobs.process_id)) == pool.pids[0] != os.getpid()


async def test_processes_end_with_the_pool() -> None:
    async with pool_of() as pool:
        pid = int(await run(pool, jobs.process_id))
    assert not _is_running(pid)


async def test_idle_process_ends_and_the_next_job_starts_another() -> None:
    async with pool_of(PoolLimits(idle_seconds=0.2)) as pool:
        first = int(await run(pool, jobs.process_id))
        async with asyncio.timeout(10):
            while _is_running(first):
                await clock.sleep(0.02)
        assert not pool.pids
        assert int(await run(pool, jobs.process_id)) != first


async def test_exception_fails_its_job_alone() -> None:
    async with pool_of() as pool:
        with pytest.raises(ApiError) as error:
            await run(pool, jobs.fail, b"no such thing")
        assert error.value.code == 500
        assert "ValueError: no such thing" in str(error.value)
        assert await run(pool, jobs.echo, b"next") == b"next"


async def test_job_of_a_killed_process_is_computed_again(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    marker.touch()
    async with pool_of() as pool:
        assert await run(pool, jobs.be_killed_once, str(marker).encode()) == str(marker).encode()
        assert 'podling_compute_jobs_total{outcome="lost"} 1.0' in _metrics(pool)


async def test_process_killed_from_outside_is_replaced() -> None:
    async with pool_of() as pool:
        pid = int(await run(pool, jobs.process_id))
        os.kill(pid, signal.SIGKILL)
        assert int(await run(pool, jobs.process_id)) != pid


async def test_job_that_kills_every_process_fails_alone() -> None:
    async with pool_of() as pool:
        killing = asyncio.create_task(run(pool, jobs.be_killed))
        innocent = asyncio.create_task(run(pool, jobs.echo, b"y", owner="other"))
        with pytest.raises(ApiError) as error:
            await killing
        assert error.value.code == 500
        assert await innocent == b"y"


async def test_garbage_in_place_of_a_reply_ends_the_process() -> None:
    async with pool_of() as pool:
        with pytest.raises(ApiError) as error:
            await run(pool, jobs.send_garbage)
        assert error.value.code == 500
        assert await run(pool, jobs.echo, b"y") == b"y"


async def test_stuck_job_fails_with_504_and_its_process_ends() -> None:
    async with pool_of(PoolLimits(job_seconds=0.5)) as pool:
        pid = int(await run(pool, jobs.process_id))
        with pytest.raises(ApiError) as error:
            await run(pool, jobs.be_stuck)
        assert (error.value.code, error.value.reason) == (504, "Timeout")
        assert not _is_running(pid)
        assert await run(pool, jobs.echo, b"y") == b"y"


async def test_stopped_process_is_replaced() -> None:
    async with pool_of(PoolLimits(job_seconds=0.5)) as pool:
        pid = int(await run(pool, jobs.process_id))
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(ApiError) as error:
            await run(pool, jobs.echo)
        assert error.value.code == 504
        assert not _is_running(pid)
        assert await run(pool, jobs.echo, b"y") == b"y"


async def test_job_beyond_the_memory_limit_fails_with_413() -> None:
    async with pool_of(PoolLimits(memory_bytes=512 * MEGABYTE)) as pool:
        with pytest.raises(ApiError) as error:
            await run(pool, jobs.take_memory, str(600 * MEGABYTE).encode())
        assert error.value.code == 413
        assert await run(pool, jobs.echo, b"y") == b"y"


async def test_waiting_job_that_is_given_up_is_not_computed(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    marker.touch()
    async with pool_of(PoolLimits(job_seconds=1.0)) as pool:
        stuck = asyncio.create_task(run(pool, jobs.be_stuck))
        await clock.sleep(0.05)
        waiting = asyncio.create_task(run(pool, jobs.be_killed_once, str(marker).encode()))
        await clock.sleep(0.05)
        waiting.cancel()
        await asyncio.gather(stuck, waiting, return_exceptions=True)
        assert await run(pool, jobs.echo, b"y") == b"y"
        assert marker.exists()


async def test_data_that_cannot_be_made_fails_its_job_alone() -> None:
    def encode(notes: dict[str, None]) -> bytes:
        raise LookupError("gone")

    async with pool_of() as pool:
        with pytest.raises(LookupError, match="gone"):
            await pool.run(jobs.echo, encode)
        assert await run(pool, jobs.echo, b"y") == b"y"


async def test_notes_last_as_long_as_their_process() -> None:
    def encode(notes: dict[str, None]) -> bytes:
        known = "definition" in notes
        notes["definition"] = None
        return str(known).encode()

    async with pool_of() as pool:
        found = [await pool.run(jobs.echo, encode) for _ in range(2)]
        os.kill(pool.pids[0], signal.SIGKILL)
        found.append(await pool.run(jobs.echo, encode))
    assert found == [b"False", b"True", b"False"]


async def test_machine_without_processes_answers_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    async with pool_of() as pool:
        with pytest.raises(ApiError) as error:
            await run(pool, jobs.echo)
        assert error.value.code == 503


async def test_a_core_stays_free_for_the_event_loop() -> None:
    assert 1 <= default_limits().processes <= 2


def _metrics(pool: Pool) -> str:
    return exposition(list(pool.collect()), process=False).decode()
