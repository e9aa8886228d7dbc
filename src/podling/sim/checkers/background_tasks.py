"""No background task of a component ends with an error that it did not expect.

A supervisor starts such a task again, so that nothing else would show it. Upstream: ``runtime.HandleCrash``.
"""

from __future__ import annotations

from podling import supervisor
from podling.sim.checkers.base import Checker, Report, Surroundings


class BackgroundTasks(Checker):
    """Compares the numbers of failures in this process with those before the run."""

    name = "background-tasks"

    def __init__(self, surroundings: Surroundings, report: Report) -> None:
        super().__init__(surroundings, report)
        self._before = supervisor.failures.copy()

    def tick(self) -> None:
        found = supervisor.failures - self._before
        for name, count in sorted(found.items()):
            times = f"{count} times" if count > 1 else "once"
            self.report(f"{name} failed {times} in the last seconds, and was started again")
        self._before += found

    def end(self) -> None:
        self.tick()
