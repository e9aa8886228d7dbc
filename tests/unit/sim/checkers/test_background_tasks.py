"""Background tasks that end with an error are found."""

from __future__ import annotations

from podling import supervisor
from podling.sim.checkers.background_tasks import BackgroundTasks
from tests.support.checked import History


def test_failures_since_the_begin_are_violations() -> None:
    before = supervisor.failures.copy()
    supervisor.failures["earlier"] += 1
    try:
        history = History(BackgroundTasks)
        history.wait(10)
        assert not history.texts
        supervisor.failures["kubelet/events"] += 2
        history.wait(10)
        supervisor.failures["scheduler"] += 1
        history.checker.end()
        assert history.texts == [
            "kubelet/events failed 2 times in the last seconds, and was started again",
            "scheduler failed once in the last seconds, and was started again",
        ]
    finally:
        supervisor.failures.clear()
        supervisor.failures.update(before)
