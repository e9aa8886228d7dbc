"""Supervision of background tasks: a task that fails is logged, counted and started again after a back-off.

    async with Supervisor() as tasks:
        tasks.keep_running("kubelet/eviction", manager.run)

No failure reaches another task, the component or the process. A task must therefore be safe to start
again: it keeps no state that a failure in the middle could leave half-changed, or it repairs that state
when it begins. Nothing else in Podling starts long-lived tasks; a test holds this.

Upstream counterpart: ``wait.BackoffUntil`` and ``runtime.HandleCrash`` of ``k8s.io/apimachinery``. The
back-off is shorter than theirs, because a task here may be all that a node has.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from podling import clock, ids

logger = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]

RESTART_SECONDS = 0.5
RESTART_SECONDS_MAX = 4.0
HEALTHY_SECONDS = 60.0
"""A task that ran for so long starts with the first back-off again."""

failures: Counter[str] = Counter()
"""Failures of this process' tasks, by the task's name: for metrics."""


class StrayCancellation(Exception):
    """A task raised ``CancelledError`` although nothing had cancelled it."""


def restart_seconds(failures: int) -> float:
    """The least wait before a restart, after so many failures in a row; the wait is at most twice as long."""
    return min(RESTART_SECONDS * 2.0 ** min(failures - 1, 20), RESTART_SECONDS_MAX)


class Supervisor:
    """The background tasks of one component.

    Leaving it as a context manager waits until all tasks have ended. An exception in the block, or its
    cancellation, cancels them.
    """

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[None], None] = {}
        """The tasks in the order of their starts, which is that of their ends under virtual time."""
        self._troubles: dict[str, str] = {}
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while error is None and (running := self._running()):
                await asyncio.wait(running)
        finally:
            await self.close()

    def keep_running(self, name: str, work: Work, subject: str = "") -> asyncio.Task[None]:
        """Run ``work`` until it returns or the supervisor closes; start it again when it fails.

        Args:
            name: the task in logs and metrics; one of few.
            subject: the object that the task works for, if there is a task for each.
        """
        return self._start(self._keep_running(name, work, subject), name, subject)

    def run_once(self, name: str, work: Work, subject: str = "") -> asyncio.Task[None]:
        """Run ``work`` once. A failure is logged and counted, and ends only this task."""
        return self._start(self._run_once(name, work, subject), name, subject)

    def trouble(self, name: str) -> str:
        """Return the failure after which the task ``name`` waits for its restart; empty while it runs."""
        return self._troubles.get(name, "")

    async def close(self) -> None:
        """Cancel every task and wait until all have ended."""
        self._closed = True
        cancelled: asyncio.CancelledError | None = None
        while running := self._running():
            for task in running:
                task.cancel()
            try:
                await asyncio.wait(running)
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def _start(self, work: Coroutine[Any, Any, None], name: str, subject: str) -> asyncio.Task[None]:
        if self._closed:
            work.close()
            raise RuntimeError(f"{name} cannot start: its supervisor is closed")
        task = asyncio.create_task(work, name=_title(name, subject))
        self._tasks[task] = None
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)

    def _running(self) -> list[asyncio.Task[None]]:
        return [task for task in self._tasks if not task.done()]

    async def _keep_running(self, name: str, work: Work, subject: str) -> None:
        in_a_row = 0
        while True:
            began = clock.monotonic()
            error = await _failure_of(work)
            if error is None:
                return
            if self._closed:  # the task was cancelled, and its clean-up failed
                _report(name, subject, error, "it is not started again")
                return
            in_a_row = 1 if clock.monotonic() - began >= HEALTHY_SECONDS else in_a_row + 1
            least = restart_seconds(in_a_row)
            seconds = ids.uniform(least, 2 * least)
            _report(name, subject, error, f"it starts again in {seconds:.1f} s")
            self._troubles[name] = str(error) or type(error).__name__
            try:
                await clock.sleep(seconds)
            finally:
                self._troubles.pop(name, None)

    async def _run_once(self, name: str, work: Work, subject: str) -> None:
        error = await _failure_of(work)
        if error is not None:
            _report(name, subject, error, "it is not started again")


async def _failure_of(work: Work) -> Exception | None:
    """Run ``work``; return the exception that ended it. A cancellation of the task itself is raised."""
    try:
        await work()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Something that the work waited for was cancelled. Ending silently would lose the task.
        stray = StrayCancellation("a task that it waited for was cancelled")
        stray.__cause__ = error
        return stray
    except Exception as error:
        return error
    return None


def _report(name: str, subject: str, error: Exception, then: str) -> None:
    failures[name] += 1
    logger.error("%s failed; %s", _title(name, subject), then, exc_info=error)


def _title(name: str, subject: str) -> str:
    return f"{name}/{subject}" if subject else name
