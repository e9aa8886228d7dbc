"""The tasks of a run: ticks, samples, actions, and the ends of faults."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from podling.supervisor import Supervisor, Work


class ScenarioTasks:
    """Runs tasks of the simulator itself. A failure of one would change the run, so it ends the run.

    Args:
        fail: receives a task's failure.
    """

    def __init__(self, fail: Callable[[Exception], None]) -> None:
        self._fail = fail
        self._supervisor = Supervisor()

    def start(self, name: str, work: Work) -> None:
        """Start a task."""
        self._supervisor.run_once("scenario", partial(self._watched, work), name)

    async def close(self) -> None:
        """Cancel every task and wait until all have ended."""
        await self._supervisor.close()

    async def _watched(self, work: Work) -> None:
        try:
            await work()
        except Exception as error:
            self._fail(error)
