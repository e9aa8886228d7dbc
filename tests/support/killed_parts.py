"""A cluster in several processes, whose parts are killed and stopped one at a time."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from podling import clock
from podling.cluster.processes.state_file import read_states
from podling.cluster.processes.states import RUNNING, PartState, problem
from tests.support.clusters import RealCluster

LOOK_SECONDS = 0.02


class Parts:
    """The processes of a running cluster."""

    def __init__(self, cluster: RealCluster) -> None:
        self.cluster = cluster

    def states(self) -> dict[str, PartState]:
        """Return the parts by name."""
        found = read_states(self.cluster.directory)
        assert found is not None, "the cluster runs in one process"
        assert found.supervisor == self.cluster.pid
        return {each.part.name: each for each in found.parts}

    def problem(self, name: str) -> str:
        return problem(self.states()[name], clock.monotonic(), clock.now())

    def signal(self, name: str, number: signal.Signals) -> int:
        """Send a signal to a part; return its process."""
        pid = self.states()[name].pid
        os.kill(pid, number)
        return pid

    def wait_restarted(self, name: str, before: int, seconds: float) -> float:
        """Wait until a part runs in another process than ``before``; return the seconds."""
        return wait(
            lambda: (state := self.states()[name]).phase == RUNNING and state.pid not in (0, before),
            seconds,
            lambda: f"{name} was not started again: {self.states()[name]}\n{self.cluster.log()}",
        )

    def processes(self) -> list[int]:
        """Return the process of every part and of the supervisor."""
        return [self.cluster.pid, *(each.pid for each in self.states().values())]


def wait(is_true: Callable[[], bool], seconds: float, describe: Callable[[], str]) -> float:
    """Wait until something holds; return the seconds that took. Fails with a description after too long."""
    begun = clock.monotonic()
    while not is_true():
        assert clock.monotonic() < begun + seconds, f"after {seconds} s: {describe()}"
        threading.Event().wait(LOOK_SECONDS)
    return clock.monotonic() - begun
