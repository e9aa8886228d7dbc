"""The pool of worker processes: starts them for the first job, replaces lost ones, ends idle ones.

A job is pure, so one whose process is lost is computed a second time; a job that is lost twice, or takes too
long, fails alone. Each of the pool's tasks serves one process.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec import Struct

from podling.apiserver.compute.fair_queue import FairQueue
from podling.apiserver.compute.frames import Outcome, Perform, name_of
from podling.apiserver.compute.process import Lost, WorkerProcess
from podling.machinery import errors
from podling.machinery.errors import ApiError
from podling.machinery.histograms import counters, gauges
from podling.supervisor import Supervisor

log = logging.getLogger(__name__)

ATTEMPTS = 2
TIMED_OUT = "request did not complete within the allotted timeout"
"""Upstream's words (apiserver ``NewTimeoutError``)."""

Encode = Callable[[dict[str, None]], bytes]
"""Makes a job's data for the process that will compute it. The argument is the process' ``notes``."""


class PoolLimits(Struct, frozen=True):
    """Bounds of a pool."""

    processes: int = 1
    memory_bytes: int = 1024 * 1024 * 1024
    """Address space of a process; one takes about a tenth of it before its first job."""
    job_seconds: float = 30.0
    idle_seconds: float = 20.0
    """A process that had nothing to do for so long ends."""


def default_limits() -> PoolLimits:
    """Return the limits for this machine: a core stays free for the event loop."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return PoolLimits(processes=max(1, min(2, cores - 1)))


class _Job(Struct, eq=False):
    """A job that waits or is being computed."""

    name: bytes
    encode: Encode
    owner: str
    reply: asyncio.Future[bytes]
    attempts: int = 0


class Pool:
    """The worker processes of one server: a ``Collector`` of metrics."""

    def __init__(self, limits: PoolLimits | None = None) -> None:
        self._limits = limits or default_limits()
        self._queue: FairQueue[_Job] = FairQueue()
        self._processes: dict[int, WorkerProcess] = {}
        self._jobs: Counter[str] = Counter()
        self._tasks = Supervisor()
        for rank in range(self._limits.processes):
            self._tasks.keep_running("apiserver/compute", partial(self._serve, rank), str(rank))

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that run now."""
        return tuple(each.pid for each in self._processes.values())

    async def run(self, perform: Perform, encode: Encode, *, owner: str = "") -> bytes:
        """Return what ``perform`` makes of what ``encode`` gives.

        Raises ``ApiError``: 413 for lack of memory, 504 for lack of time, 500 for an exception or a process
        that is lost twice, 503 for a machine that cannot start a process.

        Args:
            owner: whose job this is. Owners take turns.
        """
        reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._queue.put(owner, _Job(name_of(perform).encode(), encode, owner, reply))
        return await reply

    async def close(self) -> None:
        """End the processes; jobs that wait are cancelled."""
        await self._tasks.close()
        while len(self._queue):
            (await self._queue.take(0)).reply.cancel()

    async def _serve(self, rank: int) -> None:
        """Compute jobs in one process, which is started for the first of them."""
        try:
            while True:
                job = await self._next(rank)
                if not job.reply.done():  # else the request was given up meanwhile
                    await self._compute(rank, job)
        finally:
            await self._end(rank)

    async def _next(self, rank: int) -> _Job:
        """Return the next job. End the process if that takes too long."""
        if rank in self._processes:
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    return await self._queue.take(rank)
            except TimeoutError:
                await self._end(rank)
        return await self._queue.take(rank)

    async def _compute(self, rank: int, job: _Job) -> None:
        job.attempts += 1
        try:
            outcome, content = await self._exchange(rank, job)
        except TimeoutError:  # before OSError, which it is
            await self._end(rank)
            self._jobs["timeout"] += 1
            _fail(job, errors.gateway_timeout(TIMED_OUT))
        except (Lost, OSError) as error:
            await self._end(rank)
            self._jobs["lost"] += 1
            log.warning("a worker process was lost: %s", error)
            if job.attempts < ATTEMPTS:
                self._queue.put_back(job.owner, job)
            else:
                _fail(job, _why_lost(error))
        except asyncio.CancelledError:
            job.reply.cancel()
            raise
        except Exception as error:  # the data could not be made: a fault of this job alone
            _fail(job, error)
        else:
            await self._settle(rank, job, outcome, content)

    async def _exchange(self, rank: int, job: _Job) -> tuple[Outcome, bytes]:
        process = self._processes.get(rank)
        if process is None:
            process = self._processes[rank] = await WorkerProcess.start(self._limits.memory_bytes)
        data = job.encode(process.notes)
        async with asyncio.timeout(self._limits.job_seconds):
            return await process.exchange(job.name, data)

    async def _settle(self, rank: int, job: _Job, outcome: Outcome, content: bytes) -> None:
        self._jobs[outcome.name.lower()] += 1
        if outcome is Outcome.DONE:
            if not job.reply.done():
                job.reply.set_result(content)
        elif outcome is Outcome.OUT_OF_MEMORY:
            await self._end(rank)
            _fail(job, errors.too_large("the request takes more memory than a request may"))
        else:
            text = content.decode(errors="replace")
            log.error("%s failed:\n%s", job.name.decode(), text)
            _fail(job, errors.internal(text.strip().rpartition("\n")[2]))

    async def _end(self, rank: int) -> None:
        process = self._processes.pop(rank, None)
        if process is not None:
            await process.end()

    def collect(self) -> Iterator[Any]:
        """Yield the families, as ``prometheus_client`` collectors give them."""
        text = "Computations of large requests outside of the API server's process, by how they ended."
        yield counters(
            "podling_compute_jobs", text, ("outcome",), {(name,): n for name, n in self._jobs.items()}
        )
        text = "Computations of large requests that wait for a process."
        yield gauges("podling_compute_waiting_jobs", text, (), {(): len(self._queue)})
        text = "Processes that compute large requests."
        yield gauges("podling_compute_processes", text, (), {(): len(self._processes)})


def _fail(job: _Job, error: Exception) -> None:
    if not job.reply.done():
        job.reply.set_exception(error)


def _why_lost(error: Exception) -> ApiError:
    if isinstance(error, OSError):
        return errors.service_unavailable(f"no process can be started for this request: {error.strerror}")
    return errors.internal("the process that computed the request ended before it was done")
